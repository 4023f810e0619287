//go:build unix && !linux

package python

import "syscall"

// bind does nothing: this system cannot bind a program to the process that starts it.
func bind(*syscall.SysProcAttr) {}
