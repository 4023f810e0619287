package eventbus

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
)

func benchEvent() *data.Map {
	return data.NewMap("jid", "20261121073443092771", "id", "web1.example.com", "fun", "test.ping",
		"fun_args", []any{}, "return", strings.Repeat("x", 200), "retcode", int64(0), "success", true)
}

// BenchmarkFire fires an event to subscriptions in the process, which take it.
func BenchmarkFire(b *testing.B) {
	for _, n := range []int{0, 1, 10, 100} {
		b.Run(fmt.Sprint("subscriptions=", n), func(b *testing.B) {
			bus := New(Options{})
			var subs []*Subscription
			for range n {
				subs = append(subs, bus.Subscribe(SubscribeOptions{}))
			}
			m := benchEvent()
			b.ReportAllocs()
			for b.Loop() {
				if err := bus.Fire("salt/job/20261121073443092771/ret/web1", m); err != nil {
					b.Fatal(err)
				}
				for _, s := range subs {
					if _, err := s.Next(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkSocket fires events to listeners on the socket, at the pace of the listeners.
func BenchmarkSocket(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprint("listeners=", n), func(b *testing.B) {
			at := time.Now().Truncate(time.Second).Add(123456 * time.Microsecond) // all frames get one size
			bus := New(Options{Now: func() time.Time { return at }})
			s, _ := serve(b, bus, ServeOptions{})
			m := benchEvent()
			size := frameSize(b, m)
			const window = 256
			acks := make(chan struct{}, 1<<20)
			for range n {
				conn, err := net.Dial("unix", s.Pub)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { conn.Close() })
				go listenRaw(conn, size*window, acks)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if err := bus.Fire("t", m); err != nil {
					b.Fatal(err)
				}
				if i++; i%window == 0 {
					for range n {
						<-acks
					}
				}
			}
		})
	}
}

// listenRaw takes bytes and tells of every chunk of them.
func listenRaw(conn net.Conn, chunk int, acks chan<- struct{}) {
	buf := make([]byte, chunk)
	for {
		if _, err := io.ReadFull(conn, buf); err != nil {
			return
		}
		acks <- struct{}{}
	}
}

func frameSize(b *testing.B, m *data.Map) int {
	at := time.Now().Truncate(time.Second).Add(123456 * time.Microsecond)
	c := newEncoder(0, false, func() time.Time { return at })
	e, err := c.encode("t", m)
	if err != nil {
		b.Fatal(err)
	}
	return len(e.frame)
}

// BenchmarkPull takes events from a writer's socket and hands them to one listener's, client and
// listener being in this process too.
func BenchmarkPull(b *testing.B) {
	bus := New(Options{})
	s, _ := serve(b, bus, ServeOptions{})
	c, err := Dial(b.Context(), s, ClientOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	m := benchEvent()
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Fire(b.Context(), "t", m); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
