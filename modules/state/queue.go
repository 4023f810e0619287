package state

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

const queueInterval = time.Second // how often a waiting call checks whether it may go on

type runningArgs struct {
	Concurrent any `default:"False"`
}

// running returns a text for each function of this module that is running on the minion. With
// concurrent=True it returns none.
//
// CLI Example:
//
//	salt '*' state.running
func (m *module) running(ctx context.Context, a runningArgs) (any, error) {
	texts := []any{}
	if data.Truth(a.Concurrent) {
		return texts, nil
	}
	active, err := m.active(ctx)
	for _, run := range active {
		jid := data.Str(run.Value("jid"))
		texts = append(texts, fmt.Sprintf("The function \"%s\" is running as PID %s and was started at %s with jid %s",
			data.Str(run.Value("fun")), data.Str(run.Value("pid")), job.ID(jid).StartTime(), jid))
	}
	return texts, err
}

// active returns the job data of the running functions of this module.
func (m *module) active(ctx context.Context) ([]*data.Map, error) {
	list, err := loader.CallAs[[]any](ctx, m.env, "saltutil.is_running", []any{"state.*"}, nil)
	if err != nil {
		return nil, err
	}
	var loads []*data.Map
	for _, item := range list {
		if load, ok := item.(*data.Map); ok {
			loads = append(loads, load)
		}
	}
	return loads, nil
}

// conflict waits for other calls if queue, or else the option state_queue, asks for it. Without
// waiting, or if too many calls wait already, it returns the list of running functions, which
// becomes the result of the call. It returns nil when the call may go on (salt/modules/state.py,
// _check_queue).
func (m *module) conflict(ctx context.Context, queue any, kwargs *data.Map) (any, error) {
	if queue == nil {
		var err error
		if queue, err = calls.Option[any](ctx, m.env, "state_queue", false); err != nil {
			return nil, err
		}
	}
	if waited, err := m.queued(ctx, queue, kwargs); waited || err != nil {
		return nil, err
	}
	texts, err := m.running(ctx, runningArgs{Concurrent: kwargs.Value("concurrent")})
	if list, _ := texts.([]any); err != nil || len(list) == 0 {
		return nil, err
	}
	loader.ContextOf(ctx).SetRetcode(codeCompiler)
	return texts, nil
}

// queued waits until the calls that began earlier are done, and reports whether it did.
func (m *module) queued(ctx context.Context, queue any, kwargs *data.Map) (bool, error) {
	most, isNumber := queue.(int64)
	if queue != true && !isNumber {
		return false, nil
	}
	jid := data.Str(kwargs.Value("__pub_jid"))
	if !kwargs.Has("__pub_jid") {
		jid = string(job.NewID(time.Now()))
	}
	ahead, err := m.prior(ctx, jid)
	if err != nil || isNumber && most != 0 && ahead >= most {
		return false, err
	}
	for ahead > 0 && err == nil {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(queueInterval):
		}
		ahead, err = m.prior(ctx, jid)
	}
	return true, err
}

// prior returns the number of calls that began before the job. Job IDs are numbers that do not fit
// into 64 bits.
func (m *module) prior(ctx context.Context, jid string) (int64, error) {
	active, err := m.active(ctx)
	own, ok := new(big.Int).SetString(jid, 0)
	if err != nil || !ok {
		return 0, err
	}
	n := int64(0)
	for _, run := range active {
		if other, ok := new(big.Int).SetString(data.Str(run.Value("jid")), 0); ok &&
			other.Cmp(own) < 0 {
			n++
		}
	}
	return n, nil
}
