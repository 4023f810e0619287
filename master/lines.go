package master

import (
	"context"
	"sync"
)

// lines are queues, one for each subject. Work on the same subject is done one after the other, in the order
// of the calls of join.
type lines struct {
	mu   sync.Mutex
	last map[string]chan struct{} // by subject; closed when the last one in the line has had its turn
}

// A standing is a place in a line.
type standing struct {
	of      *lines
	subject string
	before  <-chan struct{} // nil if it is the first
	ended   chan struct{}
}

// join returns the last place in the line of a subject. The caller ends it.
func (l *lines) join(subject string) *standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &standing{of: l, subject: subject, before: l.last[subject], ended: make(chan struct{})}
	if l.last == nil {
		l.last = map[string]chan struct{}{}
	}
	l.last[subject] = s.ended
	return s
}

// await returns true when it is the first in its line, or false if ctx ends before.
func (s *standing) await(ctx context.Context) bool {
	if s.before == nil {
		return true
	}
	select {
	case <-s.before:
		return true
	case <-ctx.Done():
		return false
	}
}

// end lets the next one in the line go on.
func (s *standing) end() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	close(s.ended)
	if s.of.last[s.subject] == s.ended {
		delete(s.of.last, s.subject)
	}
}
