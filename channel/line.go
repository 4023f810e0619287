package channel

import (
	"context"
	"errors"
	"net/netip"
	"sync"
)

// errBusy is returned for a sign-in for which there is no place, or that has waited too long.
var errBusy = errors.New("too many sign-ins at once")

// What may wait in a line: sign-ins, and the bytes of their requests.
const (
	lineLength = 2048
	lineBytes  = 32 << 20
)

// A line is where sign-ins wait for their turn. The addresses that they come from take turns, so that a crowd behind one
// address holds up no other; where there is no room, the longest of their lines gets shorter.
type line struct {
	mu     sync.Mutex
	free   int // turns
	length int
	bytes  int
	order  []netip.Addr // those that wait, the next one first
	queues map[netip.Addr][]*place
}

// A place in the line. Its channel is closed when the turn has come, or with err when there is none.
type place struct {
	from  netip.Addr
	size  int
	ready chan struct{}
	err   error
}

// newLine returns a line with so many turns at once.
func newLine(turns int) *line {
	return &line{free: turns, queues: map[netip.Addr][]*place{}}
}

// join takes a turn, or a place to wait for one. The error is errBusy.
func (l *line) join(from netip.Addr, size int) (*place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &place{from: from, size: size, ready: make(chan struct{})}
	if l.free > 0 {
		l.free--
		close(p.ready)
		return p, nil
	}
	for l.length >= lineLength || l.bytes+size > lineBytes {
		if !l.shorten(from) {
			return nil, errBusy
		}
	}
	if len(l.queues[from]) == 0 {
		l.order = append(l.order, from)
	}
	l.queues[from] = append(l.queues[from], p)
	l.length, l.bytes = l.length+1, l.bytes+size
	return p, nil
}

// shorten sends away the last of the address that has the most places, unless the one that comes has as many.
func (l *line) shorten(comer netip.Addr) bool {
	longest := comer
	for from, waiting := range l.queues {
		if len(waiting) > len(l.queues[longest])+1 || longest != comer && len(waiting) > len(l.queues[longest]) {
			longest = from
		}
	}
	if longest == comer {
		return false
	}
	waiting := l.queues[longest]
	last := waiting[len(waiting)-1]
	l.drop(last)
	last.err = errBusy
	close(last.ready)
	return true
}

// drop takes a place out of the line.
func (l *line) drop(p *place) {
	waiting := l.queues[p.from]
	for i, other := range waiting {
		if other != p {
			continue
		}
		l.length, l.bytes = l.length-1, l.bytes-p.size
		waiting = append(waiting[:i:i], waiting[i+1:]...)
		break
	}
	if l.queues[p.from] = waiting; len(waiting) > 0 {
		return
	}
	delete(l.queues, p.from)
	for i, from := range l.order {
		if from == p.from {
			l.order = append(l.order[:i:i], l.order[i+1:]...)
			break
		}
	}
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

// pass gives a turn to the first of the address whose turn it is, and puts that address last.
func (l *line) pass() {
	if len(l.order) == 0 {
		l.free++
		return
	}
	next := l.queues[l.order[0]][0]
	l.drop(next)
	if len(l.queues[next.from]) > 0 {
		l.order = append(l.order[1:len(l.order):len(l.order)], next.from)
	}
	close(next.ready)
}
