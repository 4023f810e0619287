package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

const (
	hookPatience   = 5 * time.Second  // how long the master may take to take an event
	replayWindow   = 10 * time.Minute // for which a signed delivery is remembered
	mostDeliveries = 10_000           // that are remembered
)

// Hooks fire the events of hooks. A signed delivery fires one event, however often it is sent within ten
// minutes: somebody may have read it on its way. It is known by its signature, because the header
// X-GitHub-Delivery is not signed.
type Hooks struct {
	fire func(ctx context.Context, tag string, body *data.Map) error
	now  func() time.Time
	open openHooks

	mu    sync.Mutex
	seen  map[string]time.Time
	order []string // of seen, the oldest first
}

// NewHooks returns Hooks. now may be nil.
func NewHooks(fire func(ctx context.Context, tag string, body *data.Map) error, now func() time.Time) *Hooks {
	if now == nil {
		now = time.Now
	}
	return &Hooks{fire: fire, now: now, open: openHooks{now: now}, seen: map[string]time.Time{}}
}

// Fire fires the event of a hook whose request has passed CheckHook with the same secret. The error is a
// *netapi.Fault: 429 if neither the caller nor a secret says who sends the event, and there are many such;
// 409 for a delivery that was sent before, 503 if the master does not take the event.
func (h *Hooks) Fire(r *http.Request, c netapi.Caller, secret, tag string, body *data.Map) error {
	if c.Token == "" && secret == "" {
		if err := h.open.admit(c.From); err != nil {
			return err
		}
	}
	key, signed := "", false
	if secret != "" {
		key, signed = signature(r)
	}
	if signed && !h.remember(key) {
		return &netapi.Fault{Status: http.StatusConflict, Text: "This delivery has been received before"}
	}
	ctx, cancel := context.WithTimeout(r.Context(), hookPatience)
	defer cancel()
	if err := h.fire(ctx, tag, body); err != nil {
		if signed {
			h.forget(key) // the sender may try again
		}
		return &netapi.Fault{Status: http.StatusServiceUnavailable, Text: "Salt Master is not available.", Err: err}
	}
	return nil
}

// remember notes a delivery. It reports false for one that is noted already.
func (h *Hooks) remember(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	for len(h.order) > 0 {
		oldest := h.order[0]
		if at, ok := h.seen[oldest]; ok && now.Sub(at) < replayWindow && len(h.order) < mostDeliveries {
			break
		}
		h.order = h.order[1:]
		delete(h.seen, oldest)
	}
	if _, known := h.seen[key]; known {
		return false
	}
	h.seen[key] = now
	h.order = append(h.order, key)
	return true
}

func (h *Hooks) forget(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.seen, key)
	for i, one := range h.order {
		if one == key {
			h.order = append(h.order[:i:i], h.order[i+1:]...)
			return
		}
	}
}
