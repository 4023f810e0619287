package zeromq

import (
	"bytes"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/transport"
)

// script is a connection whose other side sends the given bytes, and takes everything.
type script struct {
	net.Conn
	in io.Reader
}

func (s *script) Read(p []byte) (int, error)         { return s.in.Read(p) }
func (s *script) Write(p []byte) (int, error)        { return len(p), nil }
func (s *script) Close() error                       { return nil }
func (s *script) SetDeadline(time.Time) error        { return nil }
func (s *script) SetReadDeadline(time.Time) error    { return nil }
func (s *script) SetWriteDeadline(t time.Time) error { return nil }
func (s *script) RemoteAddr() net.Addr               { return &net.TCPAddr{} }

// FuzzConnection feeds a connection of each kind with bytes: no panic, no message over the limits,
// no command in a message.
func FuzzConnection(f *testing.F) {
	limits := transport.Limits{MaxUntrusted: 1 << 17, MaxFrames: 4, Assembly: 1 << 18}.ServerLimits()
	for _, after := range []string{"", frames("", "body"),
		frames("id", "", strings.Repeat("x", 300)), "\x04\x0a\x09SUBSCRIBE", frames("\x01a"),
		"\x04\x09\x04PING\x00\x00ab", "\x01\x00\x04\x07\x04PING\x00\x00\x00\x01x", longFrame(0,
			70_000) + strings.Repeat("y", 70_000), longFrame(1, 1<<62)} {
		f.Add(uint8(0), hello(1)+readyAs("REQ")+after)
		f.Add(uint8(1), hello(0)+readyAs("SUB")+after)
		f.Add(uint8(2), hello(1)+readyAs("ROUTER")+after)
		f.Add(uint8(3), hello(1)+readyAs("PUSH")+after)
	}
	f.Fuzz(func(t *testing.T, kind uint8, stream string) {
		budget := transport.NewBudget(limits.Assembly)
		kinds := []socketType{routerSocket, pubSocket, dealerSocket, pullSocket}
		pr := profile{kind: kinds[kind%4], server: kind%4 != 2, buffers: &buffers{size: 64},
			limits: limits, budget: budget, counters: &transport.Counters{}}
		p, err := pr.open(&script{in: strings.NewReader(stream)})
		if err != nil {
			return
		}
		s := newShard(&pr.limits)
		sub := &subscriber{out: &p.out}
		p.side = subscribing(func(on bool, topic []byte) error { return s.subscribe(sub, on, topic) })
		p.guard.rests = kind%8 < 4
		for {
			m, err := p.receive()
			if err == errAtRest {
				p.guard.rest()
				continue
			}
			if err != nil {
				break
			}
			checkMessage(t, m)
		}
		p.Close()
		if len(sub.places) > limits.MaxSubscriptions || sub.bytes > limits.MaxSubscriptionBytes {
			t.Errorf("%d subscriptions of %d bytes", len(sub.places), sub.bytes)
		}
		if s.remove(sub); len(s.subs.topics) > 0 || len(s.subs.lengths) > 0 {
			t.Errorf("after its end %v is left of a subscriber", s.subs)
		}
		if !budget.Take(limits.Assembly) {
			t.Error("the budget was not given back")
		}
	})
}

type subscribing func(on bool, topic []byte) error

func (f subscribing) subscribe(on bool, topic []byte) error { return f(on, topic) }

func checkMessage(t *testing.T, m [][]byte) {
	size := 0
	for _, f := range m {
		size += len(f)
	}
	if size > 1<<17 || len(m) > 4 || len(m) == 0 {
		t.Errorf("message of %d frames, %d bytes", len(m), size)
	}
}

// FuzzProperties compares what is read of a READY with what is written again.
func FuzzProperties(f *testing.F) {
	f.Add([]byte(""))
	f.Add(mechanism{kind: routerSocket, identity: []byte("web1")}.properties())
	f.Add([]byte("\x0bSocket-Type\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		into := map[string]string{}
		if parseProperties(b, into) != nil {
			return
		}
		var again []byte
		for name, value := range into {
			again = appendProperty(again, name, []byte(value))
		}
		back := map[string]string{}
		if err := parseProperties(again, back); err != nil || len(back) != len(into) ||
			back["Identity"] != into["Identity"] {
			t.Errorf("%q was read as %v and then as %v, %v", b, into, back, err)
		}
	})
}

// FuzzSubscriptions compares the index with a plain list: each byte of ops is a subscription or its
// end.
func FuzzSubscriptions(f *testing.F) {
	f.Add([]byte("\x01\x02\x81\x03"), "abab")
	f.Add([]byte("\x00\x40\x07\x87"), "b")
	names := []string{"", "a", "b", "ab", "ba", "aba", "abab", "bb"}
	f.Fuzz(func(t *testing.T, ops []byte, topic string) {
		limits := transport.Limits{}.ServerLimits()
		s := newShard(&limits)
		subs := make([]*subscriber, 4)
		model := make([]map[string]bool, 4)
		for i := range subs {
			subs[i], model[i] = &subscriber{}, map[string]bool{}
		}
		for _, op := range ops {
			who, name, on := int(op>>3&3), names[op&7], op&0x80 == 0
			if err := s.subscribe(subs[who], on, []byte(name)); err != nil {
				t.Fatal(err)
			}
			if model[who][name] = on; !on {
				delete(model[who], name)
			}
		}
		touched := s.subs.match(0, []byte(topic), nil)
		wanted := false
		for i, sub := range subs {
			want := false
			for name := range model[i] {
				want = want || strings.HasPrefix(topic, name)
			}
			wanted = wanted || want
			all := s.subs.topics[""]
			if got := slices.Contains(touched, sub) ||
				all != nil && slices.Contains(all.members, sub); got != want {
				t.Errorf("subscriber %d to %v gets %q: %v, want %v", i, model[i], topic, got, want)
			}
		}
		if got := s.subs.wanted([]byte(topic)); got != wanted {
			t.Errorf("wanted(%q) = %v, want %v", topic, got, wanted)
		}
	})
}

// FuzzOutbox checks that what a peer gets is whole messages in order, whatever it takes at once.
func FuzzOutbox(f *testing.F) {
	f.Add([]byte{1, 200, 3}, uint8(5))
	f.Fuzz(func(t *testing.T, sizes []byte, room uint8) {
		limits := transport.Limits{QueueMessages: int(room%10) + 1}.ServerLimits()
		got := &bytes.Buffer{}
		counters := &transport.Counters{}
		conn := &sink{w: got, gate: make(chan struct{})}
		o := transport.NewOutbox(conn, &limits, counters)
		var joined []byte
		var ends []int
		for i, n := range sizes {
			joined = append(joined, frames(strings.Repeat(string(rune('a'+i%26)), int(n)))...)
			ends = append(ends, len(joined))
		}
		o.SendBatch(joined, ends)
		o.SendBatch(joined, ends)
		close(conn.gate)
		if err := o.Drained(t.Context()); err != nil {
			t.Fatal(err)
		}
		for b := got.Bytes(); len(b) > 0; {
			h, ok, err := parseHeader(b)
			if !ok || err != nil || len(b) < h.len+int(h.size) {
				t.Fatalf("the stream is cut: %q", b)
			}
			b = b[h.len+int(h.size):]
		}
		if sent, dropped := counters.Sent.Load(), counters.Dropped.Load(); int(sent+dropped) != 2*len(sizes) {
			t.Errorf("%d sent, %d dropped of %d", sent, dropped, 2*len(sizes))
		}
	})
}

// sink takes nothing until its gate opens.
type sink struct {
	script
	w    io.Writer
	gate chan struct{}
}

func (s *sink) Write(p []byte) (int, error) {
	<-s.gate
	return s.w.Write(p)
}
