package pki

import (
	"errors"
	"sync"
	"time"
)

// ErrTooOften is wrapped if a denied key is not stored because too many different ones came for the
// same id.
var ErrTooOften = errors.New("too many different keys for this id in a minute")

const (
	denialsAMinute = 5
	denialsKept    = 1 << 14 // ids
)

// denials limits how often denied keys of an id are written, so that a client that sends ever new
// keys cannot keep the disk busy.
type denials struct {
	mu    sync.Mutex
	since time.Time
	count map[string]int // keys in the current minute
}

// allow reports whether another key may be written for id.
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
