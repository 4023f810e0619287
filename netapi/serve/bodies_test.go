package serve

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/media"
)

// mostBody is the largest body of these tests.
const mostBody = 1 << 20

// reading is a handler that reads bodies as the doors do. It counts the refusals.
func reading(refused *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := media.Read(r, mostBody)
		if f, ok := errors.AsType[*netapi.Fault](err); ok {
			refused.Add(1)
			f.SetHeaders(w.Header())
			w.WriteHeader(f.Status)
			return
		}
		if err == nil {
			_, _ = fmt.Fprint(w, len(body.Raw))
		}
	}
}

// heap returns the memory in use. The first collection leaves what pools keep for reuse: sync.Pool
// drops an object at the second one.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestStalledBodiesCostLittleMemory sends many bodies that lack their last byte, over either protocol.
func TestStalledBodiesCostLittleMemory(t *testing.T) {
	const clients, largest = 80, 8 << 20
	almost := bytes.Repeat([]byte(" "), mostBody-1)
	for protocol, stall := range map[string]func(*testing.T, *site, *authority){
		"HTTP/1.1": func(t *testing.T, s *site, _ *authority) {
			for range clients {
				c := dial(t, s)
				_, _ = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"+
					"Content-Length: %d\r\n\r\n", mostBody)
				go func() { _, _ = c.Write(almost) }()
			}
		},
		"HTTP/2": func(t *testing.T, s *site, a *authority) {
			client := browser(t, &tls.Config{RootCAs: a.pool()})
			get(t, client, s.url) // so that the requests share one connection
			for range clients {
				rest, hold := io.Pipe()
				t.Cleanup(func() { _ = hold.Close() })
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, io.MultiReader(bytes.NewReader(almost), rest))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/json")
				go func() {
					if answer, err := client.Do(r); err == nil {
						_ = answer.Body.Close()
					}
				}()
			}
		},
	} {
		t.Run(protocol, func(t *testing.T) {
			var refused atomic.Int64
			a := newAuthority(t)
			d := plain()
			if protocol == "HTTP/2" {
				d = secure(t, a)
			}
			s := run(t, d, reading(&refused), nil)
			s.Bodies.all, s.Bodies.here = largest, largest
			before := heap()
			stall(t, s, a)
			until(t, "the limit is reached", func() bool { return refused.Load() >= clients-largest/mostBody-1 })
			if grown := int64(heap()) - int64(before); grown > 4*largest {
				t.Errorf("%d bodies of %d bytes take %d bytes of memory", clients, mostBody, grown)
			}
			s.stop()
			if s.Bodies.used != 0 || len(s.Bodies.from) != 0 {
				t.Errorf("%d bytes of %v count after the end", s.Bodies.used, s.Bodies.from)
			}
		})
	}
}

// TestBodiesOfOneNetworkLeaveRoom checks the limits of one network, of this host and of all.
func TestBodiesOfOneNetworkLeaveRoom(t *testing.T) {
	b := NewBodies(1 << 20)
	status := func(from string, n int64) int {
		t.Helper()
		err := b.take(netapi.Network(netip.MustParseAddr(from)), n)
		f, _ := errors.AsType[*netapi.Fault](err)
		if f == nil {
			return 0
		}
		return f.Status
	}
	for _, c := range []struct {
		from string
		n    int64
		want int
	}{
		{"10.0.0.1", 16 << 20, 0}, {"10.0.0.1", 1, 429}, {"127.0.0.1", 48<<20 + 1, 429}, {"127.0.0.1", 32 << 20, 0},
		{"2001:db8::1", 15 << 20, 0}, {"2001:db8::2", 2 << 20, 429}, {"10.0.0.2", 2 << 20, 503}, {"10.0.0.2", 1 << 20, 0},
	} {
		if got := status(c.from, c.n); got != c.want {
			t.Errorf("%d bytes from %s: %d, want %d", c.n, c.from, got, c.want)
		}
	}
	b.give(netapi.Network(netip.MustParseAddr("10.0.0.1")), 16<<20)
	if got := status("10.0.0.1", 1<<20); got != 0 {
		t.Errorf("after the end of the first: %d", got)
	}
	if err := NewBodies(100<<20).take(netapi.Network(netip.MustParseAddr("10.0.0.1")), 101<<20); err != nil {
		t.Errorf("a larger max_request_body_size: %v", err)
	}
}

// TestARequestWithoutItsBodyCounts checks that headers and waiting requests are counted.
func TestARequestWithoutItsBodyCounts(t *testing.T) {
	var refused atomic.Int64
	s := run(t, plain(), reading(&refused), nil)
	s.Bodies.here = 3 * aBody
	for range 4 {
		c := dial(t, s)
		_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n")
	}
	until(t, "the limit is reached", func() bool { return refused.Load() >= 2 })
}
