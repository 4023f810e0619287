//go:build !linux

package transport

import (
	"net"
	"time"
)

// SetUserTimeout does nothing: this system has no such option. Keepalive and heartbeats detect dead
// peers.
func SetUserTimeout(net.Conn, time.Duration) {}
