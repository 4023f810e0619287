package transporttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/transport"
)

func requests(t *testing.T, tr Transport) {
	s, run := replier(t, tr, transport.Options{}, echo)
	defer run.stop()
	q := requester(t, tr, quick(s.Addr()))
	defer end(t, q)
	for _, n := range []int{0, 1, 255, 256, 65535, 65536, 70000} {
		if body := strings.Repeat("x", n); ask(t, q, body) != body {
			t.Errorf("a body of %d bytes came back changed", n)
		}
	}
	if got := s.Stats(); got.Received != 7 || got.Connections != 1 {
		t.Errorf("Stats = %+v, want 7 requests on 1 connection", got)
	}
}

func manyRequests(t *testing.T, tr Transport) {
	s, run := replier(t, tr, transport.Options{}, echo)
	defer run.stop()
	q := requester(t, tr, quick(s.Addr()))
	defer end(t, q)
	askMany(t, 1000, func(int) transport.Requester { return q })
	if got := s.Stats().Accepted; got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}

func manyClients(t *testing.T, tr Transport) {
	s, run := replier(t, tr, transport.Options{}, echo)
	defer run.stop()
	clients := make([]transport.Requester, 100)
	for i := range clients {
		clients[i] = requester(t, tr, quick(s.Addr()))
		defer end(t, clients[i])
	}
	askMany(t, 1000, func(i int) transport.Requester { return clients[i%len(clients)] })
}

// askMany sends n different requests at once and compares the replies.
func askMany(t *testing.T, n int, of func(int) transport.Requester) {
	t.Helper()
	ctx := within(t)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			body := fmt.Appendf(nil, "request %d", i)
			if reply, err := of(i).Do(ctx, body); err != nil || !bytes.Equal(reply, body) {
				t.Errorf("Do(%s) = %q, %v", body, reply, err)
			}
		})
	}
	wg.Wait()
}

func bigMessages(t *testing.T, tr Transport) {
	s, run := replier(t, tr, transport.Options{Limits: transport.Limits{MaxUntrusted: 32 << 20}},
		echo)
	defer run.stop()
	q := requester(t, tr, quick(s.Addr()))
	defer end(t, q)
	body := strings.Repeat("0123456789abcdef", 1<<20)
	if ask(t, q, body) != body {
		t.Error("16 MiB came back changed")
	}
}

func limits(t *testing.T, tr Transport) {
	trust := func(_ context.Context, r transport.Request) {
		if string(r.Body()) == "it is me" {
			r.Trust()
		}
		_ = r.Reply(r.Body()[:1])
	}
	s, run := replier(t, tr, transport.Options{Limits: transport.Limits{MaxUntrusted: 1000,
		MaxMessage: 5000}}, trust)
	defer run.stop()
	q := requester(t, tr, quick(s.Addr()))
	defer end(t, q)
	refused := func(n int) {
		t.Helper()
		if _, err := q.Do(within(t), make([]byte, n)); !errors.Is(err, transport.ErrDisconnected) {
			t.Errorf("%d bytes: %v, want ErrDisconnected", n, err)
		}
	}
	refused(2000)
	ask(t, q, strings.Repeat("x", 900))
	ask(t, q, "it is me")
	ask(t, q, strings.Repeat("x", 4900))
	refused(6000)
	if got := s.Stats().TooLarge; got != 2 {
		t.Errorf("TooLarge = %d, want 2", got)
	}
	other := requester(t, tr, quick(s.Addr()))
	defer end(t, other)
	ask(t, other, strings.Repeat("x", 4900)) // the address is known by now
}

func session(t *testing.T, tr Transport) {
	count := func(_ context.Context, r transport.Request) {
		n, _ := r.Session().(int)
		r.SetSession(n + 1)
		_ = r.Reply(fmt.Append(nil, n))
	}
	s, run := replier(t, tr, transport.Options{}, count)
	defer run.stop()
	for range 2 {
		q := requester(t, tr, quick(s.Addr()))
		if first, second := ask(t, q, "a"), ask(t, q, "b"); first != "0" || second != "1" {
			t.Errorf("sessions %s, %s, want 0, 1", first, second)
		}
		end(t, q)
	}
}

func unanswered(t *testing.T, tr Transport) {
	s, run := replier(t, tr, transport.Options{}, func(context.Context, transport.Request) {})
	defer run.stop()
	q := requester(t, tr, quick(s.Addr()))
	defer end(t, q)
	if _, err := q.Do(within(t), []byte("x")); !errors.Is(err, transport.ErrDisconnected) {
		t.Errorf("Do = %v, want ErrDisconnected", err)
	}
	if got := s.Stats().Unanswered; got != 1 {
		t.Errorf("Unanswered = %d, want 1", got)
	}
}

func panics(t *testing.T, tr Transport) {
	s, run := replier(t, tr, transport.Options{Workers: 1},
		func(ctx context.Context, r transport.Request) {
			if string(r.Body()) == "boom" {
				panic("boom")
			}
			echo(ctx, r)
		})
	defer run.stop()
	q := requester(t, tr, quick(s.Addr()))
	defer end(t, q)
	if _, err := q.Do(within(t), []byte("boom")); !errors.Is(err, transport.ErrDisconnected) {
		t.Errorf("Do = %v, want ErrDisconnected", err)
	}
	ask(t, q, "still there")
	if got := s.Stats().Panics; got != 1 {
		t.Errorf("Panics = %d, want 1", got)
	}
}

func secondReply(t *testing.T, tr Transport) {
	second := make(chan error, 1)
	s, run := replier(t, tr, transport.Options{}, func(ctx context.Context, r transport.Request) {
		echo(ctx, r)
		second <- r.Reply([]byte("again"))
	})
	defer run.stop()
	q := requester(t, tr, quick(s.Addr()))
	defer end(t, q)
	ask(t, q, "once")
	if err := <-second; !errors.Is(err, transport.ErrReplied) {
		t.Errorf("second Reply = %v, want ErrReplied", err)
	}
}

// fullPool checks that more requests than workers wait and are all answered, and that no more run
// than allowed.
func fullPool(t *testing.T, tr Transport) {
	var running, most atomic.Int32
	gate := make(chan struct{})
	s, run := replier(t, tr, transport.Options{Workers: 3},
		func(ctx context.Context, r transport.Request) {
			n := running.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			<-gate
			running.Add(-1)
			echo(ctx, r)
		})
	defer run.stop()
	clients := make([]transport.Requester, 10)
	for i := range clients {
		clients[i] = requester(t, tr, quick(s.Addr()))
		defer end(t, clients[i])
	}
	go func() {
		eventually(t, "three handlers", func() bool { return running.Load() == 3 })
		close(gate)
	}()
	askMany(t, 100, func(i int) transport.Requester { return clients[i%len(clients)] })
	if got := most.Load(); got != 3 {
		t.Errorf("%d handlers at once, want 3", got)
	}
}

func deadline(t *testing.T, tr Transport) {
	gate := make(chan struct{})
	s, run := replier(t, tr, transport.Options{}, func(ctx context.Context, r transport.Request) {
		if string(r.Body()) == "slow" {
			<-gate
		}
		echo(ctx, r)
	})
	defer run.stop()
	q := requester(t, tr, quick(s.Addr()))
	defer end(t, q)
	ask(t, q, "connected")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := q.Do(ctx, []byte("slow")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Do = %v, want DeadlineExceeded", err)
	}
	close(gate)
	if got := ask(t, q, "next"); got != "next" {
		t.Errorf("the next request got %q", got)
	}
	if got := s.Stats().Accepted; got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}

// freeAddress returns an address that nobody listens on.
func freeAddress(t *testing.T) net.Addr {
	t.Helper()
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: freeport.One(t)}
}

func lateServer(t *testing.T, tr Transport) {
	addr := freeAddress(t)
	tried := make(chan error, 1)
	d := quick(addr)
	d.OnState = func(up bool, err error) {
		if !up && err != nil {
			select {
			case tried <- err:
			default:
			}
		}
	}
	q := requester(t, tr, d)
	defer end(t, q)
	<-tried
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := q.Do(ctx, []byte("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Do without a server = %v, want DeadlineExceeded", err)
	}
	_, run := replierAt(t, tr, endpoint(addr), transport.Options{}, echo)
	defer run.stop()
	ask(t, q, "there you are")
}

// hurry checks that a requester that rests for an hour after it has found no server can be told
// that there is one.
func hurry(t *testing.T, tr Transport) {
	addr := freeAddress(t)
	tried := make(chan error, 1)
	q := requester(t, tr, transport.Dialer{Addr: endpoint(addr), BackoffMin: time.Hour,
		OnState: func(up bool, err error) {
			if !up {
				tried <- err
			}
		}})
	defer end(t, q)
	<-tried
	_, run := replierAt(t, tr, endpoint(addr), transport.Options{}, echo)
	defer run.stop()
	q.(transport.Hurrier).Hurry()
	ask(t, q, "there you are")
}

func restartReplier(t *testing.T, tr Transport) {
	began := make(chan struct{}, 1)
	hang := func(ctx context.Context, r transport.Request) {
		if string(r.Body()) != "hang" {
			echo(ctx, r)
			return
		}
		began <- struct{}{}
		<-ctx.Done()
	}
	s, run := replier(t, tr, transport.Options{Linger: -1}, hang)
	d := quick(s.Addr())
	states := record(&d)
	q := requester(t, tr, d)
	defer end(t, q)
	ask(t, q, "one")
	lost := make(chan error, 1)
	go func() {
		_, err := q.Do(context.Background(), []byte("hang"))
		lost <- err
	}()
	<-began
	run.stop()
	if err := <-lost; !errors.Is(err, transport.ErrDisconnected) {
		t.Errorf("request in work = %v, want ErrDisconnected", err)
	}
	_, run = replierAt(t, tr, endpoint(s.Addr()), transport.Options{}, echo)
	defer run.stop()
	ask(t, q, "two")
	if got := states(); !slices.Equal(got, []bool{true, false, true}) {
		t.Errorf("states %v, want up, down, up", got)
	}
}

// record notes what a dialer's OnState is told.
func record(d *transport.Dialer) func() []bool {
	var mu sync.Mutex
	var states []bool
	d.OnState = func(up bool, _ error) {
		mu.Lock()
		defer mu.Unlock()
		states = append(states, up)
	}
	return func() []bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(states)
	}
}

func drainReplies(t *testing.T, tr Transport) {
	began, gate := make(chan struct{}), make(chan struct{})
	s, run := replier(t, tr, transport.Options{Linger: patience},
		func(ctx context.Context, r transport.Request) {
			close(began)
			<-gate
			echo(ctx, r)
		})
	q := requester(t, tr, quick(s.Addr()))
	defer end(t, q)
	type result struct {
		body []byte
		err  error
	}
	got := make(chan result, 1)
	go func() {
		body, err := q.Do(context.Background(), []byte("last words"))
		got <- result{body, err}
	}()
	<-began
	run.cancel()
	close(gate)
	if r := <-got; r.err != nil || string(r.body) != "last words" {
		t.Errorf("Do = %q, %v", r.body, r.err)
	}
	run.stop()
}

func closeEarly(t *testing.T, tr Transport) {
	s, err := tr.ListenReply(t.Context(), "tcp://127.0.0.1:0", transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := tr.ListenPub(t.Context(), "tcp://127.0.0.1:0", transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Publish(transport.Message{Body: []byte("to nobody")})
	if err := errors.Join(s.Close(), p.Close()); err != nil {
		t.Errorf("Close = %v", err)
	}
}

func unixSockets(t *testing.T, tr Transport) {
	if !slices.Contains(tr.Schemes, "ipc") {
		t.Log("the transport has no unix sockets")
		return
	}
	path := "ipc://" + filepath.Join(t.TempDir(), "s.ipc")
	_, run := replierAt(t, tr, path, transport.Options{}, echo)
	q := requester(t, tr, transport.Dialer{Addr: path, BackoffMin: time.Millisecond})
	defer end(t, q)
	ask(t, q, "hello")
	if _, err := tr.ListenReply(t.Context(), path, transport.Options{}); err == nil {
		t.Error("a socket in use was bound again")
	}
	run.stop()
}
