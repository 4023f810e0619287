package transport

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// SetUserTimeout makes the kernel drop a connection whose data is not acknowledged within d; by
// default that takes a quarter of an hour. It does nothing for connections other than TCP.
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
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT,
			int(d.Milliseconds()))
	})
}
