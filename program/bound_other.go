//go:build !linux

package program

import "syscall"

// bound returns nil: only Linux can bind a program to the one that started it.
func bound() *syscall.SysProcAttr { return nil }
