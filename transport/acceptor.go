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
	waiting list.List // *Arrival, oldest first
	freed   chan struct{}
}

// An Arrival is what a connection takes of the limits: a place among those that are not peers yet, until Done, and one among
// all connections, until End.
type Arrival struct {
	conn   net.Conn
	since  time.Time
	owner  *Acceptor
	source netip.Addr
	place  *list.Element // among the handshakes
	crowd  *Place
	all    *sync.WaitGroup
}

// Done says that the handshake is over; it may be called again.
func (h *Arrival) Done() {
	h.owner.mu.Lock()
	defer h.owner.mu.Unlock()
	h.owner.leave(h)
}

// End says that the connection has ended and nothing works for it any more. It is called once.
func (h *Arrival) End() {
	h.owner.exit(h)
	h.crowd.Leave()
	h.all.Done()
}

func (a *Acceptor) leave(h *Arrival) {
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
// the listener, and returns when no more connection will be handed out; those that were are counted in wg until they End.
// serve owns its connection; it, or who it hands the connection to, calls Done when the handshake is over, and End at last.
func (a *Acceptor) Serve(ctx context.Context, wg *sync.WaitGroup, serve func(net.Conn, *Arrival)) {
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
	oldest := a.waiting.Front().Value.(*Arrival)
	if wait = crowded - time.Since(oldest.since); wait > 0 {
		return wait, true
	}
	oldest.conn.Close()
	a.leave(oldest)
	return 0, false
}

func (a *Acceptor) admit(conn net.Conn, wg *sync.WaitGroup, serve func(net.Conn, *Arrival)) {
	source := SourceOf(conn.RemoteAddr())
	place := a.Crowd.Enter(conn, source, a.Subscribe)
	var h *Arrival
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
	h.crowd, h.all = place, wg
	wg.Add(1)
	go serve(conn, h)
}

func (a *Acceptor) tune(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(a.KeepAlive.Config()) // a connection that is gone by now says so when read
		SetUserTimeout(conn, a.Limits.WriteStall)
	}
}

func (a *Acceptor) enter(conn net.Conn, source netip.Addr) *Arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	if Over(a.open+1, a.Limits.MaxConns) || source.IsValid() && Over(a.sources[source]+1, a.Limits.MaxPerSource) {
		return nil
	}
	a.open++
	if source.IsValid() {
		a.sources[source]++
	}
	h := &Arrival{conn: conn, since: time.Now(), owner: a, source: source}
	h.place = a.waiting.PushBack(h)
	return h
}

func (a *Acceptor) exit(h *Arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leave(h)
	a.open--
	if a.sources[h.source]--; a.sources[h.source] <= 0 {
		delete(a.sources, h.source)
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

// HostOf returns the host of an address, without its port, and nothing for none.
func HostOf(a net.Addr) string {
	if a == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}
