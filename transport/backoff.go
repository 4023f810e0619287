package transport

import (
	"context"
	"math/rand/v2"
	"time"
)

// A Backoff yields the pauses between connection attempts. They double from the first up to the
// longest.
type Backoff struct {
	min, max time.Duration
	jitter   bool
	next     time.Duration
}

// Backoff returns a Backoff with the dialer's pauses.
func (d *Dialer) Backoff() *Backoff {
	b := &Backoff{min: d.BackoffMin, max: d.BackoffMax, jitter: d.Jitter}
	fill(&b.min, time.Second)
	fill(&b.max, 10*time.Second)
	b.max = max(b.max, b.min)
	return b
}

// Reset restarts from the first pause.
func (b *Backoff) Reset() { b.next = 0 }

// Longest returns the longest pause.
func (b *Backoff) Longest() time.Duration { return b.max }

// Pause returns the next pause.
func (b *Backoff) Pause() time.Duration {
	b.next = min(max(2*b.next, b.min), b.max)
	if !b.jitter {
		return b.next
	}
	return rand.N(b.next) + 1
}

// Wait waits for the next pause, and returns false if ctx ends. A value from hurry ends the pause
// and resets the backoff; hurry may be nil.
func (b *Backoff) Wait(ctx context.Context, hurry Haste) bool {
	t := time.NewTimer(b.Pause())
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case said := <-hurry:
			if time.Since(said) >= hasteLife {
				continue
			}
			b.Reset()
		case <-t.C:
		}
		return true
	}
}
