package zeromq

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/transport"
)

// servers starts one server of each kind, for tests that concern them all.
func servers(t *testing.T, o transport.Options, test func(t *testing.T, s *server, peer string)) {
	t.Helper()
	t.Run("replier", func(t *testing.T) {
		s, stop := startReplier(t, o, echo)
		defer stop()
		test(t, s.server, "REQ")
	})
	t.Run("publisher", func(t *testing.T) {
		s, stop := startPublisher(t, o)
		defer stop()
		test(t, s.server, "SUB")
	})
}

func longFrame(flags byte, size uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte{flags | flagLong}, size))
}

func TestHostileBytesCostOneConnection(t *testing.T) {
	lie := hello(1) + "\x04\x0b\x05READY"
	for _, tt := range []struct{ name, handshake, after string }{
		{name: "unknown socket type", handshake: hello(1) + readyAs("FOO")},
		{name: "draft socket type", handshake: hello(1) + readyAs("CLIENT")},
		{name: "no socket type", handshake: hello(1) + "\x04\x06\x05READY"},
		{name: "incompatible socket type", handshake: hello(1) + readyAs("PAIR")},
		{name: "cut metadata", handshake: hello(1) + "\x04\x0b\x05READY\x02ab\x00\x00"},
		{name: "property longer than the command", handshake: lie + "\x01a\xff\xff\xff"},
		{name: "name of a command longer than it", handshake: hello(1) + "\x04\x02\xffx"},
		{name: "empty command", handshake: hello(1) + "\x04\x00"},
		{name: "other command in the handshake", handshake: hello(1) + "\x04\x05\x04PING"},
		{name: "message in the handshake", handshake: hello(1) + "\x00\x01x"},
		{name: "announcing 2^62 bytes in the handshake", handshake: hello(1) + longFrame(flagCommand, 1<<62)},
		{name: "announcing 2^40 bytes in the handshake", handshake: hello(1) + longFrame(flagCommand, 1<<40)},
		{name: "announcing 2^64-1 bytes in the handshake",
			handshake: hello(1) + longFrame(flagCommand, 1<<64-1)},
		{name: "ZMTP 2", handshake: "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x01\x05" +
			strings.Repeat("\x00", 60)},
		{name: "other mechanism", handshake: strings.Replace(hello(1), "NULL\x00", "CURVE", 1)},
		{name: "announcing 2^62 bytes", after: longFrame(0, 1<<62)},
		{name: "announcing 2^40 bytes", after: longFrame(0, 1<<40)},
		{name: "announcing 2^64-1 bytes", after: longFrame(0, 1<<64-1)},
		{name: "announcing one byte too many", after: longFrame(0, 1<<20+1)},
		{name: "endless frames", after: strings.Repeat("\x01\x01x", 20)},
		{name: "many frames that are too large together",
			after: strings.Repeat(longFrame(flagMore, 1<<17)+strings.Repeat("x", 1<<17), 10)},
		{name: "reserved flags", after: "\x08\x01x"},
		{name: "command with more", after: "\x05\x05\x04PING"},
		{name: "large command", after: longFrame(flagCommand, maxCommand+1)},
		{name: "PING without its time", after: "\x04\x06\x04PING\x00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			servers(t, transport.Options{}, func(t *testing.T, s *server, peer string) {
				good := dialRaw(t, s.Addr()).join(1, peer)
				c := dialRaw(t, s.Addr())
				if tt.handshake != "" {
					c.write(tt.handshake)
				} else {
					c.join(1, peer).try(tt.after)
				}
				c.rest()
				good.write("\x04\x08\x04PING\x00\x00!")
				if got := good.frame(); got != (rawFrame{flagCommand, "\x04PONG!"}) {
					t.Errorf("the good peer got %+v", got)
				}
				if st := s.Stats(); st.HandshakeFailures+st.ProtocolErrors != 1 {
					t.Errorf("Stats = %+v, want one failure", st)
				}
			})
		})
	}
}

func TestPartialHandshakesEnd(t *testing.T) {
	o := transport.Options{Limits: transport.Limits{HandshakeTimeout: 50 * time.Millisecond}}
	servers(t, o, func(t *testing.T, s *server, peer string) {
		for _, part := range []string{"", "\xff", hello(1)[:20], hello(1), hello(1) + readyAs(peer)[:5]} {
			c := dialRaw(t, s.Addr())
			c.write(part)
			c.rest()
		}
		eventually(t, "no connection", func() bool { return s.Stats().Connections == 0 })
	})
}

func TestFailedHandshakesLeaveNoDescriptors(t *testing.T) {
	if runtime.GOOS != "linux" {
		need.Missing(t, "there is no "+"/proc/self/fd")
	}
	descriptors := func() int {
		d, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(d)
	}
	servers(t, transport.Options{}, func(t *testing.T, s *server, _ string) {
		before := descriptors()
		for range 300 {
			c := dialRaw(t, s.Addr())
			c.write("GET / HTTP/1.0\r\n\r\n")
			c.rest()
			c.Close()
		}
		eventually(t, "no connection", func() bool { return s.Stats().Connections == 0 })
		if after := descriptors(); after > before+5 {
			t.Errorf("%d descriptors, before %d", after, before)
		}
	})
}

// TestLiarsMustSendWhatTheyAnnounce checks that memory follows what arrives.
func TestLiarsMustSendWhatTheyAnnounce(t *testing.T) {
	s, stop := startReplier(t, transport.Options{Limits: transport.Limits{MaxUntrusted: 64 << 20}}, echo)
	defer stop()
	before := heapNow()
	for range 100 {
		dialRaw(t, s.Addr()).join(1, "REQ").write("\x01\x00" +
			longFrame(0, 60<<20) + strings.Repeat("x", 1000))
	}
	eventually(t, "the bytes to be read",
		func() bool { return s.budget.Take(0) && s.Stats().Connections == 100 })
	if after := heapNow(); after > before+50<<20 {
		t.Errorf("6 GB announced by 100 peers took %d MiB", (after-before)>>20)
	}
}

func TestAssemblyBudget(t *testing.T) {
	s, stop := startReplier(t, transport.Options{Limits: transport.Limits{MaxMessage: 1 << 20,
		Assembly: 1 << 20}}, echo)
	defer stop()
	s.desk.Known().Trust(transport.SourceOf(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	big := longFrame(0, 900_000)
	first := dialRaw(t, s.Addr()).join(1, "REQ")
	first.write("\x01\x00" + big + strings.Repeat("x", 800_000))
	eventually(t, "the first to take its share",
		func() bool { return s.budget.Take(0) && !s.budget.Take(500_000) || s.give(500_000) })
	second := dialRaw(t, s.Addr()).join(1, "REQ")
	second.try("\x01\x00" + big + strings.Repeat("x", 800_000))
	second.rest()
	first.write(strings.Repeat("x", 100_000))
	if m := first.message(); len(m[1]) != 900_000 {
		t.Errorf("the first got a reply of %d bytes", len(m[1]))
	}
	third := dialRaw(t, s.Addr()).join(1, "REQ")
	third.write("\x01\x00" + big + strings.Repeat("x", 900_000))
	third.message()
}

// TestAnnouncementsOfKnownPeersLeaveRoom has peers at the address of a known minion announce as
// much as the budget holds, and send little of it: they get an eighth, then room only for what
// comes, and the minion's own message passes.
func TestAnnouncementsOfKnownPeersLeaveRoom(t *testing.T) {
	s, stop := startReplier(t, transport.Options{}, echo)
	defer stop()
	s.desk.Known().Trust(transport.SourceOf(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	announce := func(n, promised int) {
		for range n {
			dialRaw(t, s.Addr()).join(1, "REQ").write("\x01\x00" +
				longFrame(0, wholeFrame) + strings.Repeat("x", 20_000))
		}
		eventually(t, "what is announced to be noted", func() bool {
			free := s.limits.Assembly - promised + 1
			return !s.budget.Take(free) || s.give(free)
		})
	}
	all := s.limits.Assembly
	early := all / 8 / wholeFrame
	late := all/wholeFrame - early
	announce(early, early*wholeFrame)
	announce(late, early*wholeFrame+late*bigFrame/2)
	c := dialRaw(t, s.Addr()).join(1, "REQ")
	c.write("\x01\x00" + longFrame(0, 300<<10) + strings.Repeat("x", 300<<10))
	if m := c.message(); len(m[1]) != 300<<10 {
		t.Errorf("the minion got a reply of %d bytes", len(m[1]))
	}
}

// give returns what a probe took, and false.
func (s *server) give(n int) bool { s.budget.Give(n); return false }

func TestPeerThatDoesNotReadReplies(t *testing.T) {
	reply := make([]byte, 1<<20)
	limits := transport.Limits{QueueBytes: 4 << 20, MaxInFlight: 4}
	s, stop := startReplier(t, transport.Options{Limits: limits, Linger: -1},
		func(_ context.Context, r transport.Request) {
			if string(r.Body()) == "big" {
				_ = r.Reply(reply)
				return
			}
			_ = r.Reply(r.Body())
		})
	defer stop()
	deaf := dialRaw(t, s.Addr()).join(1, "DEALER")
	good := dialRaw(t, s.Addr()).join(1, "REQ")
	for i := 0; s.Stats().Dropped == 0; i++ {
		deaf.write(frames("id", "", "big"))
		good.write(frames("", fmt.Sprint(i)))
		if m := good.message(); m[1] != fmt.Sprint(i) {
			t.Fatalf("the good peer got %q", m)
		}
	}
}

func TestSameIdentityTwice(t *testing.T) {
	s, stop := startReplier(t, transport.Options{}, echo)
	defer stop()
	ready := string(command("READY",
		appendProperty(appendProperty(nil, "Socket-Type", []byte("DEALER")), "Identity", []byte("web1"))))
	var peers []*raw
	for range 2 {
		c := dialRaw(t, s.Addr())
		c.write(hello(1) + ready)
		c.read(greetingLen)
		c.frame()
		peers = append(peers, c)
	}
	for i, c := range peers {
		c.write(frames("", fmt.Sprint("for ", i)))
	}
	for i, c := range peers {
		if m := c.message(); m[1] != fmt.Sprint("for ", i) {
			t.Errorf("peer %d got %q", i, m)
		}
	}
	stop()
	for i, c := range peers {
		if rest := c.rest(); rest != "" {
			t.Errorf("peer %d got %q besides", i, rest)
		}
	}
}

func TestEnvelopes(t *testing.T) {
	s, stop := startReplier(t, transport.Options{}, echo)
	defer stop()
	for _, tt := range []struct {
		name    string
		request []string
		refused bool
	}{
		{name: "REQ", request: []string{"", "body"}},
		{name: "empty body", request: []string{"", ""}},
		{name: "envelope of devices", request: []string{"one", "two", "", "body"}},
		{name: "delimiter is the first empty frame", request: []string{"head", "", "tail"}},
		{name: "no delimiter", request: []string{"body"}, refused: true},
		{name: "nothing after the delimiter", request: []string{"id", ""}, refused: true},
		{name: "two frames after the delimiter", request: []string{"", "a", "b"}, refused: true},
		{name: "empty frame in the body", request: []string{"", "", "tail"}, refused: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := dialRaw(t, s.Addr()).join(1, "DEALER")
			c.write(frames(tt.request...))
			if tt.refused {
				if rest := c.rest(); rest != "" {
					t.Errorf("%q was answered with %q", tt.request, rest)
				}
				return
			}
			if m := c.message(); fmt.Sprint(m) != fmt.Sprint(tt.request) {
				t.Errorf("%q was answered with %q", tt.request, m)
			}
		})
	}
}

func TestHeartbeatsNeverReachTheApplication(t *testing.T) {
	s, stop := startReplier(t, transport.Options{}, echo)
	defer stop()
	c := dialRaw(t, s.Addr()).join(1, "REQ")
	// in the middle of a message, as libzmq may
	c.write("\x01\x00" + "\x04\x09\x04PING\x00\x00ab" + "\x00\x01x")
	if f := c.frame(); f != (rawFrame{flagCommand, "\x04PONGab"}) {
		t.Errorf("got %+v", f)
	}
	if m := c.message(); fmt.Sprint(m) != "[ x]" {
		t.Errorf("got %q", m)
	}
	c.write(string(command("PING", []byte("\x00\x00"+strings.Repeat("c", 100)))))
	if f := c.frame(); f.body != "\x04PONG"+strings.Repeat("c", maxPingContext) {
		t.Errorf("long context: %+v", f)
	}
	c.write(string(command("NEWS", []byte("of a later version"))) + frames("", "y"))
	if m := c.message(); m[1] != "y" {
		t.Errorf("got %q", m)
	}
}

func TestSubscribeAfterManyPings(t *testing.T) {
	p, stop := startPublisher(t, transport.Options{})
	defer stop()
	c := dialRaw(t, p.Addr()).join(1, "SUB")
	for range 30 {
		c.write("\x04\x07\x04PING\x00\x00")
		c.frame()
	}
	c.write("\x04\x0a\x09SUBSCRIBE")
	eventually(t, "the subscription", func() bool { return p.subscriptions() == 1 })
	p.Publish(transport.Message{Body: []byte("news")})
	if m := c.message(); m[0] != "news" {
		t.Errorf("got %q", m)
	}
}

func TestSubscriptionLimits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit transport.Limits
		topic func(int) string
	}{
		{"number", transport.Limits{MaxSubscriptions: 50}, func(i int) string { return fmt.Sprint(i) }},
		{"bytes", transport.Limits{MaxSubscriptionBytes: 5000},
			func(i int) string { return strings.Repeat("t", 900+i) }},
		{"one large", transport.Limits{MaxSubscriptionBytes: 5000},
			func(i int) string { return strings.Repeat("t", 6000) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, stop := startPublisher(t, transport.Options{Limits: tt.limit})
			defer stop()
			c := dialRaw(t, p.Addr()).join(0, "SUB")
			for i := range 100 {
				c.try(frames("\x01" + tt.topic(i)))
			}
			c.rest()
			eventually(t, "the subscriptions to go",
				func() bool { return p.subscriptions() == 0 && p.Peers() == 0 })
		})
	}
	t.Run("the same again", func(t *testing.T) {
		p, stop := startPublisher(t, transport.Options{Limits: transport.Limits{MaxSubscriptions: 1}})
		defer stop()
		c := dialRaw(t, p.Addr()).join(0, "SUB")
		c.write(strings.Repeat(frames("\x01x"), 100) + frames("\x00x") + frames("\x00x") + frames("\x01y"))
		eventually(t, "the last subscription", func() bool {
			for _, s := range p.shards.All() {
				s.index.Lock()
				has := s.subs.topics["y"] != nil
				s.index.Unlock()
				if has {
					return true
				}
			}
			return false
		})
	})
}

func TestLossInTheMiddleOfAFrame(t *testing.T) {
	servers(t, transport.Options{}, func(t *testing.T, s *server, peer string) {
		for range 50 {
			c := dialRaw(t, s.Addr()).join(1, peer)
			c.write(longFrame(flagMore, 1000) + "half")
			c.Close()
		}
		eventually(t, "no connection", func() bool { return s.Stats().Connections == 0 })
		if n := s.Peers(); n != 0 {
			t.Errorf("%d peers are kept", n)
		}
	})
}

func TestMessageMustGoOn(t *testing.T) {
	s, stop := startReplier(t, transport.Options{Limits: transport.Limits{MessageTimeout: 30 * time.Millisecond}}, echo)
	defer stop()
	for _, begun := range []string{"\x01\x00", "\x01\x00\x00\x05ab", "\x01\x00" +
		longFrame(0, 500_000) + "ab"} {
		c := dialRaw(t, s.Addr()).join(1, "REQ")
		c.write(begun)
		c.rest()
	}
}

func TestIdlePeersAreClosed(t *testing.T) {
	limits := transport.Limits{PingEvery: 10 * time.Millisecond, IdleTimeout: 50 * time.Millisecond}
	t.Run("replier", func(t *testing.T) {
		s, stop := startReplier(t, transport.Options{Limits: limits},
			func(ctx context.Context, r transport.Request) {
				r.Trust()
				echo(ctx, r)
			})
		defer stop()
		idle := dialRaw(t, s.Addr()).join(0, "REQ")
		idle.rest()
		known := dialRaw(t, s.Addr())
		// at once, or it may be idle for too long before it asks
		known.write(hello(0) + readyAs("REQ") + frames("", "me"))
		known.read(greetingLen)
		known.frame() // READY
		known.message()
		late := dialRaw(t, s.Addr()).join(0, "REQ") // of the same address, so trusted
		if late.SetReadDeadline(time.Now().Add(200*time.Millisecond)) != nil {
			t.Fatal("no deadline")
		}
		if _, err := late.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("an idle peer that is known: %v", err)
		}
	})
	t.Run("publisher", func(t *testing.T) {
		p, stop := startPublisher(t, transport.Options{Limits: limits})
		defer stop()
		dialRaw(t, p.Addr()).join(0, "SUB").rest()
	})
}

func TestSilentPeersAreGivenUp(t *testing.T) {
	// A peer that answers has two seconds for it, which is also how long this takes.
	limits := transport.Limits{PingEvery: 20 * time.Millisecond, DeadAfter: 100, IdleTimeout: -1}
	servers(t, transport.Options{Limits: limits}, func(t *testing.T, s *server, peer string) {
		old := dialRaw(t, s.Addr()).join(0, peer)
		dead := dialRaw(t, s.Addr()).join(1, peer)
		alive := dialRaw(t, s.Addr()).join(1, peer)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer alive.Close()
		wg.Go(func() { pong(alive) })
		if pings := strings.Count(dead.rest(), "\x04PING"); pings < 3 {
			t.Errorf("the silent peer was pinged %d times", pings)
		}
		eventually(t, "one evicted and two left", func() bool {
			got := s.Stats()
			return got.Evicted == 1 && got.Connections == 2
		})
		if old.SetReadDeadline(time.Now()) != nil {
			t.Fatal("no deadline")
		}
		if n, _ := old.Read(make([]byte, 1)); n > 0 {
			t.Error("a peer of ZMTP 3.0 was pinged")
		}
	})
}

// pong answers heartbeats until the connection ends.
func pong(c *raw) {
	b := make([]byte, 9)
	for {
		if _, err := c.Conn.Read(b); err != nil {
			return
		}
		if _, err := c.Conn.Write([]byte("\x04\x05\x04PONG")); err != nil {
			return
		}
	}
}

// TestClientLeavesDeadServer has a server that takes requests and then says nothing more, as one
// that lost its power.
func TestClientLeavesDeadServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := quick(l.Addr())
	// long enough for the handshake below to end first
	d.Limits = transport.Limits{PingEvery: 10 * time.Millisecond, DeadAfter: 50}
	q := NewRequester(d)
	defer q.Close()
	done := make(chan error, 1)
	go func() {
		_, err := q.Do(context.Background(), []byte("x"))
		done <- err
	}()
	acceptRaw(t, l).join(1, "ROUTER")
	if err := <-done; !errors.Is(err, transport.ErrDisconnected) || !errors.Is(err, errDead) {
		t.Errorf("Do = %v, want ErrDisconnected because of heartbeats", err)
	}
	acceptRaw(t, l).join(1, "ROUTER")
}

func TestClientRefusesBadReplies(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := quick(l.Addr())
	d.Limits.MaxMessage = 1000
	for _, bad := range []string{frames("x"), frames("12345678", "x"), frames("", "x"),
		frames("12345678", "no", "x"), longFrame(0, 1001), "\x04\x0b\x05ERROR\x04busy"} {
		q := NewRequester(d)
		done := make(chan error, 1)
		go func() {
			_, err := q.Do(context.Background(), []byte("x"))
			done <- err
		}()
		c := acceptRaw(t, l).join(1, "ROUTER")
		c.message()
		c.write(bad)
		if err := <-done; !errors.Is(err, transport.ErrDisconnected) {
			t.Errorf("after %q: %v, want ErrDisconnected", bad, err)
		}
		q.Close()
	}
}

// TestLateReplyIsDropped gives the reply to a request that was given up, and then that to the next.
func TestLateReplyIsDropped(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	q := NewRequester(quick(l.Addr()))
	defer q.Close()
	c := acceptRaw(t, l).join(0, "ROUTER")
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := q.Do(ctx, []byte("one"))
		first <- err
	}()
	one := c.message()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("Do = %v, want Canceled", err)
	}
	go func() {
		two := c.message()
		c.write(frames(one...) + frames(two...))
	}()
	if got, err := q.Do(t.Context(), []byte("two")); string(got) != "two" {
		t.Errorf("Do(two) = %q, %v", got, err)
	}
}

func TestOldServersGetSubscriptionsAsMessages(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	stop := run(t, func(ctx context.Context) error {
		return NewSubscriber(quick(l.Addr()), "a", "b").Run(ctx, func(_, _ []byte) {})
	})
	defer stop()
	c := acceptRaw(t, l).join(0, "PUB")
	if got := c.read(8); got != frames("\x01a")+frames("\x01b") {
		t.Errorf("sent %q", got)
	}
}

func TestConnectionsComeAndGo(t *testing.T) {
	s, stop := startReplier(t, transport.Options{Linger: -1}, echo)
	defer stop()
	p, stopPub := startPublisher(t, transport.Options{Linger: -1})
	defer stopPub()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				q := NewRequester(quick(s.Addr()))
				if got, err := q.Do(t.Context(), fmt.Append(nil, i)); string(got) != fmt.Sprint(i) {
					t.Errorf("worker %d: Do(%d) = %q, %v", w, i, got, err)
				}
				q.Close()
				ctx, cancel := context.WithCancel(t.Context())
				got := make(chan struct{}, 1)
				done := run(t, func(context.Context) error {
					return NewSubscriber(quick(p.Addr()), "t").Run(ctx, func(_, _ []byte) {
						select {
						case got <- struct{}{}:
						default:
						}
					})
				})
				for sent := false; !sent; {
					p.Publish(transport.Message{Topics: []string{"topic"}, Body: []byte("x")})
					select {
					case <-got:
						sent = true
					case <-time.After(time.Millisecond):
					}
				}
				cancel()
				done()
			}
		})
	}
	wg.Wait()
	eventually(t, "no peers", func() bool { return p.Peers() == 0 && p.subscriptions() == 0 && s.Stats().Connections == 0 })
}

// TestStrangersShareLittleMemory has 200 peers that have proved nothing send a third of a request
// of 1 MB, and measures what that takes when all have come so far, or wait for room. Then all send
// the rest, and are answered.
func TestStrangersShareLittleMemory(t *testing.T) {
	s, stop := startReplier(t, transport.Options{},
		func(_ context.Context, r transport.Request) { _ = r.Reply([]byte("ok")) })
	defer stop()
	const peers, size, third, most = 200, 1_000_000, 333_333, 64 << 20
	before := heapNow()
	var sent atomic.Int32
	goOn := make(chan struct{})
	answered := make(chan string, peers)
	body := strings.Repeat("x", size)
	for range peers {
		c := dialRaw(t, s.Addr()).join(1, "REQ")
		go func() {
			c.try("\x01\x00" + longFrame(0, size) + body[:third])
			sent.Add(1)
			<-goOn
			c.try(body[third:])
			answer := make([]byte, 100)
			n, _ := c.Read(answer)
			answered <- string(answer[:n])
		}()
	}
	eventually(t, "all to send, or no room", func() bool { return sent.Load() == peers || !s.hasRoom(size) })
	grown := int64(heapNow() - before)
	if t.Logf("%d MiB more", grown>>20); grown > most {
		t.Errorf("%d requests of %d bytes take %d MiB", peers, size, grown>>20)
	}
	close(goOn)
	for range peers {
		if m := <-answered; m != frames("", "ok") {
			t.Errorf("answer %q", m)
		}
	}
	eventually(t, "the room to be given back", func() bool { return s.hasRoom(s.limits.Strange / 4) })
}

// hasRoom reports whether there is room for so much of a stranger on this host.
func (s *server) hasRoom(n int) bool {
	here := netip.MustParseAddr("127.0.0.1")
	taken, ok := s.strangers.Take(here, n, time.Nanosecond)
	s.strangers.Give(here, taken)
	return ok
}

func heapNow() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
