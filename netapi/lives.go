package netapi

import (
	"sync"
	"time"
)

const (
	askEvery  = time.Second // how long an answer about a token counts
	mostLives = 10_000      // answers that are kept
)

// lives remembers for a moment whether tokens are valid, so that each event of each stream does not read
// the file of a token.
type lives struct {
	now func() time.Time
	ask func(token string) bool

	mu    sync.Mutex
	known map[string]life
}

// A life is an answer about a token.
type life struct {
	valid bool
	until time.Time // asked again from then on
}

// valid reports whether a token that was valid before still is.
func (l *lives) valid(token string) bool {
	claimed, fresh := l.claim(token)
	if fresh {
		return claimed.valid
	}
	valid := l.ask(token)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[token] == claimed { // else it was forgotten while it was asked about
		l.known[token] = life{valid, claimed.until}
	}
	return valid
}

// claim returns what is known of a token. If that is too old, the caller must ask, and others get the old
// answer meanwhile.
func (l *lives) claim(token string) (claimed life, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	known, ok := l.known[token]
	if ok && now.Before(known.until) {
		return known, true
	}
	if !ok && len(l.known) >= mostLives {
		clear(l.known)
	}
	claimed = life{!ok || known.valid, now.Add(askEvery)}
	l.known[token] = claimed
	return claimed, false
}

// forget makes the next question about a token ask again.
func (l *lives) forget(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, token)
}
