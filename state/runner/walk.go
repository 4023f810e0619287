package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state"
)

// maxTries is how often a chunk is tried again after its requisites have run.
const maxTries = 20

// A walk runs one list of chunks.
type walk struct {
	r        *Runner
	chunks   []state.Chunk
	maps     []*data.Map // the dictionaries of chunks, for state functions
	copied   []*data.Map // see copies
	index    *index
	results  *data.Map
	parallel map[string]*parallel // running parallel states, by tag
	active   map[string]bool      // chunks that wait for others, by tag
	failhard bool                 // a chunk with failhard failed: the walk is over
	entered  map[entry]int        // current recursion depth of each chunk
}

// An entry identifies a chunk on the recursion stack.
type entry struct {
	tag   string
	ahead bool
}

// maxEntries is the limit on recursive entries into a chunk. A chunk that other chunks
// have as prereq may legitimately be entered twice.
const maxEntries = 8

func newWalk(r *Runner, chunks []state.Chunk) *walk {
	maps := make([]*data.Map, len(chunks))
	for i, chunk := range chunks {
		maps[i] = chunk.Map
	}
	return &walk{
		r: r, chunks: chunks, maps: maps, index: newIndex(chunks), results: &data.Map{},
		parallel: map[string]*parallel{}, active: map[string]bool{}, entered: map[entry]int{},
	}
}

// runChunks runs the chunks and returns their results.
func (r *Runner) runChunks(ctx context.Context, chunks []state.Chunk) (*data.Map, error) {
	disabled, chunks := r.disabled(chunks)
	w := newWalk(r, chunks)
	err := w.all(ctx)
	if waitErr := w.reconcileAll(ctx); err == nil {
		err = waitErr
	}
	disabled.Update(w.results)
	return disabled, err
}

func (w *walk) all(ctx context.Context) error {
	for _, low := range w.chunks {
		if w.failhard || ctx.Err() != nil {
			return ctx.Err()
		}
		if !w.results.Has(low.Tag()) {
			kill, err := w.r.pause(ctx, low)
			if kill || err != nil {
				return err
			}
			if err := w.chunk(ctx, low, 0); err != nil || w.failedHard(low) {
				return err
			}
		}
		clear(w.active)
	}
	return nil
}

// disabled removes the chunks that the grain state_runs_disabled forbids, and returns their
// results.
func (r *Runner) disabled(chunks []state.Chunk) (results *data.Map, rest []state.Chunk) {
	results = &data.Map{}
	patterns := data.ListOf(r.env.GrainsNow().Value("state_runs_disabled"))
	if len(patterns) == 0 {
		return results, chunks
	}
	for _, low := range chunks {
		fun := low.Function()
		if pattern, ok := matching(patterns, fun); ok {
			results.Set(low.Tag(), data.NewMap("changes", &data.Map{}, "result", false,
				"comment", fmt.Sprintf(
					"The state function \"%s\" is currently disabled by \"%s\", to re-enable, run state.enable %[2]s.", fun, pattern),
				"__run_num__", r.next(), "__sls__", low.SLS()))
			continue
		}
		rest = append(rest, low)
	}
	return results, rest
}

func matching(patterns []any, name string) (string, bool) {
	for _, p := range patterns {
		if pattern := data.Str(p); loader.Glob(pattern, name) {
			return pattern, true
		}
	}
	return "", false
}

// failedHard reports whether a chunk with failhard failed.
func (w *walk) failedHard(low state.Chunk) bool {
	ret, _ := w.results.Value(low.Tag()).(*data.Map)
	if ret == nil || w.r.test() {
		return false
	}
	hard, ok := low.Get("failhard")
	if !ok {
		hard = w.r.env.Option("failhard")
	}
	result := ret.Value("result")
	return data.Truth(hard) && result != nil && !data.Truth(result)
}

// chunk runs the chunks that a chunk requires, then the chunk itself (salt/state.py, call_chunk).
func (w *walk) chunk(ctx context.Context, low state.Chunk, tries int) error {
	if e := (entry{low.Tag(), isLookahead(low)}); tries == 0 {
		if w.entered[e] >= maxEntries {
			w.failRecursive(low)
			w.r.next()
			return nil
		}
		w.entered[e]++
		defer func() { w.entered[e]-- }()
	}
	low, err := w.aggregate(ctx, low)
	if err != nil {
		return err
	}
	if err := w.r.init(ctx, low); err != nil {
		return err
	}
	if tag := low.Tag(); !data.Truth(low.Value("prerequired")) {
		w.active[tag] = true
	}
	judged, reqs, err := w.judge(ctx, low)
	if err != nil {
		return err
	}
	if judged == statusUnmet {
		return w.runRequired(ctx, low, tries)
	}
	if err := w.run(ctx, low, judged, reqs); err != nil {
		return err
	}
	w.finish(ctx, low)
	return nil
}

// run runs or skips a chunk according to the status of its requisites.
func (w *walk) run(ctx context.Context, low state.Chunk, judged status, reqs requisites) error {
	switch {
	case judged == statusFailed:
		w.requisiteFailed(low, reqs)
	case judged == statusChanged && !isLookahead(low):
		return w.watch(ctx, low, reqs)
	case judged == statusPre:
		ret := w.skipped(low, "No changes detected")
		w.set(low, ret)
		w.r.pre[low.Tag()] = ret
	case judged == statusOnfail:
		w.set(low, w.notRun(low, "State was not run because onfail req did not change"))
	case judged == statusOnchanges:
		w.set(low, w.notRun(low, "State was not run because none of the onchanges reqs changed"))
	default:
		return w.do(ctx, low)
	}
	return nil
}

// do runs a chunk whose requisites are met.
func (w *walk) do(ctx context.Context, low state.Chunk) error {
	t := newTask(low, 1)
	ret, err := w.r.call(ctx, w, t)
	switch {
	case err != nil:
		return err
	case t.ahead:
		w.r.pre[low.Tag()] = ret
	default:
		w.set(low, ret)
	}
	return nil
}

// watch runs a chunk with a changed watch. If the chunk changes nothing itself, its mod_watch runs
// as well.
func (w *walk) watch(ctx context.Context, low state.Chunk, reqs requisites) error {
	ret, err := w.r.call(ctx, w, newTask(low, 1))
	if err != nil {
		return err
	}
	if !data.Truth(ret.Value("changes")) && !data.Truth(ret.Value("skip_watch")) {
		watcher := watcherOf(low)
		watcher.Set("__reqs__", reqs.dict())
		if ret, err = w.r.call(ctx, w, newTask(watcher, 1)); err != nil {
			return err
		}
	}
	w.set(low, ret)
	return nil
}

// watcherOf returns the chunk that calls mod_watch of another chunk.
func watcherOf(low state.Chunk) state.Chunk {
	c := low.Clone()
	c.Set("sfun", low.Value("fun"))
	c.Set("fun", "mod_watch")
	return c
}

// requisiteFailed sets the result of a chunk with a failed requisite.
func (w *walk) requisiteFailed(low state.Chunk, reqs requisites) {
	tag := low.Tag()
	// after a dry run: use its result, without the changes that were not made
	if ret := w.r.pre[tag]; ret != nil {
		if data.Truth(ret.Value("changes")) {
			ret.Set("changes", &data.Map{})
		}
		ret.Set("__run_num__", w.r.next())
		w.set(low, setIdentity(ret, low))
		return
	}
	var names []string
	seen := map[string]bool{}
	for _, chunk := range reqs.all() {
		name := data.Str(chunk.SLS()) + "." + data.Str(chunk.ID())
		ret := w.outcome(chunk.Tag())
		if ret == nil || ret.Value("result") != false || seen[name] {
			continue
		}
		seen[name] = true
		names = append(names, name)
	}
	ret := w.notRunResult(low, false, "One or more requisite failed: "+strings.Join(names, ", "))
	w.set(low, ret)
	w.r.pre[tag] = ret
}

// outcome returns the result of a chunk's dry run if there is one, otherwise its result.
func (w *walk) outcome(tag string) *data.Map {
	if ret := w.r.pre[tag]; ret != nil {
		return ret
	}
	return w.result(tag)
}

// result returns the result of a tag, nil if there is none yet.
func (w *walk) result(tag string) *data.Map {
	ret, _ := w.results.Value(tag).(*data.Map)
	return ret
}

// set stores the result of a chunk.
func (w *walk) set(low state.Chunk, ret *data.Map) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.results.Set(low.Tag(), ret)
}

// isLookahead reports whether a chunk is only run ahead in test mode, for another chunk that has it
// as prereq.
func isLookahead(low state.Chunk) bool { return data.Truth(low.Value("__prereq__")) }
