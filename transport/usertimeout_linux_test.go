package transport

import (
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAcceptedConnectionsAreTuned reads the socket options back: they are not inherited from the
// listener.
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
	a := Acceptor{Limits: Limits{WriteStall: 7 * time.Second}.ServerLimits(),
		KeepAlive: SaltKeepAlive(true, 300, 5, 11)}
	a.tune(in)
	for name, want := range map[int]int{unix.TCP_USER_TIMEOUT: 7000, unix.TCP_KEEPIDLE: 300,
		unix.TCP_KEEPCNT: 5, unix.TCP_KEEPINTVL: 11} {
		if got := option(t, in, name); got != want {
			t.Errorf("option %d = %d, want %d", name, got, want)
		}
	}
}

// TestDialedConnectionsAreTuned reads the socket options of a client back: with Salt's default the
// kernel gives up the server of a subscriber after 24 s, and what an operator has set is kept.
func TestDialedConnectionsAreTuned(t *testing.T) {
	l, err := Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []struct {
		keep  KeepAlive
		reads bool
		want  map[int]int
	}{
		{SaltKeepAlive(true, 300, -1, -1), true, map[int]int{unix.TCP_USER_TIMEOUT: 24000,
			unix.TCP_KEEPIDLE: 8, unix.TCP_KEEPINTVL: 8, unix.TCP_KEEPCNT: 2}},
		{SaltKeepAlive(true, 300, -1, -1), false, map[int]int{unix.TCP_USER_TIMEOUT: 60000,
			unix.TCP_KEEPIDLE: 8, unix.TCP_KEEPINTVL: 8, unix.TCP_KEEPCNT: 2}},
		{SaltKeepAlive(true, 100, 4, 20), true, map[int]int{unix.TCP_USER_TIMEOUT: 60000, unix.TCP_KEEPIDLE: 100,
			unix.TCP_KEEPINTVL: 20, unix.TCP_KEEPCNT: 4}},
	} {
		d := Dialer{Addr: "tcp://" + l.Addr().String(), KeepAlive: c.keep, ReadsOnly: c.reads}
		conn, err := d.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range c.want {
			if got := option(t, conn, name); got != want {
				t.Errorf("%+v: option %d = %d, want %d", c.keep, name, got, want)
			}
		}
		conn.Close()
	}
}

// TestOutboxCountsWhatTheSystemGivesUp writes to a peer that does not read, where the system loses
// patience first.
func TestOutboxCountsWhatTheSystemGivesUp(t *testing.T) {
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
	SetUserTimeout(in, 50*time.Millisecond)
	var counters Counters
	limits := Limits{QueueMessages: -1, QueueBytes: -1, WriteStall: time.Hour}.ServerLimits()
	out := NewOutbox(in, &limits, &counters)
	if err := out.Send(make([]byte, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := out.Drained(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := out.Send([]byte("more")); !errors.Is(err, ErrGone) || counters.Evicted.Load() != 1 {
		t.Errorf("Send = %v with %d peers evicted, want %v and 1", err, counters.Evicted.Load(), ErrGone)
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
