//go:build !unix

package transport

import "net"

// immediate does not exist on this system: everything is queued.
type immediate struct{}

func newImmediate(net.Conn) *immediate { return nil }

func (*immediate) write([]byte) (int, error) { return 0, nil }
