package stream

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/eventbus"
)

// BenchmarkRead measures how long it takes until n listeners have read one event, without goroutines
// and writing.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{10, 1000} {
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
	for _, n := range []int{10, 1000} {
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

func perDelivery(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/delivery")
}

// benchEvent returns the return of a minion.
func benchEvent(b *testing.B) eventbus.Event {
	return event(b, "salt/job/20260102030405000006/ret/m1", "cmd", "_return", "id", "m1", "success", true,
		"return", true, "retcode", int64(0), "jid", "20260102030405000006", "fun", "test.ping",
		"fun_args", []any{}, "user", "root", "_stamp", "2026-01-02T03:04:05.000006")
}
