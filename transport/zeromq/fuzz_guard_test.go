package zeromq

import (
	"net"
	"net/netip"
	"os"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/transport"
)

// fitful is a script that comes in pieces, with an event before each.
type fitful struct {
	script
	stream string
	events []byte
	do     func(event byte) error // which ends the read
}

// The parts of an event.
const (
	eventPiece  = 0x0f // the next piece has as many KiB; 0 is one byte
	eventTrust  = 0x10 // the peer becomes trusted, or a stranger again
	eventSilent = 0x20 // an interval passes without a byte
	eventDrain  = 0x40 // the server ends
	eventHeld   = 0x80 // another message of the same address takes room, or gives it back
)

func (f *fitful) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.1:4506"))
}

func (f *fitful) Read(p []byte) (int, error) {
	if len(f.events) > 0 {
		event := f.events[0]
		f.events = f.events[1:]
		if err := f.do(event); err != nil {
			return 0, err
		}
		p = p[:min(len(p), max(1, int(event&eventPiece)<<10))]
	}
	if f.stream == "" {
		return 0, net.ErrClosed
	}
	n := copy(p, f.stream)
	f.stream = f.stream[n:]
	return n, nil
}

// FuzzGuardReading reads any bytes. Meanwhile the peer becomes trusted and a stranger again, others
// take the room of strangers, and the server ends. There is no panic, memory stays below what was
// booked or has come, and all that was booked is given back.
func FuzzGuardReading(f *testing.F) {
	limits := transport.Limits{
		MaxUntrusted: 1 << 17, MaxMessage: 1 << 19, MaxFrames: 8, Assembly: 1 << 20,
		Strange: 1 << 19, MessageTimeout: time.Nanosecond,
	}.ServerLimits()
	large := func(flags byte, n int) string { return longFrame(flags, uint64(n)) + strings.Repeat("x", n) }
	for _, stream := range []string{
		frames("", "small") + large(1, 70_000) + large(0, 50_000) + frames("", "small"),
		large(1, 100_000) + large(0, 100_000),
		large(1, 60_000) + large(1, 60_000) + "\x04\x09\x04PING\x00\x00ab" + large(0, 1),
		large(0, 400_000) + large(0, 120_000),
		longFrame(0, 1<<19), longFrame(1, 1<<62), longFrame(1, 120_000),
	} {
		for _, events := range []string{"", "\x10", "\x04\x14\x04\x14\x04\x14", "\x80\x04\x80",
			"\x00\x00\x8f\x2f", "\x0f\x4f", "\x0f\x1f\x0f\x9f\x5f"} {
			f.Add(stream, []byte(events), true)
			f.Add(stream, []byte(events), false)
		}
	}
	f.Fuzz(func(t *testing.T, stream string, events []byte, rests bool) {
		budget, strangers := transport.NewBudget(limits.Assembly), transport.NewStrangers(limits.Strange)
		conn := &fitful{stream: hello(1) + readyAs("DEALER") + stream}
		conn.do = func(byte) error { return nil }
		pr := profile{
			kind: routerSocket, server: true, buffers: &buffers{size: 512}, limits: limits,
			budget: budget, strangers: strangers,
			counters: &transport.Counters{},
		}
		p, err := pr.open(conn)
		if err != nil {
			t.Fatal(err)
		}
		g := &p.guard
		g.rests = rests
		from, held, ended := transport.SourceOf(conn.RemoteAddr()), 0, false
		conn.events = events
		conn.do = func(event byte) error {
			if g.taken > limits.Assembly || g.lent > limits.Strange/4 || g.taken > 0 && g.lent > 0 {
				t.Fatalf("%d bytes are taken and %d are lent", g.taken, g.lent)
			}
			switch {
			case event&eventHeld == 0:
			case held > 0:
				strangers.Give(from, held)
				held = 0
			default:
				held, _ = strangers.Take(from, 1<<16, time.Nanosecond)
			}
			if event&eventTrust != 0 {
				g.trusted.Store(!g.trusted.Load())
			}
			if event&eventDrain != 0 && !ended {
				ended = true
				strangers.Close()
				g.drain()
			}
			if event&eventSilent != 0 || ended {
				return os.ErrDeadlineExceeded
			}
			return nil
		}
		before := allocated()
		for {
			m, err := p.receive()
			if err == errAtRest {
				g.rest()
				continue
			}
			if err != nil {
				break
			}
			size := 0
			for _, b := range m {
				size += cap(b)
			}
			if size > limits.MaxMessage+longHeader*len(m) || len(m) > limits.MaxFrames {
				t.Errorf("message of %d frames takes %d bytes", len(m), size)
			}
			if !g.believed && size > 2*limits.MaxUntrusted {
				t.Errorf("message of a stranger takes %d bytes", size)
			}
		}
		p.Close()
		// Bytes of a large frame are copied as its memory grows, those of small ones stand in
		// memory of their own with what Go adds.
		if got, most := allocated()-before, 64*len(stream)+limits.Assembly; got > uint64(most) {
			t.Errorf("%d bytes were allocated for %d that came, want at most %d", got, len(stream), most)
		}
		strangers.Give(from, held)
		if !budget.Take(limits.Assembly) {
			t.Error("the budget was not given back")
		}
		for i := range 4 {
			addr := netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + i)})
			if _, ok := strangers.Take(addr, limits.Strange/4, time.Nanosecond); !ok && !ended {
				t.Errorf("the room of strangers was not given back: %d quarters are free", i)
			}
		}
	})
}

// allocated returns the bytes that this process has allocated on its heap.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
