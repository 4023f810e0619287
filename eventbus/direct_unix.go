//go:build unix

package eventbus

import (
	"net"
	"syscall"
)

// directWriter returns a function that writes to conn what the system takes at once, and returns how much that was. It
// must not be used while another write waits. It is nil where conn cannot do that.
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
			done, _ = syscall.Write(int(fd), frame) // what went wrong shows when the rest is written
			return true
		})
		if err != nil || done < 0 {
			return 0
		}
		return done
	}
}
