//go:build !linux

package eventbus

import "net"

// peerOf cannot tell who connected.
func peerOf(net.Conn) (uid int, ok bool) { return 0, false }

// holderOf cannot tell who listens.
func holderOf(net.Conn) holder { return holder{} }
