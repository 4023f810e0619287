package minion

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// acksField is the request field with which a minion asks the master whether it wants job
// acknowledgements (master/progress.go).
const acksField = "job_acks"

const (
	ackDelay = 100 * time.Millisecond // jobs that return sooner need no acknowledgement
	maxAcks  = 1000                   // per message; the rest follows in the next one
)

// acks acknowledges jobs to the master with events salt/job/JID/ack/ID, several in one message. An
// acknowledged job is on disk: after a crash of the minion or the host it is neither run again nor
// left without a return. Failed acknowledgements are not repeated: the return supersedes them, or
// the master sends the job again.
type acks struct {
	id   string
	log  logrus.FieldLogger
	keep func(jids []job.ID) error // flushes the records of jobs to disk
	send func(ctx context.Context, events []any) error
	want atomic.Bool // the master wants acknowledgements

	mu      sync.Mutex
	waiting []pendingAck
	wake    chan struct{} // buffered, capacity 1
}

// A pendingAck job waits for its acknowledgement. It is skipped once ctx has ended.
type pendingAck struct {
	ctx context.Context
	jid job.ID
}

func newAcks(
	id string, log logrus.FieldLogger, keep func([]job.ID) error,
	send func(context.Context, []any) error,
) *acks {
	return &acks{id: id, log: log, keep: keep, send: send, wake: make(chan struct{}, 1)}
}

// readReply reads from the master's reply to the first request after a sign-in whether it wants
// acknowledgements.
func (a *acks) readReply(reply data.Raw) {
	fields, err := payload.ParseFields(reply, payload.WireLimits())
	wants, _ := fields.Bool(acksField)
	a.want.Store(err == nil && wants)
}

// add queues a job for acknowledgement. Jobs whose ctx ends before the acknowledgement is sent are
// skipped, and nothing is queued unless the master wants acknowledgements.
func (a *acks) add(ctx context.Context, jid job.ID) {
	if !a.want.Load() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) >= maxWaiting {
		return
	}
	a.waiting = append(a.waiting, pendingAck{ctx, jid})
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
			if err := a.keep(jids); err != nil {
				a.log.WithError(err).Error("flush jobs to disk; they are not acknowledged")
				break
			}
			if err := a.send(ctx, a.events(jids)); err != nil {
				break // the returns supersede them
			}
		}
	}
}

// take removes up to maxAcks waiting jobs from the queue and returns those that are still running.
func (a *acks) take() (jids []job.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for ; n < len(a.waiting) && len(jids) < maxAcks; n++ {
		if w := a.waiting[n]; w.ctx.Err() == nil {
			jids = append(jids, w.jid)
		}
	}
	rest := copy(a.waiting, a.waiting[n:])
	clear(a.waiting[rest:])
	a.waiting = a.waiting[:rest]
	return jids
}

// events returns the events that acknowledge jobs.
func (a *acks) events(jids []job.ID) []any {
	events := make([]any, len(jids))
	for i, jid := range jids {
		events[i] = data.NewMap("tag", "salt/job/"+string(jid)+"/ack/"+a.id,
			"data", data.NewMap("id", a.id, "jid", string(jid)))
	}
	return events
}
