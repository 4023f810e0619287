//go:build !linux

package eventbus

import "net"

// peerOf is not supported here; ok is false.
func peerOf(net.Conn) (uid int, ok bool) { return 0, false }

// holderOf is not supported here and returns no process.
func holderOf(net.Conn) holder { return holder{} }
