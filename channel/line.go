package channel

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"

	"github.com/brineproject/brine/transport"
)

// errBusy is returned for a sign-in that finds no place in the line, or that has waited too long.
var errBusy = errors.New("too many sign-ins at once")

// Limits of a line: waiting sign-ins, and the total bytes of their requests.
const (
	lineLength = 8192
	lineBytes  = 32 << 20
)

// A line is the waiting line of sign-ins. The source networks take turns, so that many sign-ins
// from one address do not delay others. If the line is full, the source that uses most of the
// scarce resource, places or bytes, loses some of its places.
type line struct {
	mu     sync.Mutex
	free   int // free turns
	length int
	bytes  int
	order  []netip.Prefix // waiting sources, the next one first
	queues map[netip.Prefix]*queue
}

// A queue has the waiting sign-ins of one source.
type queue struct {
	places []*place // never empty
	bytes  int
}

// A place is a waiting sign-in. Its channel is closed when its turn comes, or with err set if it
// lost its place.
type place struct {
	from  netip.Prefix
	size  int
	ready chan struct{}
	err   error
}

// newLine returns a line that runs the given number of sign-ins at once.
func newLine(turns int) *line {
	return &line{free: turns, queues: map[netip.Prefix]*queue{}}
}

// join takes a turn, or a place to wait for one. If the error is errBusy, no other sign-in has lost
// its place.
func (l *line) join(from netip.Addr, size int) (*place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &place{from: transport.NetworkOf(from), size: size, ready: make(chan struct{})}
	if l.free > 0 {
		l.free--
		close(p.ready)
		return p, nil
	}
	if !l.makeRoom(p) {
		return nil, errBusy
	}
	q := l.queues[p.from]
	if q == nil {
		q = &queue{}
		l.queues[p.from], l.order = q, append(l.order, p.from)
	}
	q.places, q.bytes = append(q.places, p), q.bytes+size
	l.length, l.bytes = l.length+1, l.bytes+size
	return p, nil
}

// makeRoom makes room for p if the line is full, and reports whether there is room.
func (l *line) makeRoom(p *place) bool {
	if p.size > lineBytes {
		return false
	}
	if l.bytes+p.size > lineBytes {
		return l.shorten(p, func(q *queue) int { return q.bytes }, p.size)
	}
	return l.length < lineLength || l.shorten(p, func(q *queue) int { return len(q.places) }, 1)
}

// shorten drops the last places of the source with the highest measure until there is room for p.
// It does nothing if the source of p would then have as much. A source with more than p needs has
// enough places to make room on its own.
func (l *line) shorten(p *place, measure func(*queue) int, need int) bool {
	var most *queue
	for from, q := range l.queues {
		if from != p.from && (most == nil || measure(q) > measure(most)) {
			most = q
		}
	}
	if own := l.queues[p.from]; own != nil {
		need += measure(own)
	}
	if most == nil || measure(most) <= need {
		return false
	}
	for l.length >= lineLength || l.bytes+p.size > lineBytes {
		last := most.places[len(most.places)-1]
		l.drop(last)
		last.err = errBusy
		close(last.ready)
	}
	return true
}

// drop removes a place from the line.
func (l *line) drop(p *place) {
	q := l.queues[p.from]
	i := slices.Index(q.places, p)
	q.places, q.bytes = slices.Delete(q.places, i, i+1), q.bytes-p.size
	l.length, l.bytes = l.length-1, l.bytes-p.size
	if len(q.places) > 0 {
		return
	}
	delete(l.queues, p.from)
	i = slices.Index(l.order, p.from)
	l.order = slices.Delete(l.order, i, i+1)
}

// wait waits for the turn of a place. If ctx ends first, the place is removed. The error is errBusy
// or that of ctx.
func (l *line) wait(ctx context.Context, p *place) error {
	select {
	case <-p.ready:
		return p.err
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-p.ready: // the turn came at the same moment
		if p.err == nil {
			l.pass()
		}
	default:
		l.drop(p)
	}
	return ctx.Err()
}

// leave ends a turn and starts the next one.
func (l *line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pass()
}

// pass starts the next turn: that of the first source, which then moves to the end of the order.
func (l *line) pass() {
	if len(l.order) == 0 {
		l.free++
		return
	}
	next := l.queues[l.order[0]].places[0]
	l.drop(next)
	if l.queues[next.from] != nil {
		l.order = append(l.order[1:], next.from)
	}
	close(next.ready)
}
