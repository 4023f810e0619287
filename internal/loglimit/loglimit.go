// Package loglimit keeps a log from being filled with one kind of line.
package loglimit

import (
	"cmp"
	"sync"
	"time"
)

// mostSubjects is how many subjects a Limiter remembers.
const mostSubjects = 4096

// A Limiter allows one log line of each subject in a while, and counts the lines in between. The zero
// Limiter allows one a minute. It remembers 4096 subjects; when it is full it forgets those whose pause
// is over, or else all. Several goroutines may use it.
type Limiter struct {
	Pause time.Duration    // between two lines of a subject; 0 means a minute
	Free  int              // the first lines of a subject, which are always allowed
	Now   func() time.Time // nil means time.Now

	mu       sync.Mutex
	subjects map[string]*subject
}

type subject struct {
	last    time.Time // when a line was allowed
	lines   int
	skipped int // since then
}

// Allow reports whether a line of a subject may be logged now, and how many were not since the last one.
func (l *Limiter) Allow(name string) (skipped int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	s := l.subjects[name]
	if s == nil {
		s = l.add(name, now)
	}
	if s.lines > 0 && s.lines >= l.Free && !l.over(s, now) {
		s.skipped++
		return 0, false
	}
	skipped = s.skipped
	s.last, s.skipped = now, 0
	s.lines++
	return skipped, true
}

// First is Allow for lines that do not say how many were skipped.
func (l *Limiter) First(name string) bool {
	_, ok := l.Allow(name)
	return ok
}

func (l *Limiter) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}

// over reports whether the pause of a subject is over. A clock that was set back ends it.
func (l *Limiter) over(s *subject, now time.Time) bool {
	return now.Sub(s.last) >= cmp.Or(l.Pause, time.Minute) || now.Before(s.last)
}

// add remembers a new subject.
func (l *Limiter) add(name string, now time.Time) *subject {
	if len(l.subjects) >= mostSubjects {
		for other, s := range l.subjects {
			if l.over(s, now) {
				delete(l.subjects, other)
			}
		}
	}
	if l.subjects == nil || len(l.subjects) >= mostSubjects {
		l.subjects = map[string]*subject{}
	}
	s := &subject{}
	l.subjects[name] = s
	return s
}
