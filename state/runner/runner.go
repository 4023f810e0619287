package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state"
)

// Options configure a Runner. Env and States are required.
type Options struct {
	// Env provides the options, grains, pillar and functions of the run. The runner reads the
	// options test, failhard, state_events, state_aggregate, state_max_parallel,
	// disabled_requisites, lock_saltenv, local, id, cachedir, user and global_state_conditions. If
	// test is true, nothing is written.
	Env *loader.Env
	// States is the registry of state functions.
	States *loader.Registry
	// JID is the job ID of the run. If it is empty, there are neither events nor pauses.
	JID string
	// Mock makes the run call no state function and report success for every state.
	Mock bool
	// Refresh reloads grains or pillar after states with reload_grains or reload_pillar. It may be
	// nil.
	Refresh func(ctx context.Context, grains, pillar bool) error
}

// A Runner is one run of states. It is not safe for concurrent use.
type Runner struct {
	env     *loader.Env
	states  *loader.Registry
	o       Options
	id      string
	context *loader.Context // data shared by the states of the run

	number      int64                // number of the next result
	pre         map[string]*data.Map // results of dry runs for prereq, by tag
	initialized map[string]bool      // modules whose mod_init is done

	globalConditions *data.Map // option of that name; nil until read
	stateAggregate   any       // option of that name
	aggregateRead    bool      // stateAggregate is set

	limit chan struct{} // semaphore for parallel states; nil for no limit

	mu sync.Mutex // guards results, which parallel states read
}

// New returns a runner. It fails if Env or States is nil.
func New(o Options) (*Runner, error) {
	if o.Env == nil || o.States == nil {
		return nil, errors.New("run states: Env and States are required")
	}
	return &Runner{
		env: o.Env, states: o.States, o: o, id: rand.Text(), context: &loader.Context{},
		pre: map[string]*data.Map{}, initialized: map[string]bool{},
		limit: newLimit(o.Env.Option("state_max_parallel")),
	}, nil
}

// ID returns the random ID of the run. State functions see it as change.Call.Run.
func (r *Runner) ID() string { return r.id }

// Chunks runs the chunks, then the chunks that listen to them, and then adds the beacons of chunks with
// the argument beacon. It returns the results by tag, in
// execution order. The caller must not use the chunks afterwards: the runner marks them, and states
// that join others modify them.
//
// An error ends the run if Salt would end it with an exception: a chunk has arguments that its
// function does not accept, or an invalid requisite. States that already ran are not undone. If ctx
// ends, the run ends with its error.
func (r *Runner) Chunks(ctx context.Context, chunks []state.Chunk) (*data.Map, error) {
	results, err := r.runChunks(ctx, chunks)
	if err == nil {
		err = r.listen(ctx, chunks, results)
	}
	if err == nil {
		err = r.beacons(ctx, chunks, results)
	}
	r.forgetPauses()
	return results, err
}

// Only runs the chunks of an ID and the chunks they require, but not those that listen to them, as
// state.sls_id does.
func (r *Runner) Only(ctx context.Context, chunks []state.Chunk, id string) (*data.Map, error) {
	results := &data.Map{}
	for _, low := range chunks {
		if low.ID() != id {
			continue
		}
		w := newWalk(r, chunks)
		err := w.chunk(ctx, low, 0)
		if waitErr := w.reconcileAll(ctx); err == nil {
			err = waitErr
		}
		results.Update(w.results)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// Call runs one chunk without its requisites, as state.single and state.low do.
func (r *Runner) Call(ctx context.Context, low state.Chunk) (*data.Map, error) {
	if err := r.init(ctx, low); err != nil {
		return nil, err
	}
	w := newWalk(r, []state.Chunk{low})
	ret, err := r.call(ctx, w, newTask(low, 1))
	if err == nil {
		w.results.Set(low.Tag(), ret)
		err = w.reconcile(ctx, low.Tag())
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
