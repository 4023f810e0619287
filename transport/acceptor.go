package transport

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// crowded is the age from which a handshake is given up to make room when all places are taken.
const crowded = time.Second

// An Acceptor takes connections from a listener within the limits on connections and handshakes. Transports build
// their servers on it; its fields are set before Serve and not changed.
type Acceptor struct {
	Listener  net.Listener
	Limits    Limits // with the defaults filled in
	KeepAlive KeepAlive
	Counters  *Counters
	Log       logrus.FieldLogger // nil logs nothing
	Crowd     *Crowd             // of several servers; nil bounds nothing
	Subscribe bool               // the peers are subscribers

	mu      sync.Mutex
	open    int
	sources map[netip.Addr]int
	waiting list.List // *Handshake, oldest first
	freed   chan struct{}
}

// A Handshake is the place of a new connection among those that are not peers yet.
type Handshake struct {
	conn  net.Conn
	since time.Time
	owner *Acceptor
	place *list.Element
}

// Done gives the place back; it may be called again.
func (h *Handshake) Done() {
	h.owner.mu.Lock()
	defer h.owner.mu.Unlock()
	h.owner.leave(h)
}

func (a *Acceptor) leave(h *Handshake) {
	if h.place == nil {
		return
	}
	a.waiting.Remove(h.place)
	h.place = nil
	select {
	case a.freed <- struct{}{}:
	default:
	}
}

// Serve hands each connection to serve on a goroutine of its own, until ctx ends or the listener is closed. It closes
// the listener, and returns when no more connection will be handed out; those that were are counted in wg.
// serve owns its connection, and calls Done when the handshake is over.
func (a *Acceptor) Serve(ctx context.Context, wg *sync.WaitGroup, serve func(net.Conn, *Handshake)) {
	a.freed = make(chan struct{}, 1)
	a.sources = map[netip.Addr]int{}
	stop := context.AfterFunc(ctx, func() { a.Listener.Close() })
	defer stop()
	defer a.Listener.Close()
	for pause := time.Duration(0); a.room(ctx); {
		conn, err := a.Listener.Accept()
		switch {
		case err == nil:
			pause = 0
			a.admit(conn, wg, serve)
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return
		default:
			pause = a.rest(ctx, pause, err)
		}
	}
}

// rest waits a little longer each time, so that running out of descriptors does not become a busy loop.
func (a *Acceptor) rest(ctx context.Context, pause time.Duration, err error) time.Duration {
	if pause == 0 && a.Log != nil {
		a.Log.WithError(err).Warnf("cannot accept connections on %s", a.Listener.Addr())
	}
	pause = min(max(2*pause, 5*time.Millisecond), time.Second)
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
	return pause
}

// room waits for a place among the handshakes. Connections that wait meanwhile do so in the kernel's queue.
func (a *Acceptor) room(ctx context.Context) bool {
	for ctx.Err() == nil {
		wait, full := a.makeRoom()
		if !full {
			return true
		}
		select {
		case <-ctx.Done():
		case <-a.freed:
		case <-time.After(wait):
		}
	}
	return false
}

// makeRoom closes the oldest handshake if all places are taken and it has had its time, and else says how long that takes.
func (a *Acceptor) makeRoom() (wait time.Duration, full bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Limits.MaxHandshakes < 0 || a.waiting.Len() < a.Limits.MaxHandshakes {
		return 0, false
	}
	oldest := a.waiting.Front().Value.(*Handshake)
	if wait = crowded - time.Since(oldest.since); wait > 0 {
		return wait, true
	}
	oldest.conn.Close()
	a.leave(oldest)
	return 0, false
}

func (a *Acceptor) admit(conn net.Conn, wg *sync.WaitGroup, serve func(net.Conn, *Handshake)) {
	source := SourceOf(conn.RemoteAddr())
	place := a.Crowd.Enter(conn, source, a.Subscribe)
	var h *Handshake
	if place != nil {
		h = a.enter(conn, source)
	}
	if h == nil {
		a.Counters.Refused.Add(1)
		conn.Close()
		place.Leave()
		return
	}
	a.Counters.Accepted.Add(1)
	a.tune(conn)
	wg.Go(func() {
		defer place.Leave()
		defer a.exit(source, h)
		serve(conn, h)
	})
}

func (a *Acceptor) tune(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(a.KeepAlive.Config()) // a connection that is gone by now says so when read
		SetUserTimeout(conn, a.Limits.WriteStall)
	}
}

func (a *Acceptor) enter(conn net.Conn, source netip.Addr) *Handshake {
	a.mu.Lock()
	defer a.mu.Unlock()
	if Over(a.open+1, a.Limits.MaxConns) || source.IsValid() && Over(a.sources[source]+1, a.Limits.MaxPerSource) {
		return nil
	}
	a.open++
	if source.IsValid() {
		a.sources[source]++
	}
	h := &Handshake{conn: conn, since: time.Now(), owner: a}
	h.place = a.waiting.PushBack(h)
	return h
}

func (a *Acceptor) exit(source netip.Addr, h *Handshake) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leave(h)
	a.open--
	if a.sources[source]--; a.sources[source] <= 0 {
		delete(a.sources, source)
	}
}

// Open returns the number of connections there are.
func (a *Acceptor) Open() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open
}

// SourceOf returns the host part of an address; the zero Addr for one that has none, such as a unix socket's.
func SourceOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}
