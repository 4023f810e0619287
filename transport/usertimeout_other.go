//go:build !linux

package transport

import (
	"net"
	"time"
)

// SetUserTimeout makes the kernel give up a connection whose data is not acknowledged for so long. This system has no
// such option; keepalive and heartbeats do the work.
func SetUserTimeout(net.Conn, time.Duration) {}
