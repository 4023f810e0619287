package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Options are what a Runner is made of.
type Options struct {
	// Env has the options, grains, pillar and functions of the run. The options that count are test, failhard, state_events,
	// state_aggregate, disabled_requisites, lock_saltenv, local, id, cachedir, user and global_state_conditions. With the option
	// test true nothing is written.
	Env *loader.Env
	// States are the state functions.
	States *loader.Registry
	// JID is the job of the run. Without it there are neither events nor pauses.
	JID string
	// Mock runs nothing, and calls every state a success.
	Mock bool
	// Refresh gathers grains or pillar anew, after states with reload_grains or reload_pillar; nil does neither.
	Refresh func(ctx context.Context, grains, pillar bool) error
}

// A Runner is one run of states. It must not be used by several goroutines at once.
type Runner struct {
	env     *loader.Env
	states  *loader.Registry
	o       Options
	id      string
	context *loader.Context // what the states of the run leave for one another

	number   int64                // of the next result
	pre      map[string]*data.Map // results of looking ahead, for prereq
	begun    map[string]bool      // modules whose mod_init is done
	conds    *data.Map            // option global_state_conditions; nil when it was not read yet
	agg      any                  // option state_aggregate
	aggKnown bool

	places chan struct{} // what runs aside takes one; nil for any number

	mu sync.Mutex // of what states see while they run in parallel: results
}

// New returns a runner.
func New(o Options) (*Runner, error) {
	if o.Env == nil || o.States == nil {
		return nil, errors.New("run states: there is no environment or no shelf of states")
	}
	return &Runner{
		env: o.Env, states: o.States, o: o, id: rand.Text(), context: &loader.Context{},
		pre: map[string]*data.Map{}, begun: map[string]bool{}, places: places(o.Env.Option("state_max_parallel")),
	}, nil
}

// ID names the run; state functions see it as change.Call.Run.
func (r *Runner) ID() string { return r.id }

// Chunks runs chunks, and then what listens to them. The results stand under the tags of the chunks, in the order in which they
// ran. The chunks are the runner's from then on: it marks them, and states that join others change them.
//
// An error ends the run as an exception does in Salt: a chunk has arguments that its function does not take, or a requisite that
// makes no sense. What already ran stays as it is. When ctx ends, so does the run, with its error.
func (r *Runner) Chunks(ctx context.Context, chunks []*data.Map) (*data.Map, error) {
	results, err := r.walk(ctx, chunks)
	if err == nil {
		err = r.listen(ctx, chunks, results)
	}
	r.forgetPauses()
	return results, err
}

// Only runs the chunks of an id and what they require, but nothing that listens to them, as state.sls_id does.
func (r *Runner) Only(ctx context.Context, chunks []*data.Map, id string) (*data.Map, error) {
	results := &data.Map{}
	for _, low := range chunks {
		if low.Value("__id__") != id {
			continue
		}
		w := newWalk(r, chunks)
		err := w.chunk(ctx, low, 0)
		if settled := w.reconcileAll(ctx); err == nil {
			err = settled
		}
		results.Update(w.results)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// Call runs one chunk, whatever it requires, as state.single and state.low do.
func (r *Runner) Call(ctx context.Context, low *data.Map) (*data.Map, error) {
	if err := r.init(ctx, low); err != nil {
		return nil, err
	}
	w := newWalk(r, []*data.Map{low})
	ret, err := r.call(ctx, w, low, 1)
	if err == nil {
		w.results.Set(tagOf(low), ret)
		err = w.reconcile(ctx, tagOf(low))
	}
	return ret, err
}

func (r *Runner) next() int64 {
	n := r.number
	r.number++
	return n
}

// test reports whether the run is in test mode.
func (r *Runner) test() bool { return data.Truth(r.env.Option("test")) }
