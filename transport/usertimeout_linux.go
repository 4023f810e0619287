package transport

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// SetUserTimeout makes the kernel give up a connection whose data is not acknowledged for so long; without it that
// takes a quarter of an hour. Connections that are not TCP, and systems without the option, are left as they are.
func SetUserTimeout(conn net.Conn, d time.Duration) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok || d <= 0 {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
	})
}
