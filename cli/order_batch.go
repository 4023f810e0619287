package cli

import (
	"context"
	"errors"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/payload"
)

// orderBatch runs an order on a limited number of minions at a time. A Brine master runs the batch
// itself; with Salt's master this program drives it.
func (s *saltRun) orderBatch(
	ctx context.Context, r client.Request, order *data.Map,
	yield func(id string, answer *data.Map) bool,
) error {
	s.o.Batch, s.o.Failhard = data.Str(order.Value("batch")), data.Truth(order.Value("failhard"))
	if wait := order.Value("batch_wait"); wait != nil {
		var err error
		if s.o.BatchWait, err = loader.Float(wait); err != nil {
			return err
		}
	}
	plan, err := s.plan()
	if err != nil {
		return err
	}
	taker := &batchTaker{yield: yield, missing: missingOf(order), failhard: plan.Failhard,
		seen: map[string]bool{}}
	keyless, err := s.local.RunBatch(ctx, r, s.o.Batch, plan, taker, func() bool { return taker.over })
	var noMinions *client.NoMinionsError
	if errors.As(err, &noMinions) {
		s.reportNoMinions(order)
		return nil
	}
	for _, id := range keyless {
		taker.absent(id, client.NoKey)
	}
	return err
}

// A batchTaker passes on the returns of a batch.
type batchTaker struct {
	yield   func(id string, answer *data.Map) bool
	missing missing
	// the first failure ends the batch; as in Salt, running minions are not waited for
	failhard bool
	over     bool // no more returns are wanted
	seen     map[string]bool
}

var _ batch.Observer = (*batchTaker)(nil)

func (t *batchTaker) yieldAnswer(id string, answer *data.Map) {
	if t.seen[id] || t.over {
		return
	}
	t.seen[id] = true
	t.over = !t.yield(id, answer)
}

// Down reports the minions that get no job.
func (t *batchTaker) Down(ids []string) {
	for _, id := range ids {
		t.Silent(id)
	}
}

// Starting ends the batch if no more returns are wanted.
func (t *batchTaker) Starting([]string) error {
	if t.over {
		return batch.ErrStop
	}
	return nil
}

// Answered passes a return on.
func (t *batchTaker) Answered(r batch.Return) {
	v, err := payload.UnmarshalText(r.Load, payload.WireLimits())
	load, ok := v.(*data.Map)
	if err != nil || !ok {
		t.Silent(r.Minion)
		return
	}
	answer := data.NewMap("ret", load.Value("return"))
	if out := load.Text("out"); out != "" {
		answer.Set("out", out)
	}
	answer.Update(data.NewMap("retcode", int64(r.Retcode), "jid", string(r.Job)))
	t.yieldAnswer(r.Minion, answer)
	t.over = t.over || t.failhard && r.Retcode != 0
}

// Silent reports a minion that has not answered.
func (t *batchTaker) Silent(id string) { t.absent(id, client.NoResponse) }

func (t *batchTaker) absent(id string, why client.Reason) {
	if answer, wanted := t.missing.answer(why); wanted {
		t.yieldAnswer(id, answer)
	}
}
