package daemon

import (
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dropCapabilities gives up all capabilities of all threads, also those that programs would inherit.
func dropCapabilities() error {
	if err := everyThread(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err // EINVAL: a kernel that knows none
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return everyThread(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0)
}

// everyThread does a system call in all threads. A build with cgo cannot, and there the C library has changed the user of
// all threads, by which the kernel takes the capabilities away.
func everyThread(call, a, b, c uintptr) error {
	_, _, errno := syscall.AllThreadsSyscall6(call, a, b, c, 0, 0, 0)
	if errno == 0 || errno == syscall.ENOTSUP {
		return nil
	}
	return errno
}
