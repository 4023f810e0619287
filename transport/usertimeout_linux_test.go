package transport

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAcceptedConnectionsAreTuned reads the socket options back: they are not inherited from the listener.
func TestAcceptedConnectionsAreTuned(t *testing.T) {
	l, err := Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	a := Acceptor{Limits: Limits{WriteStall: 7 * time.Second}.ServerLimits(), KeepAlive: SaltKeepAlive(true, 300, 5, 11)}
	a.tune(in)
	for name, want := range map[int]int{unix.TCP_USER_TIMEOUT: 7000, unix.TCP_KEEPIDLE: 300, unix.TCP_KEEPCNT: 5, unix.TCP_KEEPINTVL: 11} {
		if got := option(t, in, name); got != want {
			t.Errorf("option %d = %d, want %d", name, got, want)
		}
	}
}

func option(t *testing.T, c net.Conn, name int) int {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var value int
	if ctl := raw.Control(func(fd uintptr) { value, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, name) }); ctl != nil || err != nil {
		t.Fatal(ctl, err)
	}
	return value
}
