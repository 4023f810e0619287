package minion

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// acksField is the field by which a minion asks the master whether it wants jobs acknowledged (master/progress.go).
const acksField = "job_acks"

const (
	ackDelay = 100 * time.Millisecond // a job that has returned by then needs no acknowledgement
	mostAcks = 1000                   // in one message; the rest follows
)

// acks tells the master which jobs the minion has taken, by events salt/job/JID/ack/ID, several in one message. What it tells is on
// disk: no end of the minion or of the host makes it run such a job anew or forget to answer it. What cannot be sent is not sent
// again: the return will tell more, or the master sends the job once more.
type acks struct {
	id   string
	keep func(jids []job.ID) error // has what is known of jobs on disk
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

func newAcks(id string, keep func([]job.ID) error, send func(context.Context, []any) error) *acks {
	return &acks{id: id, keep: keep, send: send, wake: make(chan struct{}, 1)}
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
		if err := clock.Sleep(ctx, ackDelay); err != nil {
			return err
		}
		for jids := a.take(); len(jids) > 0; jids = a.take() {
			if err := a.tell(ctx, jids); err != nil {
				break
			}
		}
	}
}

// tell acknowledges jobs, once they are on disk.
func (a *acks) tell(ctx context.Context, jids []job.ID) error {
	if err := a.keep(jids); err != nil {
		return err
	}
	events := make([]any, len(jids))
	for i, jid := range jids {
		events[i] = a.event(jid)
	}
	return a.send(ctx, events)
}

// take returns jobs that wait to be acknowledged and have not ended.
func (a *acks) take() (jids []job.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for ; n < len(a.waiting) && len(jids) < mostAcks; n++ {
		if w := a.waiting[n]; w.ctx.Err() == nil {
			jids = append(jids, w.jid)
		}
	}
	rest := copy(a.waiting, a.waiting[n:])
	clear(a.waiting[rest:])
	a.waiting = a.waiting[:rest]
	return jids
}

func (a *acks) event(jid job.ID) *data.Map {
	return data.NewMap("tag", "salt/job/"+string(jid)+"/ack/"+a.id, "data", data.NewMap("id", a.id, "jid", string(jid)))
}
