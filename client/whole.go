package client

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// mostWhole limits the returns that one Local reads from the job cache, in bytes.
const mostWhole = 64 << 20

// Whole returns v, the value of a minion's return to a job in an event. If the event bus has trimmed it,
// Whole reads it from the master's job cache with Options.Return. A value stays trimmed if it is not in
// the cache, or if l has read 64 MiB from there.
func (l *Local) Whole(ctx context.Context, id job.ID, minion string, v any) any {
	if l.opts.Return == nil || !eventbus.Trimmed(v) || l.whole >= mostWhole {
		return v
	}
	whole, size, err := l.readReturn(ctx, id, minion)
	if err != nil {
		if l.opts.Log != nil {
			l.opts.Log.Warnf("read return of %s to job %s, which the event bus has trimmed: %v", minion, id, err)
		}
		return v
	}
	l.whole += size
	return whole
}

// readReturn reads a value from the job cache, and its size in bytes.
func (l *Local) readReturn(ctx context.Context, id job.ID, minion string) (v any, size int, err error) {
	load, err := l.opts.Return(ctx, id, minion)
	if err != nil {
		return nil, 0, err
	}
	fields, err := payload.ParseFields(load, payload.WireLimits())
	if err != nil {
		return nil, 0, err
	}
	v, err = payload.UnmarshalText(fields.Raw("return"), payload.WireLimits())
	return v, len(load), err
}

// A ReturnReader reads a minion's return to a job from the master's job cache: the whole return load.
type ReturnReader func(ctx context.Context, id job.ID, minion string) (data.Raw, error)
