package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/returners"
)

// A batchHost connects the engine of one batch to the master. It publishes as the user of the
// batch, reads returns from the bus, and fires events about the progress. All publications of the
// batch have the same job id, so that its returns are found under one.
type batchHost struct {
	b       *batches
	job     *batchJob
	jobs    *batchJobs
	events  *eventbus.Subscription
	engine  *batch.Engine
	down    []string        // minions that did not answer the ping
	stopped bool            // the engine was stopped
	led     context.Context // of work; in a cluster it ends with the lead
}

var (
	_ batch.Host     = (*batchHost)(nil)
	_ batch.Observer = (*batchHost)(nil)
	_ batch.Recorder = (*batchHost)(nil)
)

func newBatchHost(b *batches, j *batchJob) *batchHost {
	jobs := &batchJobs{ids: map[string]bool{string(j.id): true}}
	return &batchHost{b: b, job: j, jobs: jobs, events: b.pub.bus.Subscribe(eventbus.SubscribeOptions{
		Name: "batch " + string(j.id), Prefixes: []string{jobPrefix}, Match: jobs.returned, Gaps: true})}
}

// jobPrefix begins the tags of events about jobs.
const jobPrefix = "salt/job/"

// batchJobs are the ids of the jobs that a batch has sent. It is safe for concurrent use.
type batchJobs struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (s *batchJobs) add(id job.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[string(id)] = true
}

// returned reports whether a tag is that of a return to one of the jobs.
func (s *batchJobs) returned(tag string) bool {
	id, what, _ := strings.Cut(strings.TrimPrefix(tag, jobPrefix), "/")
	if !strings.HasPrefix(what, "ret/") {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ids[id]
}

// Close ends the subscription to events.
func (h *batchHost) Close() { h.events.Close() }

// work runs the batch from its current state until all minions have ended.
func (h *batchHost) work(ctx context.Context) error {
	h.led = ctx
	o := batch.Options{Plan: h.job.plan, Host: h, Observer: h}
	if h.job.run != nil {
		h.engine = batch.Resume(o, h.job.run, h.job.id)
		if err := h.engine.CatchUp(ctx); err != nil {
			return err
		}
		h.withdraw()
		return h.engine.Work(ctx, true)
	}
	h.engine = batch.NewEngine(o)
	if err := h.engine.Gather(ctx, h.job.load.Value("tgt"),
		h.job.load.Text("tgt_type")); err != nil {
		return err
	}
	if err := h.record(ctx); err != nil {
		return err
	}
	return h.engine.Work(ctx, true)
}

// A stepLog knows which minions got the steps of a batch.
type stepLog interface {
	unsent(id job.ID, active []string) []string
}

// withdraw puts back the minions of a step that an earlier leader had noted, and not sent when it ended.
func (h *batchHost) withdraw() {
	log, ok := h.b.pub.cluster.(stepLog)
	if !ok {
		return
	}
	if ids := log.unsent(h.job.id, h.job.run.Active()); len(ids) > 0 {
		h.b.log.Warnf("batch %s: the last leader ended before it sent a step; %d minions start now",
			h.job.id, len(ids))
		h.engine.Withdraw(ids)
	}
}

// record stores the job as it was ordered, with all minions that answered the ping. The
// publications for some of them add nothing to this record.
func (h *batchHost) record(ctx context.Context) error {
	err := h.insist(func() error {
		return h.b.pub.save(ctx, h.job.load, kwargsOf(h.job.load),
			&returners.Job{ID: h.job.id, Minions: h.engine.Run().Waiting()})
	})
	if errors.Is(err, errTaken) && h.recorded(ctx) {
		return nil
	}
	return err
}

// recorded reports whether the job cache has the job of this batch, from an attempt that was not
// answered or from an earlier leader.
func (h *batchHost) recorded(ctx context.Context) bool {
	known, err := h.b.pub.jobs.Job(ctx, h.job.id)
	if err != nil {
		return false
	}
	load, err := mapOf(known.Load)
	return err == nil && data.Equal(load, h.job.load)
}

// Recorded reads returns from the job cache. In a cluster it tries until the cluster answers or this master
// leads no more. If the returns cannot be read, that is logged, and the batch goes on with the events alone.
func (h *batchHost) Recorded(ctx context.Context, id job.ID, minions []string) ([]batch.Return, error) {
	var found []batch.Return
	err := h.insist(func() error {
		found = nil
		return returners.WalkReturns(ctx, h.b.pub.jobs, id, minions, func(r returners.Return) error {
			if back, ok := batch.ParseReturn(id, r.Minion, r.Load); ok {
				back.Load = nil // it may be large, and nobody here needs it
				found = append(found, back)
			}
			return nil
		})
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		h.b.log.WithError(err).Errorf("batch %s: read the recorded returns to job %s", h.job.id, id)
	}
	return found, nil
}

// Publish sends an order to minions.
func (h *batchHost) Publish(ctx context.Context, o batch.Order) (batch.Sent, error) {
	pub := h.b.pub
	load := h.job.load.Clone()
	kwargs := kwargsOf(load)
	load.Set("tgt", o.Target)
	load.Set("tgt_type", o.Kind)
	id := h.job.id
	if !o.Main {
		id = pub.ids.Next()
		load.Set("fun", o.Fun)
		load.Set("arg", append([]any{}, o.Arg...))
		load.Set("ret", "")
		kwargs = quietKwargs(kwargs)
		load.Set("kwargs", kwargs)
	}
	load.Set("jid", string(id))
	ids, missing, err := pub.fleet.resolve(o.Target, o.Kind, kwargs.Text("delimiter"))
	if len(ids) == 0 && !pub.orderMasters {
		return batch.Sent{Job: id}, errors.Join(batch.ErrNobody, err)
	}
	gathers := h.engine.Run() == nil
	if gathers { // right after a restart of the master a ping would find nobody
		if err := pub.presence.awaitReturn(ctx, ids); err != nil {
			return batch.Sent{}, err
		}
	}
	sent := batch.Sent{Job: id, Minions: ids}
	if gathers {
		sent.Away = pub.presence.gone(ids)
	}
	to := recipients{ids: ids, missing: missing, step: o.Main}
	if pub.orderMasters {
		if to.rights, err = h.b.senders.rights(ctx, h.job.owner); err != nil {
			to.own = true // the user has lost them: lower masters get nothing
		}
	}
	if err := h.awaitMoved(ctx, ids); err != nil {
		return batch.Sent{}, err
	}
	done, err := h.send(ctx, load, kwargs, to)
	if err != nil {
		return sent, err
	}
	sent.Job, sent.Minions = done.id, done.ids
	if gathers {
		sent.Away = append(sent.Away, done.tier.awayMinions()...)
	}
	if len(done.tier.unsure) > 0 {
		sent.Further = pub.fleet.settings.config().SyndicWait
	}
	if len(sent.Minions) == 0 && sent.Further == 0 {
		return batch.Sent{Job: sent.Job}, batch.ErrNobody
	}
	return sent, nil
}

// send publishes an order. In a cluster it tries until the cluster answers or this master leads no
// more. A step that was published without an answer is not published again; other orders are, each
// time under a new id.
func (h *batchHost) send(
	ctx context.Context, load, kwargs *data.Map, to recipients,
) (*sentJob, error) {
	for {
		h.jobs.add(job.ID(load.Text("jid")))
		done, err := h.b.pub.send(ctx, load, kwargs, to)
		switch {
		case to.step && errors.Is(err, errTaken):
			return h.sentBefore(load, kwargs, to), nil
		case !errors.Is(err, cluster.ErrUnavailable) && !errors.Is(err, errTaken):
			return done, err
		}
		if !to.step {
			load.Set("jid", string(h.b.pub.ids.Next()))
		}
		if err := clock.Sleep(ctx, clusterPause); err != nil {
			return nil, err
		}
	}
}

// sentBefore returns what a step reaches that the cluster had already.
func (h *batchHost) sentBefore(load, kwargs *data.Map, to recipients) *sentJob {
	to.ids = h.b.pub.syndics.onlyMinions(to.ids)
	sent := &sentJob{id: h.job.id, recipients: to}
	if !to.own {
		sent.tier = h.b.pub.tierOf(&order{load: load, kwargs: kwargs})
	}
	sent.extend(&returners.Job{ID: sent.id, Minions: to.ids, Missing: to.missing})
	return sent
}

// awaitMoved waits, right after this master has begun to lead, for minions that have lost their master:
// they are on their way to another one.
func (h *batchHost) awaitMoved(ctx context.Context, ids []string) error {
	for h.b.lead.fresh(returnTime) && len(h.b.pub.presence.Absent(ids)) > 0 {
		if err := clock.Sleep(ctx, returnInterval); err != nil {
			return err
		}
	}
	return nil
}

// clusterPause is the wait between two attempts while the cluster does not answer.
const clusterPause = time.Second

// save records the batch. In a cluster it tries until the cluster answers or this master leads no
// more.
func (h *batchHost) save() error {
	return h.insist(func() error {
		if err := h.b.pub.mayLead(h.led); err != nil {
			return err
		}
		return h.b.save(h.job)
	})
}

// mayEnd returns an error if this master leads no more, so that the batch is not its to end.
func (h *batchHost) mayEnd() error {
	return h.insist(func() error { return h.b.pub.mayLead(h.led) })
}

// insist calls do until the cluster answers or this master leads no more.
func (h *batchHost) insist(do func() error) error {
	for {
		if err := do(); !errors.Is(err, cluster.ErrUnavailable) {
			return err
		}
		if err := clock.Sleep(h.led, clusterPause); err != nil {
			return err
		}
	}
}

// quietKwargs returns kwargs without the options that apply to the batch's own job only.
func quietKwargs(kwargs *data.Map) *data.Map {
	kwargs = kwargs.Clone()
	for _, name := range []string{"metadata", "ret_config", "ret_kwargs"} {
		kwargs.Delete(name)
	}
	return kwargs
}

// Next returns the next return. It returns batch.ErrStop once when the batch is stopped.
func (h *batchHost) Next(ctx context.Context) (batch.Return, error) {
	if h.job.halt.Err() != nil && !h.stopped {
		return batch.Return{}, h.halt()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !h.stopped {
		defer context.AfterFunc(h.job.halt, cancel)()
	}
	for {
		e, err := h.events.Next(ctx)
		switch {
		case err != nil && h.job.halt.Err() != nil && !h.stopped:
			return batch.Return{}, h.halt()
		case err != nil:
			return batch.Return{}, err
		case e.Tag == eventbus.DroppedTag:
			h.b.log.Warnf("batch %s: events of returns were dropped; the recorded returns are read", h.job.id)
			return batch.Return{}, batch.ErrGap
		}
		if r, ok := batch.ReturnOf(e); ok {
			return r, nil
		}
	}
}

// halt stops the batch, and records it on disk so that a later master does not continue it.
func (h *batchHost) halt() error {
	h.stopped = true
	if h.job.run == nil {
		return batch.ErrStop
	}
	h.job.run.Stop()
	err := h.save()
	if deposed(err) { // the batch is another master's
		return err
	}
	if err != nil { // the engine takes it for a stop alone; the note of the stop lasts
		h.b.log.WithError(err).Errorf("batch %s: record that it was stopped", h.job.id)
	}
	return batch.ErrStop
}

// Down announces which minions answered the ping, and which did not.
func (h *batchHost) Down(ids []string) {
	h.down = ids
	h.job.run = h.engine.Run()
	if len(h.job.run.Waiting()) == 0 {
		h.b.log.Warnf("batch %s: none of its %d minions answered the ping", h.job.id, len(ids))
	}
	h.fire(
		"start",
		data.NewMap("available_minions", data.Values(h.job.run.Waiting()),
			"down_minions", data.Values(ids), "metadata", h.metadata()),
	)
}

// metadata returns the user's metadata for the job, in the form of Salt's batch events.
func (h *batchHost) metadata() any {
	if m := kwargsOf(h.job.load).Value("metadata"); m != nil {
		return m
	}
	return data.NewMap()
}

// Starting records on disk which minions are about to start. If the user has lost the right to send
// the job, no minion starts.
func (h *batchHost) Starting(ids []string) error {
	if h.job.halt.Err() != nil { // it was stopped before this master took it up
		return batch.ErrStop
	}
	// lower masters check the rights on the minions behind syndics
	own := slices.DeleteFunc(slices.Clone(ids), h.b.pub.syndics.behind)
	if len(own) > 0 {
		if err := h.b.senders.authorize(context.Background(), h.job.owner, h.job.load, own); err != nil {
			return h.refuse(err)
		}
	}
	if err := h.save(); err != nil {
		return err
	}
	h.fire("step", data.NewMap("minions", data.Values(ids)))
	return nil
}

// refuse ends the batch as a stop does. Next records it on disk, after the engine has put the
// minions back among those that wait.
func (h *batchHost) refuse(why error) error {
	h.job.refused = fmt.Errorf("no further minions start: %w", why)
	h.job.stop()
	return fmt.Errorf("%w: %w", batch.ErrStop, why)
}

// Answered has nothing to do: the return is on the bus and in the job cache.
func (h *batchHost) Answered(batch.Return) {}

// Silent announces that a minion got the job and has not answered.
func (h *batchHost) Silent(id string) { h.fire("silent", data.NewMap("minion", id)) }

// end returns how the batch ended, as the event about it tells.
func (h *batchHost) end(why error) *data.Map {
	end := data.NewMap("available_minions", []any{}, "down_minions", data.Values(h.down),
		"done_minions", []any{}, "timedout_minions", []any{}, "metadata", h.metadata())
	if h.job.run != nil {
		run := h.job.run
		answered, failed, silent := run.Ended(batch.Answered), run.Ended(batch.Failed),
			run.Ended(batch.Silent)
		all := slices.Concat(answered, failed, silent, run.Active(), run.Waiting())
		end.Set("available_minions", data.Values(all))
		end.Set("done_minions", data.Values(append(append([]string{}, answered...), failed...)))
		end.Set("failed_minions", data.Values(failed))
		end.Set("timedout_minions", data.Values(silent))
		end.Set("not_started", data.Values(run.Waiting()))
		end.Set("stopped", run.Stopped())
	}
	if why != nil {
		end.Set("error", why.Error())
	}
	return end
}

func (h *batchHost) fire(what string, body *data.Map) {
	if err := h.b.pub.bus.Fire(batchTag(h.job.id, what), body); err != nil {
		h.b.log.WithError(err).Errorf("announce batch %s", h.job.id)
	}
}
