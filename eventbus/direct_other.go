//go:build !unix

package eventbus

import "net"

// directWriter returns nil: non-blocking writes are not supported here.
func directWriter(net.Conn) func(frame []byte) int { return nil }
