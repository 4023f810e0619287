package pki

import (
	"errors"
	"sync"
	"time"
)

// ErrTooOften is wrapped when another key for the same id is not stored, since many came before it.
var ErrTooOften = errors.New("too many different keys for this id in a minute")

const (
	denialsAMinute = 5
	denialsKept    = 1 << 14 // ids
)

// denials bounds how often the denied key of an id is written: who sends another key each time must not keep the disk busy.
type denials struct {
	mu    sync.Mutex
	since time.Time
	count map[string]int // in this minute
}

// allow reports whether one more key may be written for id.
func (d *denials) allow(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := time.Now(); d.count == nil || now.Sub(d.since) >= time.Minute {
		d.since, d.count = now, map[string]int{}
	}
	if d.count[id] >= denialsAMinute || d.count[id] == 0 && len(d.count) >= denialsKept {
		return false
	}
	d.count[id]++
	return true
}
