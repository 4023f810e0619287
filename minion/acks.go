package minion

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// acksField is the field by which a minion asks the master whether it wants jobs acknowledged (master/progress.go).
const acksField = "job_acks"

const (
	ackDelay = 100 * time.Millisecond // a job that has returned by then needs no acknowledgement
	mostAcks = 1000                   // in one message; the rest follows
)

// acks tells the master which jobs the minion has taken, by events salt/job/JID/ack/ID, several in one message. What
// cannot be sent is not sent again: the return will tell more.
type acks struct {
	id   string
	send func(ctx context.Context, events []any) error
	want atomic.Bool // the master has said that it wants them

	mu      sync.Mutex
	waiting []taken
	wake    chan struct{} // has room for one
}

// A taken job is one to be acknowledged, unless its context has ended.
type taken struct {
	ctx context.Context
	jid job.ID
}

func newAcks(id string, send func(context.Context, []any) error) *acks {
	return &acks{id: id, send: send, wake: make(chan struct{}, 1)}
}

// hear reads whether the master wants to know, in its answer to the request that follows a sign-in.
func (a *acks) hear(reply data.Raw) {
	fields, err := payload.ParseFields(reply, payload.WireLimits())
	wants, _ := fields.Bool(acksField)
	a.want.Store(err == nil && wants)
}

// add has a job acknowledged soon, if the master wants to know and ctx, which is the job's, has not ended by then.
func (a *acks) add(ctx context.Context, jid job.ID) {
	if !a.want.Load() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) >= mostWaiting {
		return
	}
	a.waiting = append(a.waiting, taken{ctx, jid})
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// run acknowledges jobs until ctx ends.
func (a *acks) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.wake:
		}
		if err := pause(ctx, ackDelay); err != nil {
			return err
		}
		for events := a.take(); len(events) > 0; events = a.take() {
			if err := a.send(ctx, events); err != nil {
				break
			}
		}
	}
}

// take returns the events of jobs that wait to be acknowledged and have not ended.
func (a *acks) take() (events []any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for ; n < len(a.waiting) && len(events) < mostAcks; n++ {
		if w := a.waiting[n]; w.ctx.Err() == nil {
			events = append(events, a.event(w.jid))
		}
	}
	rest := copy(a.waiting, a.waiting[n:])
	clear(a.waiting[rest:])
	a.waiting = a.waiting[:rest]
	return events
}

func (a *acks) event(jid job.ID) *data.Map {
	return data.NewMap("tag", "salt/job/"+string(jid)+"/ack/"+a.id, "data", data.NewMap("id", a.id, "jid", string(jid)))
}
