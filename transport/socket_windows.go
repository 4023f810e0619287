package transport

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

func isRefused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }

// reuseAddress does nothing: SO_REUSEADDR means something else on windows, and TIME_WAIT does not forbid the bind.
func reuseAddress(_, _ string, _ syscall.RawConn) error { return nil }
