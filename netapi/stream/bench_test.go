package stream

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/eventbus"
)

// BenchmarkRead measures how long it takes until n listeners have read one event, without goroutines
// and writing.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			hub := New(Options{})
			listeners := make([]*Listener, n)
			for i := range listeners {
				listeners[i] = listen(b, hub, Filter{User: fmt.Sprint(i), Tag: "salt/"})
			}
			e := benchEvent(b)
			b.ReportAllocs()
			for b.Loop() {
				hub.add(newEntry(hub, e))
				for _, l := range listeners {
					item, _, _ := l.poll()
					item.e.message()
				}
			}
			perDelivery(b, n)
		})
	}
}

// A countingWriter is a response that discards everything and reports each flush.
type countingWriter struct {
	header http.Header
	wait   *sync.WaitGroup
}

func (c *countingWriter) Header() http.Header              { return c.header }
func (c *countingWriter) WriteHeader(int)                  {}
func (c *countingWriter) Write(b []byte) (int, error)      { return len(b), nil }
func (c *countingWriter) SetWriteDeadline(time.Time) error { return nil }

func (c *countingWriter) FlushError() error {
	c.wait.Done()
	return nil
}

// BenchmarkServeSSE measures how long it takes until n streams, each with its goroutine, have flushed
// one event.
func BenchmarkServeSSE(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			hub := New(Options{})
			var wait, streams sync.WaitGroup
			wait.Add(n) // the first line
			for i := range n {
				l := listen(b, hub, Filter{User: fmt.Sprint(i)})
				streams.Go(func() {
					w := &countingWriter{header: http.Header{}, wait: &wait}
					ServeSSE(w, getEvents(), l, SSEOptions{}) //nolint:errcheck // ErrClosed
				})
			}
			wait.Wait()
			e := benchEvent(b)
			b.ReportAllocs()
			for b.Loop() {
				wait.Add(n)
				hub.add(newEntry(hub, e))
				wait.Wait()
			}
			perDelivery(b, n)
			close(hub.done)
			streams.Wait()
		})
	}
}

// BenchmarkStreams measures how long it takes until n clients have read one event from their
// connections, and the memory that both ends of a stream need.
func BenchmarkStreams(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			hub := New(Options{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				l, err := hub.Listen(Filter{})
				if err != nil {
					b.Error(err)
					return
				}
				defer l.Close()
				ServeSSE(w, r, l, SSEOptions{}) //nolint:errcheck // ErrClosed
			}))
			defer server.Close()
			defer close(hub.done)
			before := heap()
			var wait sync.WaitGroup
			for range n {
				answer, err := server.Client().Get(server.URL)
				if err != nil {
					b.Fatal(err)
				}
				go func() {
					defer answer.Body.Close()
					for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
						if strings.HasPrefix(lines.Text(), dataPrefix) {
							wait.Done()
						}
					}
				}()
			}
			perStream := float64(heap()-before) / float64(n)
			e := benchEvent(b)
			b.ReportAllocs()
			for b.Loop() {
				wait.Add(n)
				hub.add(newEntry(hub, e))
				wait.Wait()
			}
			perDelivery(b, n)
			b.ReportMetric(perStream, "heap-B/stream")
		})
	}
}

// heap returns the size of what is in use, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

func perDelivery(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/delivery")
}

// benchEvent returns the return of a minion.
func benchEvent(b *testing.B) eventbus.Event {
	return event(b, "salt/job/20260102030405000006/ret/m1", "cmd", "_return", "id", "m1", "success", true,
		"return", true, "retcode", int64(0), "jid", "20260102030405000006", "fun", "test.ping",
		"fun_args", []any{}, "user", "root", "_stamp", "2026-01-02T03:04:05.000006")
}
