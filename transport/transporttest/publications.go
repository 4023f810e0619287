package transporttest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/transport"
)

// listener is a subscriber that runs.
type listener struct {
	*running
	got chan string
	up  chan struct{}
}

// subscribe starts a subscriber; what it gets is "topic|body".
func subscribe(t *testing.T, tr Transport, d transport.Dialer, names ...string) *listener {
	t.Helper()
	l := &listener{got: make(chan string, 10000), up: make(chan struct{}, 100)}
	d.OnState = func(up bool, _ error) {
		if up {
			l.up <- struct{}{}
		}
	}
	s := tr.NewSubscriber(d, names...)
	l.running = serve(t, func(ctx context.Context) error {
		return s.Run(ctx, func(topic, body []byte) {
			l.got <- string(topic) + "|" + string(body)
		})
	})
	return l
}

// joined publishes a greeting until the listener gets it, for nothing tells when a subscription is
// in effect.
func (l *listener) joined(t *testing.T, p transport.Publisher, topic string) {
	t.Helper()
	m := transport.Message{Body: []byte("hello")}
	if topic != "" {
		m.Topics = []string{topic}
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for timeout := time.After(patience); ; {
		p.Publish(m)
		select {
		case <-l.got:
			return
		case <-tick.C:
		case <-timeout:
			t.Fatal("the subscription has no effect")
		}
	}
}

// next returns the next message that is no greeting.
func (l *listener) next(t *testing.T) string {
	t.Helper()
	for timeout := time.After(patience); ; {
		select {
		case m := <-l.got:
			if !bytes.HasSuffix([]byte(m), []byte("|hello")) {
				return m
			}
		case <-timeout:
			t.Fatal("no publication came")
		}
	}
}

func publications(t *testing.T, tr Transport) {
	p, run := publisher(t, tr, "tcp://127.0.0.1:0", transport.Options{})
	defer run.stop()
	var all []*listener
	for range 50 {
		l := subscribe(t, tr, quick(p.Addr()))
		defer l.stop()
		all = append(all, l)
	}
	for _, l := range all {
		l.joined(t, p, "")
	}
	if p.Peers() != 50 {
		t.Errorf("Peers = %d, want 50", p.Peers())
	}
	big := string(bytes.Repeat([]byte("b"), 300_000))
	p.Publish(transport.Message{Body: []byte(big)})
	for i := range 100 {
		p.Publish(transport.Message{Body: fmt.Appendf(nil, "message %d", i)})
	}
	for n, l := range all {
		if l.next(t) != "|"+big {
			t.Fatalf("subscriber %d: the big message came changed", n)
		}
		for i := range 100 {
			if got, want := l.next(t), fmt.Sprintf("|message %d", i); got != want {
				t.Fatalf("subscriber %d got %q, want %q", n, got, want)
			}
		}
	}
}

func topics(t *testing.T, tr Transport) {
	if !tr.Filters {
		t.Log("the transport has no topics")
		return
	}
	p, run := publisher(t, tr, "tcp://127.0.0.1:0", transport.Options{})
	defer run.stop()
	web := subscribe(t, tr, quick(p.Addr()), "broadcast", "web")
	defer web.stop()
	db := subscribe(t, tr, quick(p.Addr()), "broadcast", "db")
	defer db.stop()
	all := subscribe(t, tr, quick(p.Addr()))
	defer all.stop()
	web.joined(t, p, "web")
	db.joined(t, p, "db")
	all.joined(t, p, "any")
	p.Publish(transport.Message{Topics: []string{"web1", "db", "nobody"}, Body: []byte("some")})
	p.Publish(transport.Message{Topics: []string{"we", "broadcast"}, Body: []byte("every")})
	for _, want := range []struct {
		name string
		l    *listener
		list []string
	}{
		{"web", web, []string{"web1|some", "broadcast|every"}},
		{"db", db, []string{"db|some", "broadcast|every"}},
		{"all", all, []string{"web1|some", "db|some", "nobody|some", "we|every",
			"broadcast|every"}},
	} {
		var got []string
		for range want.list {
			got = append(got, want.l.next(t))
		}
		if !slices.Equal(got, want.list) {
			t.Errorf("%s got %q, want %q", want.name, got, want.list)
		}
	}
}

// stalledSubscriber checks that a subscriber that does not read costs the others nothing and is
// closed at last.
func stalledSubscriber(t *testing.T, tr Transport) {
	o := transport.Options{Limits: transport.Limits{WriteStall: 500 * time.Millisecond}}
	besideSleeper(t, tr, o, "is not closed", func(s transport.Stats) bool { return s.Evicted > 0 })
}

// fullQueue checks that messages are dropped for a subscriber that does not read, and for no other.
func fullQueue(t *testing.T, tr Transport) {
	o := transport.Options{Limits: transport.Limits{QueueMessages: 100, WriteStall: -1}, Linger: -1}
	besideSleeper(t, tr, o, "loses nothing", func(s transport.Stats) bool { return s.Dropped > 0 })
}

// besideSleeper publishes to a subscriber that reads, and one that does not, until the publisher
// has counted what it should.
func besideSleeper(
	t *testing.T, tr Transport, o transport.Options, otherwise string,
	done func(transport.Stats) bool,
) {
	p, run := publisher(t, tr, "tcp://127.0.0.1:0", o)
	defer run.stop()
	good := subscribe(t, tr, quick(p.Addr()))
	defer good.stop()
	good.joined(t, p, "")
	gate := make(chan struct{})
	lazy := tr.NewSubscriber(quick(p.Addr()))
	sleeper := serve(t, func(ctx context.Context) error {
		return lazy.Run(ctx, func(_, _ []byte) { <-gate })
	})
	defer sleeper.stop()
	defer close(gate)
	eventually(t, "two peers", func() bool { return p.Peers() == 2 })
	body := bytes.Repeat([]byte("x"), 100_000)
	end := time.Now().Add(patience)
	for i := 0; !done(p.Stats()); i++ {
		if time.Now().After(end) {
			t.Fatalf("after %d messages the subscriber that does not read %s: %d peers, %+v", i,
				otherwise, p.Peers(), p.Stats())
		}
		p.Publish(transport.Message{Body: append(fmt.Appendf(nil, "%d ", i), body...)})
		if got, want := good.next(t)[1:10], fmt.Sprintf("%d %s", i, body)[:9]; got != want {
			t.Fatalf("the good subscriber got %q, want %q", got, want)
		}
		runtime.Gosched()
	}
}

func restartPublisher(t *testing.T, tr Transport) {
	p, run := publisher(t, tr, "tcp://127.0.0.1:0", transport.Options{})
	d := quick(p.Addr())
	l := subscribe(t, tr, d)
	defer l.stop()
	l.joined(t, p, "")
	run.stop()
	p, run = publisher(t, tr, endpoint(p.Addr()), transport.Options{})
	defer run.stop()
	for timeout := time.After(patience); ; { // greetings of the first publisher may lie here yet
		p.Publish(transport.Message{Body: []byte("anew")})
		select {
		case m := <-l.got:
			if strings.HasSuffix(m, "|anew") {
				if len(l.up) != 2 {
					t.Errorf("told of %d connections, want 2", len(l.up))
				}
				return
			}
		case <-time.After(2 * time.Millisecond):
		case <-timeout:
			t.Fatal("nothing of the second publisher came")
		}
	}
}

func drainPublications(t *testing.T, tr Transport) {
	p, run := publisher(t, tr, "tcp://127.0.0.1:0", transport.Options{Linger: patience})
	l := subscribe(t, tr, quick(p.Addr()))
	defer l.stop()
	l.joined(t, p, "")
	body := bytes.Repeat([]byte("x"), 100_000)
	for range 100 {
		p.Publish(transport.Message{Body: body})
	}
	run.stop()
	for i := range 100 {
		if got := l.next(t); len(got) != 1+len(body) {
			t.Fatalf("message %d of %d bytes", i, len(got))
		}
	}
}

func dial(t *testing.T, a net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial(a.Network(), a.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
