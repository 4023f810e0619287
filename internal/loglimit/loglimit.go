// Package loglimit limits how often similar lines are logged.
package loglimit

import (
	"cmp"
	"fmt"
	"sync"
	"time"
)

// maxSubjects is the number of subjects that a Limiter remembers.
const maxSubjects = 4096

// A Limiter allows one log line per subject and period, and counts the lines in between. The zero
// Limiter allows one a minute. It remembers 4096 subjects; if that is exceeded it forgets those
// whose pause is over, or else all. Several goroutines may use it.
type Limiter struct {
	Pause time.Duration    // minimum time between two lines of a subject; 0 means a minute
	Free  int              // number of initial lines of a subject that are always allowed
	Now   func() time.Time // nil means time.Now

	mu       sync.Mutex
	subjects map[string]*subject
}

type subject struct {
	last    time.Time // when a line was last allowed
	lines   int
	skipped int // lines since then
}

// Allow reports whether a line of a subject may be logged now, and how many were skipped since the
// last one.
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

// First is Allow for lines that do not report the number of skipped ones.
func (l *Limiter) First(name string) bool {
	_, ok := l.Allow(name)
	return ok
}

// Warnf logs a warning of a subject if Allow allows it, and adds how many were skipped since the
// last one. The formatted text must not end with a period.
func (l *Limiter) Warnf(log Warner, name, format string, args ...any) {
	skipped, ok := l.Allow(name)
	switch {
	case !ok:
	case skipped == 0:
		log.Warnf("%s", fmt.Sprintf(format, args...))
	default:
		log.Warnf("%s (%d more since the last warning)", fmt.Sprintf(format, args...), skipped)
	}
}

// A Warner logs warnings.
type Warner interface {
	Warnf(format string, args ...any)
}

func (l *Limiter) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}

// over reports whether the pause of a subject is over. Setting the clock back ends it.
func (l *Limiter) over(s *subject, now time.Time) bool {
	return now.Sub(s.last) >= cmp.Or(l.Pause, time.Minute) || now.Before(s.last)
}

// add adds a new subject.
func (l *Limiter) add(name string, now time.Time) *subject {
	if len(l.subjects) >= maxSubjects {
		for other, s := range l.subjects {
			if l.over(s, now) {
				delete(l.subjects, other)
			}
		}
	}
	if l.subjects == nil || len(l.subjects) >= maxSubjects {
		l.subjects = map[string]*subject{}
	}
	s := &subject{}
	l.subjects[name] = s
	return s
}
