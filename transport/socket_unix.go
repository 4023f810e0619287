//go:build unix

package transport

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// reuseAddress lets a client with a fixed source port reconnect while the old connection is in
// TIME_WAIT.
func reuseAddress(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	})
	return errors.Join(err, failed)
}
