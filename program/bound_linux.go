package program

import "syscall"

// bound makes the kernel kill a program when the thread that started it ends, and so with Brine
// itself, however that ends.
func bound() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
