// Package transporttest is the suite that every transport passes.
//
// A transport's test calls [Run] with its constructors. All of it happens on 127.0.0.1 and in
// temporary directories; each case also checks that no goroutine is left behind.
package transporttest

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/brineproject/brine/transport"
)

// A Transport is what the suite tests.
type Transport struct {
	ListenReply   func(ctx context.Context, endpoint string, o transport.Options) (transport.Replier, error)
	ListenPub     func(ctx context.Context, endpoint string, o transport.Options) (transport.Publisher, error)
	NewRequester  func(d transport.Dialer) transport.Requester
	NewSubscriber func(d transport.Dialer, topics ...string) transport.Subscriber
	// Filters says that subscribers get only what they subscribed to; a transport without sends
	// them everything.
	Filters bool
	// Hello are the bytes with which a client opens a connection, after which it may send messages.
	Hello []byte
	// Huge are the bytes that announce a message larger than any limit, after Hello; nil where they
	// cannot be known.
	Huge []byte
	// Schemes are the kinds of endpoint, "tcp" and "ipc".
	Schemes []string
	// Wrap and Unwrap turn any bytes into the body of a request or reply and back, where the
	// transport does not carry all bytes; nil changes nothing.
	Wrap, Unwrap func(b []byte) []byte
}

// Run runs the suite.
func Run(t *testing.T, tr Transport) {
	if tr.Wrap != nil {
		tr = wrapped(tr)
	}
	for _, c := range []struct {
		name string
		test func(*testing.T, Transport)
	}{
		{"requests and replies", requests},
		{"many requests at once over one connection", manyRequests},
		{"many clients", manyClients},
		{"big messages", bigMessages},
		{"limits of untrusted and trusted peers", limits},
		{"session belongs to the connection", session},
		{"handler that does not reply", unanswered},
		{"handler that panics", panics},
		{"second reply", secondReply},
		{"full pool of workers", fullPool},
		{"request with a deadline", deadline},
		{"requester waits for the server", lateServer},
		{"requester in a hurry", hurry},
		{"restart of the replier", restartReplier},
		{"replies go out at shutdown", drainReplies},
		{"publications to many", publications},
		{"topics", topics},
		{"stalled subscriber", stalledSubscriber},
		{"full queue", fullQueue},
		{"restart of the publisher", restartPublisher},
		{"publications go out at shutdown", drainPublications},
		{"garbage", garbage},
		{"huge announcement", huge},
		{"silent connections", silence},
		{"limit on connections", tooMany},
		{"close before serve", closeEarly},
		{"unix sockets", unixSockets},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			c.test(t, tr)
		})
	}
}

// patience is how long a test waits for what must happen; it bounds failures only.
const patience = 30 * time.Second

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for a condition that nothing announces.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// running is a server that serves until stopped.
type running struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan error
}

func serve(t *testing.T, run func(context.Context) error) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, cancel: cancel, done: make(chan error, 1)}
	go func() { r.done <- run(ctx) }()
	return r
}

// stop ends the server and waits for that.
func (r *running) stop() {
	r.t.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		if err != nil {
			r.t.Errorf("Serve = %v", err)
		}
	case <-time.After(patience):
		r.t.Fatal("Serve does not return")
	}
}

func echo(_ context.Context, r transport.Request) { _ = r.Reply(r.Body()) }

// replier starts one on a free port.
func replier(
	t *testing.T, tr Transport, o transport.Options, h transport.Handler,
) (transport.Replier, *running) {
	t.Helper()
	return replierAt(t, tr, "tcp://127.0.0.1:0", o, h)
}

func replierAt(
	t *testing.T, tr Transport, endpoint string, o transport.Options, h transport.Handler,
) (transport.Replier, *running) {
	t.Helper()
	s := listen(t, func() (transport.Replier, error) { return tr.ListenReply(t.Context(), endpoint, o) })
	return s, serve(t, func(ctx context.Context) error { return s.Serve(ctx, h) })
}

// listen opens a server. A port that was free a moment ago may be the source of somebody's
// connection: it is waited for.
func listen[S any](t *testing.T, open func() (S, error)) S {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s, err := open()
		if err == nil {
			return s
		}
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func publisher(
	t *testing.T, tr Transport, endpoint string, o transport.Options,
) (transport.Publisher, *running) {
	t.Helper()
	s := listen(t, func() (transport.Publisher, error) { return tr.ListenPub(t.Context(), endpoint, o) })
	return s, serve(t, s.Serve)
}

func endpoint(a net.Addr) string { return "tcp://" + a.String() }

// quick is a dialer that does not rest long.
func quick(a net.Addr) transport.Dialer {
	return transport.Dialer{Addr: endpoint(a), BackoffMin: time.Millisecond,
		BackoffMax: 20 * time.Millisecond}
}

func requester(t *testing.T, tr Transport, d transport.Dialer) transport.Requester {
	t.Helper()
	q := tr.NewRequester(d)
	return q
}

func end(t *testing.T, q transport.Requester) {
	t.Helper()
	if err := q.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}

func ask(t *testing.T, q transport.Requester, body string) string {
	t.Helper()
	reply, err := q.Do(within(t), []byte(body))
	if err != nil {
		t.Fatalf("Do(%.20q) = %v", body, err)
	}
	return string(reply)
}
