package master

import (
	"sync"
	"time"
)

// quiet keeps a log from being flooded from outside: each subject is told of once in a while, with how often it came
// up in between.
type quiet struct {
	pause time.Duration
	now   func() time.Time

	mu   sync.Mutex
	told map[string]*subject
}

type subject struct {
	at      time.Time // last told
	skipped int       // since then
}

// quietSubjects bounds what is remembered. When it is full those that may be told again are forgotten, else all.
const quietSubjects = 4096

func newQuiet(pause time.Duration, now func() time.Time) *quiet {
	return &quiet{pause: pause, now: now, told: map[string]*subject{}}
}

// allow reports whether the log may tell of name now, and how often it did not since the last time.
func (q *quiet) allow(name string) (skipped int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	s := q.told[name]
	switch {
	case s == nil:
		q.makeRoom(now)
		q.told[name] = &subject{at: now}
		return 0, true
	case now.Sub(s.at) < q.pause && !now.Before(s.at):
		s.skipped++
		return 0, false
	}
	skipped, s.at, s.skipped = s.skipped, now, 0
	return skipped, true
}

func (q *quiet) makeRoom(now time.Time) {
	if len(q.told) < quietSubjects {
		return
	}
	for name, s := range q.told {
		if now.Sub(s.at) >= q.pause {
			delete(q.told, name)
		}
	}
	if len(q.told) >= quietSubjects {
		clear(q.told)
	}
}
