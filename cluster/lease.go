package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
)

// ErrLeaseLost is wrapped by Leases.Run if the lease could not be renewed in time.
var ErrLeaseLost = errors.New("lease lost")

// Parts of a lease's time: how often it is renewed and looked at, and how long before its end the
// holder stops.
const (
	renewals = 5  // a renewal every fifth of the time
	looks    = 10 // a look every tenth of the time
	margin   = 5  // the holder stops a fifth of the time before the end
)

// A Token identifies one holding of a lease. Of two holdings the later has the larger Number.
type Token struct {
	Name   string // of the lease
	Number uint64
}

// Leases gives out leases: of all members, one at a time runs the work of a name.
//
// No clocks are compared. A holder counts from the start of the renewal that was acknowledged last;
// another member takes the lease after it has seen no renewal for the whole time, by its own
// monotonic clock. So the holder, which stops a fifth of the time earlier, is through before. A
// holder that was frozen meanwhile cannot notice this in time: steps that must not happen twice go
// through a [Fence].
type Leases struct {
	b    *bucket
	time time.Duration
}

// Leases returns the leases of the cluster.
func (c *Cluster) Leases() *Leases { return &Leases{c.bucket(forLeases), c.o.LeaseTime} }

// Time returns how long a lease lasts without a renewal.
func (l *Leases) Time() time.Duration { return l.time }

// leaseRecord is what the bucket has for a lease. Each write has a new revision.
type leaseRecord struct {
	Holding string `codec:"holding"` // "" if nobody holds it
	Member  string `codec:"member"`
}

// Run waits for the lease of a name, calls do, and gives the lease back when do returns. The context
// of do ends when ctx does, or before another member can take the lease. Run returns when do has
// returned: with the error of do, joined with ErrLeaseLost if the lease was lost. If ctx ends while
// it waits, Run returns the error of ctx.
func (l *Leases) Run(ctx context.Context, name string, do func(context.Context, Token) error) error {
	h, err := l.acquire(ctx, name)
	if err != nil {
		return fmt.Errorf("lease %s: %w", name, err)
	}
	working, stop := context.WithCancelCause(ctx)
	token := Token{Name: name, Number: h.revision}
	lost := make(chan error, 1)
	go func() { lost <- h.keep(working, stop) }()
	err = do(working, token)
	stop(context.Canceled)
	if loss := <-lost; loss != nil {
		return errors.Join(err, fmt.Errorf("lease %s: %w", name, loss))
	}
	h.release()
	return err
}

// acquire waits until the lease is free, or was not renewed for its time, and takes it.
func (l *Leases) acquire(ctx context.Context, name string) (*holding, error) {
	h := &holding{l: l, name: name, record: leaseRecord{Holding: rand.Text(), Member: l.b.c.o.Member}}
	var seen uint64
	var since time.Time
	for {
		v, err := l.b.get(ctx, name)
		if isForeign(err) { // a holder renews it, and what a stranger has written stays as it is
			err = nil
		}
		if now := time.Now(); err == nil && (since.IsZero() || v.revision != seen) {
			seen, since = v.revision, now
		}
		if err == nil && (free(v) || time.Since(since) >= l.time) {
			h.revision, h.start = v.revision, time.Now()
			err = h.write(ctx, h.record)
			if err == nil {
				return h, nil
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrUnavailable):
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(l.time / looks):
		}
	}
}

// free reports whether nobody holds a lease.
func free(v value) bool {
	r, err := readLease(v)
	return v.revision == 0 || err == nil && r.Holding == ""
}

func readLease(v value) (r leaseRecord, err error) {
	err = typed.Unmarshal(v.body, payload.WireLimits(), &r)
	return r, err
}

// A holding is a lease that this member has.
type holding struct {
	l        *Leases
	name     string
	record   leaseRecord
	revision uint64    // of the last write that was acknowledged
	start    time.Time // of that write
}

// write writes a record over the revision of the holding, until ctx ends.
func (h *holding) write(ctx context.Context, r leaseRecord) error {
	ctx, cancel := context.WithTimeout(ctx, h.l.time/2)
	defer cancel()
	body, err := typed.Marshal(&r)
	if err != nil {
		return err
	}
	start := time.Now()
	revision, err := h.l.b.set(ctx, h.name, body, h.revision)
	if err == nil {
		h.revision, h.start = revision, start
	}
	return err
}

// keep renews the lease until ctx ends, and returns nil then. If the lease cannot be renewed it calls
// stop in time and returns the reason.
func (h *holding) keep(ctx context.Context, stop context.CancelCauseFunc) error {
	late := fmt.Errorf("%w: no renewal was acknowledged in time", ErrLeaseLost)
	// a timer, because a renewal may outlast its context
	alarm := time.AfterFunc(time.Until(h.end()), func() { stop(late) })
	defer alarm.Stop()
	for {
		select {
		case <-ctx.Done():
			return loss(ctx)
		case <-time.After(h.l.time / renewals):
		}
		renewing, cancel := context.WithDeadline(ctx, h.end())
		err := h.renew(renewing)
		cancel()
		if errors.Is(err, ErrLeaseLost) {
			stop(err)
		}
		if !alarm.Reset(time.Until(h.end())) {
			stop(late)
		}
	}
}

// end is when the holder has to stop.
func (h *holding) end() time.Time { return h.start.Add(h.l.time - h.l.time/margin) }

// loss returns why the lease was lost, or nil if ctx ended for another reason.
func loss(ctx context.Context) error {
	if err := context.Cause(ctx); errors.Is(err, ErrLeaseLost) {
		return err
	}
	return nil
}

// renew writes the record again. If it was changed, by a renewal whose acknowledgement was lost, it
// learns the revision; if another member has the lease the error wraps ErrLeaseLost.
func (h *holding) renew(ctx context.Context) error {
	err := h.write(ctx, h.record)
	if !errors.Is(err, ErrConflict) {
		return err
	}
	own, err := h.find(ctx)
	if err == nil && !own {
		return fmt.Errorf("%w: another member has it", ErrLeaseLost)
	}
	return err
}

// find learns the revision of the record and reports whether it is still of this holding.
func (h *holding) find(ctx context.Context) (bool, error) {
	v, err := h.l.b.get(ctx, h.name)
	if err != nil {
		return false, err
	}
	r, err := readLease(v)
	if err != nil || r.Holding != h.record.Holding {
		return false, err
	}
	h.revision = v.revision
	return true, nil
}

// release lets the next member take the lease at once. If that fails the lease expires.
func (h *holding) release() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*answerTime)
	defer cancel()
	err := h.write(ctx, leaseRecord{})
	if errors.Is(err, ErrConflict) {
		if own, _ := h.find(ctx); own {
			err = h.write(ctx, leaseRecord{})
		}
	}
	if err != nil {
		h.l.b.c.o.Log.WithError(err).Warnf("give back lease %s: it is free after %s", h.name, h.l.time)
	}
}
