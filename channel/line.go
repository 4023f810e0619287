package channel

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"

	"github.com/brineproject/brine/transport"
)

// errBusy is returned for a sign-in for which there is no place, or that has waited too long.
var errBusy = errors.New("too many sign-ins at once")

// What may wait in a line: sign-ins, and the bytes of their requests.
const (
	lineLength = 8192
	lineBytes  = 32 << 20
)

// A line is where sign-ins wait for their turn. The sources that they come from take turns, so that a crowd behind one address
// holds up no other; where there is no room, the source that has most of what is short, places or bytes, gives some back.
type line struct {
	mu     sync.Mutex
	free   int // turns
	length int
	bytes  int
	order  []netip.Prefix // those that wait, the next one first
	queues map[netip.Prefix]*queue
}

// A queue is what waits of one source.
type queue struct {
	places []*place // never none
	bytes  int
}

// A place in the line. Its channel is closed when the turn has come, or with err when there is none.
type place struct {
	from  netip.Prefix
	size  int
	ready chan struct{}
	err   error
}

// newLine returns a line with so many turns at once.
func newLine(turns int) *line {
	return &line{free: turns, queues: map[netip.Prefix]*queue{}}
}

// join takes a turn, or a place to wait for one. The error is errBusy; then nobody has lost a place.
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

// makeRoom sends away the last of one source where there is no room for p. It reports whether there is some then.
func (l *line) makeRoom(p *place) bool {
	if p.size > lineBytes {
		return false
	}
	if l.bytes+p.size > lineBytes {
		return l.shorten(p, func(q *queue) int { return q.bytes }, p.size)
	}
	return l.length < lineLength || l.shorten(p, func(q *queue) int { return len(q.places) }, 1)
}

// shorten sends away the last ones of the source that has most by a measure, until there is room, unless that of p would have as
// much with it. Whoever has more than p needs has enough to make room by himself.
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

// drop takes a place out of the line, in which it is.
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

// wait waits for the turn of a place, which is given up when ctx ends. The error is errBusy or that of ctx.
func (l *line) wait(ctx context.Context, p *place) error {
	select {
	case <-p.ready:
		return p.err
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-p.ready: // at the same moment
		if p.err == nil {
			l.pass()
		}
	default:
		l.drop(p)
	}
	return ctx.Err()
}

// leave ends a turn, which goes to the next.
func (l *line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pass()
}

// pass gives a turn to the first of the source whose turn it is, and puts that source last.
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
