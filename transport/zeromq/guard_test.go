package zeromq

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/transport"
)

// TestTheWaitForRoomIsNotTakenFromThePeer has a peer wait long for room: it has all of the message
// timeout to send the rest.
func TestTheWaitForRoomIsNotTakenFromThePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer here.Close()
		defer there.Close()
		limits := transport.Limits{MaxMessage: 1 << 20, MaxUntrusted: 1 << 20,
			MessageTimeout: time.Minute}.ServerLimits()
		strangers := transport.NewStrangers(4 << 20)
		from := transport.SourceOf(here.RemoteAddr())
		if _, ok := strangers.Take(from, 1<<20, 0); !ok {
			t.Fatal("no room at the start")
		}
		const size, first = 512 << 10, 10
		body := strings.Repeat("x", size)
		go func() { _, _ = io.Copy(io.Discard, there) }()
		go func() {
			head := longFrame(0, size)
			_, _ = io.WriteString(there, hello(1)+readyAs("DEALER")+longFrame(1, 1)+"y"+head[:1])
			_, _ = io.WriteString(there, head[1:]+body[:first])
			time.Sleep(90 * time.Second)
			_, _ = io.WriteString(there, body[first:])
		}()
		go func() {
			time.Sleep(50 * time.Second)
			strangers.Give(from, 1<<20)
		}()
		pr := profile{
			kind: routerSocket, server: true, buffers: &buffers{size: 512}, limits: limits,
			budget: transport.NewBudget(8 << 20), strangers: strangers, counters: &transport.Counters{},
		}
		p, err := pr.open(here)
		if err != nil {
			t.Fatal(err)
		}
		m, err := p.receive()
		if err != nil || len(m) == 0 || len(m[len(m)-1]) != size {
			t.Errorf("after the wait for room: %d frames, %v", len(m), err)
		}
	})
}
