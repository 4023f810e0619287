package tcp

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/transport"
)

// TestTheWaitForRoomIsNotTakenFromThePeer: a peer that has waited long for room has all of the
// message timeout to send the rest.
func TestTheWaitForRoomIsNotTakenFromThePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer here.Close()
		limits := transport.Limits{MaxMessage: 1 << 20, MaxUntrusted: 1 << 20, MessageTimeout: time.Minute}
		g := newGuard(here, &limits, transport.NewBudget(8<<20))
		g.strangers = transport.NewStrangers(4 << 20)
		from := transport.SourceOf(here.RemoteAddr())
		if _, ok := g.strangers.Take(from, 1<<20, 0); !ok {
			t.Fatal("no room at the start")
		}
		message := append([]byte("\x82\xa4head\x81\xa3mid\x01\xa4body\xc6\x00\x08\x00\x00"),
			make([]byte, 512<<10)...)
		go func() {
			_, _ = there.Write(message[:400<<10])
			time.Sleep(30 * time.Second)
			_, _ = there.Write(message[400<<10:])
			_, _ = io.Copy(io.Discard, there)
		}()
		go func() {
			time.Sleep(50 * time.Second)
			g.strangers.Give(from, 1<<20)
		}()
		if f, err := g.next(); err != nil || len(f.Body) != 512<<10+5 {
			t.Errorf("after the wait for room: %d bytes, %v", len(f.Body), err)
		}
	})
}
