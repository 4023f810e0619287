package zeromq

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zeromq/zmq4"

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
			kind: zmq4.Router, server: true, buffers: &buffers{size: 512}, limits: limits,
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

// TestHeartbeatsGoToTheSilentAlone has a peer talk for ten minutes, then answer heartbeats only, and
// then nothing: it is pinged in the second part alone, and given up after the third.
func TestHeartbeatsGoToTheSilentAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer here.Close()
		defer there.Close()
		pings := make(chan struct{}, 100)
		go func() {
			b := make([]byte, 1024)
			for {
				n, err := there.Read(b)
				if err != nil {
					return
				}
				for range strings.Count(string(b[:n]), "\x04PING") {
					pings <- struct{}{}
				}
			}
		}()
		say := func(s string) { _, _ = io.WriteString(there, s) }
		gone := make(chan error, 1)
		go func() {
			limits := transport.Limits{}.ServerLimits()
			pr := profile{kind: zmq4.Router, server: true, buffers: &buffers{size: 512},
				limits: limits, budget: transport.NewBudget(8 << 20),
				strangers: transport.NewStrangers(4 << 20), counters: &transport.Counters{}}
			p, err := pr.open(here)
			if err == nil {
				defer p.Close()
				_, err = p.receive()
			}
			gone <- err
		}()
		say(hello(1) + readyAs("DEALER"))
		for range 20 {
			time.Sleep(30 * time.Second)
			say("\x04\x07\x04PING\x00\x00")
		}
		synctest.Wait()
		if n := len(pings); n > 0 {
			t.Errorf("a peer that talked every 30 s was pinged %d times", n)
		}
		for range 5 {
			<-pings
			time.Sleep(40 * time.Second)
			say("\x04\x05\x04PONG")
		}
		last := time.Now()
		if err := <-gone; !errors.Is(err, errDead) {
			t.Errorf("the silent peer was given up with %v, want %v", err, errDead)
		}
		if d := time.Since(last); d < time.Minute || d > 3*time.Minute {
			t.Errorf("the silent peer was given up after %v, want one to three minutes", d)
		}
	})
}

// A starved conn reads late, as one of a process that was stopped or has too little of the processor.
type starved struct {
	net.Conn
	late []time.Duration // of the next reads, once the peer is known
}

func (c *starved) Read(b []byte) (int, error) {
	if len(c.late) > 0 {
		time.Sleep(c.late[0])
		c.late = c.late[1:]
	}
	return c.Conn.Read(b)
}

// TestAStarvedReaderKeepsItsPeers has a reader look again only after the deadlines for which a silent peer
// is pinged and given up. The peer has sent a message in time, and it is read.
func TestAStarvedReaderKeepsItsPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer here.Close()
		defer there.Close()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		pr := profile{kind: zmq4.Router, server: true, buffers: &buffers{size: 512},
			limits: transport.Limits{}.ServerLimits(), budget: transport.NewBudget(8 << 20),
			strangers: transport.NewStrangers(4 << 20), counters: &transport.Counters{}}
		conn := &starved{Conn: here}
		go func() {
			_, _ = io.WriteString(there, hello(1)+readyAs("DEALER"))
			time.Sleep(time.Second)
			_, _ = io.WriteString(there, longFrame(1, 0)+longFrame(0, 4)+"work")
		}()
		p, err := pr.open(conn)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		conn.late = []time.Duration{70 * time.Second, 70 * time.Second}
		m, err := p.receive()
		if err != nil || len(m) != 2 || string(m[1]) != "work" {
			t.Errorf("after the starvation: %q, %v", m, err)
		}
	})
}
