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

// crowded is the age from which a handshake may be aborted to make room when all places are taken.
const crowded = time.Second

// An Acceptor accepts connections within the limits on connections and handshakes. Transports build
// their servers on it. Its fields must be set before Serve and not changed afterwards.
type Acceptor struct {
	Listener  net.Listener
	Limits    Limits // with defaults filled in
	KeepAlive KeepAlive
	Counters  *Counters
	Log       logrus.FieldLogger // nil means no log
	Crowd     *Crowd             // shared by several servers; nil means no limit
	Subscribe bool               // the peers are subscribers

	mu      sync.Mutex
	open    int
	sources map[netip.Addr]int
	waiting list.List // *Arrival, oldest first
	freed   chan struct{}
}

// An Arrival tracks what a connection counts against: the limit of handshakes until Done, and the
// limit of connections until End.
type Arrival struct {
	conn   net.Conn
	since  time.Time
	owner  *Acceptor
	source netip.Addr
	place  *list.Element // among the handshakes
	crowd  *Place
	all    *sync.WaitGroup
}

// Done marks the end of the handshake. It may be called repeatedly.
func (h *Arrival) Done() {
	h.owner.mu.Lock()
	defer h.owner.mu.Unlock()
	h.owner.leave(h)
}

// End marks the end of the connection and of all work for it. It must be called once.
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

// Serve accepts connections and calls serve for each on its own goroutine, until ctx ends or the
// listener is closed. It closes the listener and returns once it makes no more calls; wg counts the
// connections until their End. serve owns its connection. It, or the code it passes the connection
// to, must call Done when the handshake is over and End at last.
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

// rest pauses after an accept error, longer each time, so that running out of descriptors does not
// cause a busy loop.
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

// room waits for a free handshake place. New connections stay in the kernel's queue meanwhile.
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

// makeRoom closes the oldest handshake if all places are taken and it is old enough; otherwise it
// returns how long to wait.
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
		// fails on a closed connection, which the next read reports
		_ = tcp.SetKeepAliveConfig(a.KeepAlive.Config())
		SetUserTimeout(conn, a.Limits.WriteStall)
	}
}

func (a *Acceptor) enter(conn net.Conn, source netip.Addr) *Arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	if Over(a.open+1, a.Limits.MaxConns) || source.IsValid() &&
		Over(a.sources[source]+1, a.Limits.MaxPerSource) {
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

// Open returns the number of open connections.
func (a *Acceptor) Open() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open
}

// SourceOf returns the host part of an address, or the zero Addr if it has none, as for a unix
// socket.
func SourceOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// HostOf returns the host of an address without its port, or "" if there is none.
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
