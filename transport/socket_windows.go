package transport

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

func isRefused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }

// reuseAddress does nothing: on Windows SO_REUSEADDR has another meaning, and TIME_WAIT does not
// prevent the bind.
func reuseAddress(_, _ string, _ syscall.RawConn) error { return nil }
