package python

import "syscall"

// bind has the program killed when the thread that starts it ends.
func bind(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
