// Package freeport finds ports of loopback for daemons that a test starts by their configuration.
//
// A port that a test learns by listening on port 0 and closing again may be given to the next one
// that asks, or to an outgoing connection, before the daemon binds it. The ports of this package
// are below the range of outgoing connections, and a UDP socket on the same number keeps each for
// one test, also against tests of other packages that run at the same time.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// The range in which ports are looked for. Linux gives outgoing connections ports from 32768 on.
const (
	first = 10000
	end   = 32768
)

// A Lease is a set of different ports that nobody listens on.
type Lease struct {
	Ports []int
	marks []net.PacketConn // on the same numbers, for others that look for ports
}

// Take returns n ports that are free on 127.0.0.1 and, where the machine has it, on [::1]. Nobody
// who asks this package gets one of them until Close is called.
func Take(n int) (*Lease, error) {
	l := &Lease{}
	start := rand.IntN(end - first)
	for i := 0; i < end-first && len(l.Ports) < n; i++ {
		port := first + (start+i)%(end-first)
		if mark := reserve(port); mark != nil {
			l.Ports, l.marks = append(l.Ports, port), append(l.marks, mark)
		}
	}
	if len(l.Ports) < n {
		return nil, errors.Join(fmt.Errorf("find %d ports from %d to %d: only %d are free", n, first, end-1, len(l.Ports)), l.Close())
	}
	return l, nil
}

// reserve returns the mark of a port, or nil if somebody uses it.
func reserve(port int) net.PacketConn {
	number := strconv.Itoa(port)
	mark, err := net.ListenPacket("udp4", net.JoinHostPort("127.0.0.1", number))
	if err != nil {
		return nil
	}
	for _, network := range []string{"tcp4", "tcp"} { // tcp is both families, and IPv4 alone without IPv6
		listener, err := net.Listen(network, ":"+number)
		if err != nil {
			mark.Close()
			return nil
		}
		listener.Close()
	}
	return mark
}

// Close gives the ports back.
func (l *Lease) Close() error {
	var errs []error
	for _, mark := range l.marks {
		errs = append(errs, mark.Close())
	}
	return errors.Join(errs...)
}

// New returns n ports until the end of the test, which fails if there are none.
func New(t testing.TB, n int) []int {
	t.Helper()
	l, err := Take(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Ports
}

// One returns a port until the end of the test, which fails if there is none.
func One(t testing.TB) int {
	t.Helper()
	return New(t, 1)[0]
}

// Address returns an address of loopback, host and port, until the end of the test.
func Address(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(One(t)))
}
