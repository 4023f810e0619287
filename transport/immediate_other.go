//go:build !unix

package transport

import (
	"net"
	"syscall"
)

// rawOf returns nil: this system has no non-blocking writes, so everything is queued.
func rawOf(net.Conn) syscall.RawConn { return nil }

type writers struct{}

func (*writers) write(syscall.RawConn, []byte) (int, error) { return 0, nil }
