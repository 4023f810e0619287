package client

import (
	"context"
	"errors"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/payload"
)

// ErrNoBatches is returned by PublishBatch where the master runs no batches, as Salt's does not: they are driven by its clients,
// see BatchHost.
var ErrNoBatches = errors.New("the master runs no batches")

// publishBatch is the command of a master that runs batches.
const publishBatch = "publish_batch"

// PublishBatch orders a batch that runs within the master. The options stand in the request's Kwargs: batch, batch_wait, failhard,
// timeout and gather_job_timeout. The errors are those of Publish, and ErrNoBatches.
func (l *Local) PublishBatch(ctx context.Context, r Request) (*Job, error) {
	r.command = publishBatch
	return l.Publish(ctx, r)
}

// StopBatch lets a batch of the master start no further minions, and reports whether the master had such a batch under way.
func (l *Local) StopBatch(ctx context.Context, r Request, id job.ID) (bool, error) {
	key, user, err := l.credentials()
	if err != nil {
		return false, err
	}
	r.command, r.JID = "stop_batch", string(id)
	reply, err := l.send(ctx, r, key, user)
	if err != nil {
		return false, err
	}
	m, _ := reply.(*data.Map)
	return data.Truth(m.Value("stopped")), refused(m)
}

// A BatchEnd is how a batch of the master ended.
type BatchEnd struct {
	NotStarted []string // minions that did not get the job, since the batch was stopped
	Done       []string // minions that answered
	Error      string   // why it ended before its time; empty when it did not
}

// FollowBatch tells o how a batch of the master goes, until it has ended or o's Answered says false. A bus that is lost, as by a
// restart of the master, is joined again; what was fired meanwhile is missing, but for the lists in the BatchEnd.
func (l *Local) FollowBatch(ctx context.Context, j *Job, o batch.Observer, enough func() bool) (*BatchEnd, error) {
	prefix := eventbus.Tagify("batch", string(j.ID)) + "/"
	for !enough() {
		e, err := l.next(ctx)
		if err != nil {
			return nil, err
		}
		if r, ok := batch.ReturnOf(e); ok && r.Job == j.ID {
			o.Answered(r)
			continue
		}
		if len(e.Tag) <= len(prefix) || e.Tag[:len(prefix)] != prefix {
			continue
		}
		if end, err := batchEvent(e.Tag[len(prefix):], e.Data, o); end != nil || err != nil {
			return end, err
		}
	}
	return nil, nil
}

// batchEvent tells o of one event of a batch, and returns the end when it is that.
func batchEvent(what string, raw data.Raw, o batch.Observer) (*BatchEnd, error) {
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	m, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil, nil
	}
	switch what {
	case "start":
		o.Down(data.TextsOf(m.Value("down_minions")))
	case "step":
		return nil, o.Starting(data.TextsOf(m.Value("minions")))
	case "silent":
		o.Silent(m.Text("minion"))
	case "done":
		return &BatchEnd{NotStarted: data.TextsOf(m.Value("not_started")), Done: data.TextsOf(m.Value("done_minions")), Error: m.Text("error")}, nil
	}
	return nil, nil
}

// next returns the next event of a bus that is joined again when it was lost.
func (l *Local) next(ctx context.Context) (eventbus.Event, error) {
	for {
		event, err := l.events.Next(ctx)
		if !errors.Is(err, eventbus.ErrClosed) {
			return event, err
		}
		for l.listen(ctx) != nil {
			select {
			case <-ctx.Done():
				return eventbus.Event{}, ctx.Err()
			case <-time.After(rejoin):
			}
		}
	}
}

// BatchHost returns what an engine publishes the job of a request with, where the master runs no batches itself.
func (l *Local) BatchHost(r Request) batch.Host { return &batchHost{l, r} }

type batchHost struct {
	l *Local
	r Request
}

// Publish gives an order to minions.
func (h *batchHost) Publish(ctx context.Context, o batch.Order) (batch.Sent, error) {
	r := h.r
	r.Target, r.Kind = o.Target, o.Kind
	if !o.Main {
		r.Fun, r.Arg, r.Ret, r.Kwargs = o.Fun, o.Arg, "", quietKwargs(r.Kwargs)
	}
	j, err := h.l.Publish(ctx, r)
	var nobody *NoMinionsError
	if errors.As(err, &nobody) {
		return batch.Sent{}, batch.ErrNobody
	}
	if err != nil {
		return batch.Sent{}, err
	}
	return batch.Sent{Job: j.ID, Minions: j.Minions}, nil
}

// Next waits for the next return.
func (h *batchHost) Next(ctx context.Context) (batch.Return, error) {
	for {
		e, err := h.l.next(ctx)
		if err != nil {
			return batch.Return{}, err
		}
		if r, ok := batch.ReturnOf(e); ok {
			return r, nil
		}
	}
}

// quietKwargs returns the options that questions share with their job.
func quietKwargs(kwargs *data.Map) *data.Map {
	kwargs = kwargs.Clone()
	for _, name := range []string{"show_timeout", "show_jid", "metadata", "ret_config", "ret_kwargs"} {
		kwargs.Delete(name)
	}
	return kwargs
}
