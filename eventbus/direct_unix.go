//go:build unix

package eventbus

import (
	"net"
	"syscall"
)

// directWriter returns a function that writes as much of a frame to conn as possible without
// blocking and returns the number of bytes written. It must not be called during another write. It
// is nil if conn does not support this.
func directWriter(conn net.Conn) func(frame []byte) int {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return func(frame []byte) int {
		done := 0
		err := raw.Write(func(fd uintptr) bool {
			done, _ = syscall.Write(int(fd), frame) // an error recurs when the rest is written
			return true
		})
		if err != nil || done < 0 {
			return 0
		}
		return done
	}
}
