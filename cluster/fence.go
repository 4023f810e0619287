package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
)

// ErrStale is wrapped by the methods of a Fence if a later holder of the lease has passed it.
var ErrStale = errors.New("a later holder of the lease is at work")

// maxStep limits what a Fence saves, in bytes.
const maxStep = 256 << 10

// A Fence keeps the progress of the work under a lease: which holder was last, and its last step.
// Each method writes by compare-and-set, so that of two members that both believe to hold the lease
// only the later gets through. A step that must not happen twice is saved before it is done; the
// next holder finds it with Last and decides whether it was done.
//
// A Fence belongs to one goroutine.
type Fence struct {
	b        *bucket
	token    Token
	revision uint64
	last     []byte
}

// fenceRecord is what the bucket has for a lease.
type fenceRecord struct {
	Token uint64 `codec:"token"`
	Step  []byte `codec:"step"`
}

// Fence passes the fence of a lease, which shuts it for earlier holders. The error wraps ErrStale if
// a later one has passed.
func (l *Leases) Fence(ctx context.Context, token Token) (*Fence, error) {
	f := &Fence{b: l.b.c.bucket(forFences), token: token}
	v, err := f.b.update(ctx, token.Name, func(old value) ([]byte, error) {
		var r fenceRecord
		if old.body != nil {
			if err := typed.Unmarshal(old.body, payload.WireLimits(), &r); err != nil {
				return nil, err
			}
		}
		if r.Token > token.Number {
			return nil, ErrStale
		}
		f.last, r.Token = r.Step, token.Number
		return typed.Marshal(&r)
	})
	if err != nil {
		return nil, fmt.Errorf("pass fence of lease %s: %w", token.Name, err)
	}
	f.revision = v.revision
	return f, nil
}

// Last returns the step that was saved last, by this holder or an earlier one; nil before the first.
func (f *Fence) Last() []byte { return f.last }

// Check returns nil if no later holder had passed when a quorum answered. The error wraps ErrStale
// if one had, or ErrUnavailable.
func (f *Fence) Check(ctx context.Context) error { return f.Save(ctx, f.last) }

// Save replaces the saved step, at most 256 KiB. The error wraps ErrStale if a later holder has
// passed: nothing was saved then. After ErrUnavailable the step may have been saved; the same call
// may be repeated.
func (f *Fence) Save(ctx context.Context, step []byte) error {
	if len(step) > maxStep {
		return fmt.Errorf("save step of lease %s: %w: %d bytes, allowed are %d", f.token.Name, ErrTooLarge,
			len(step), maxStep)
	}
	err := f.save(ctx, step)
	if errors.Is(err, ErrConflict) {
		err = f.recover(ctx, step)
	}
	if err != nil {
		return fmt.Errorf("save step of lease %s: %w", f.token.Name, err)
	}
	f.last = step
	return nil
}

func (f *Fence) save(ctx context.Context, step []byte) error {
	body, err := typed.Marshal(&fenceRecord{Token: f.token.Number, Step: step})
	if err != nil {
		return err
	}
	revision, err := f.b.set(ctx, f.token.Name, body, f.revision)
	if err == nil {
		f.revision = revision
	}
	return err
}

// recover saves once more after a conflict, unless a later holder has passed: the acknowledgement of a
// write of this holder was lost, or somebody without the cluster key has written.
func (f *Fence) recover(ctx context.Context, step []byte) error {
	v, err := f.b.get(ctx, f.token.Name)
	var r fenceRecord
	switch {
	case isForeign(err):
		f.b.c.o.Log.WithError(err).Errorf("the fence of lease %s is written again", f.token.Name)
	case err != nil:
		return err
	default:
		if err := typed.Unmarshal(v.body, payload.WireLimits(), &r); err != nil {
			return err
		}
	}
	if r.Token > f.token.Number {
		return ErrStale
	}
	f.revision = v.revision
	if err := f.save(ctx, step); errors.Is(err, ErrConflict) {
		return ErrStale
	} else if err != nil {
		return err
	}
	return nil
}
