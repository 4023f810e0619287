package daemon

import (
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dropCapabilities removes all capabilities of all threads, including inheritable ones.
func dropCapabilities() error {
	if err := everyThread(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL,
		0); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err // EINVAL: the kernel has no ambient capabilities
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return everyThread(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&none)), 0)
}

// everyThread makes a system call in all threads. This is not possible in a build with cgo; there
// the C library has changed the user of all threads, which makes the kernel drop the capabilities.
func everyThread(call, a, b, c uintptr) error {
	_, _, errno := syscall.AllThreadsSyscall6(call, a, b, c, 0, 0, 0)
	if errno == 0 || errno == syscall.ENOTSUP {
		return nil
	}
	return errno
}
