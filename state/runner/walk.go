package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state"
)

// mostTries is how often a chunk is looked at again after what it requires has run.
const mostTries = 20

// A walk goes through one list of chunks.
type walk struct {
	r        *Runner
	chunks   []*data.Map
	copied   []*data.Map // see copies
	index    *index
	results  *data.Map
	parallel map[string]*parallel // states that run aside, by tag
	active   map[string]bool      // chunks that wait for others, by tag
	failhard bool                 // a requisite failed hard: the walk is over
	entered  map[entry]int        // how often a chunk waits for itself, by way of others
}

// An entry is a chunk that is gone into.
type entry struct {
	tag   string
	ahead bool
}

// mostEntries is how often a chunk may be gone into before it is done: a chunk that others are prereqs for waits for itself twice.
const mostEntries = 8

func newWalk(r *Runner, chunks []*data.Map) *walk {
	return &walk{
		r: r, chunks: chunks, index: newIndex(chunks), results: &data.Map{},
		parallel: map[string]*parallel{}, active: map[string]bool{}, entered: map[entry]int{},
	}
}

func tagOf(chunk *data.Map) string { return state.Tag(chunk) }

// walk runs the chunks and returns their results.
func (r *Runner) walk(ctx context.Context, chunks []*data.Map) (*data.Map, error) {
	disabled, chunks := r.disabled(chunks)
	w := newWalk(r, chunks)
	err := w.all(ctx)
	if settled := w.reconcileAll(ctx); err == nil {
		err = settled
	}
	disabled.Update(w.results)
	return disabled, err
}

func (w *walk) all(ctx context.Context) error {
	for _, low := range w.chunks {
		if w.failhard || ctx.Err() != nil {
			return ctx.Err()
		}
		if !w.results.Has(tagOf(low)) {
			kill, err := w.r.pause(ctx, low)
			if kill || err != nil {
				return err
			}
			if err := w.chunk(ctx, low, 0); err != nil || w.failed(low) {
				return err
			}
		}
		clear(w.active)
	}
	return nil
}

// disabled takes the chunks out that the grain state_runs_disabled forbids, and returns their results.
func (r *Runner) disabled(chunks []*data.Map) (results *data.Map, rest []*data.Map) {
	results = &data.Map{}
	patterns := listOf(r.env.GrainsNow().Value("state_runs_disabled"))
	if len(patterns) == 0 {
		return results, chunks
	}
	for _, low := range chunks {
		fun := function(low)
		if pattern, ok := matching(patterns, fun); ok {
			results.Set(tagOf(low), data.NewMap("changes", &data.Map{}, "result", false, "comment", fmt.Sprintf(
				"The state function \"%s\" is currently disabled by \"%s\", to re-enable, run state.enable %[2]s.", fun, pattern),
				"__run_num__", r.next(), "__sls__", low.Value("__sls__")))
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

// failed reports whether a chunk failed that fails hard.
func (w *walk) failed(low *data.Map) bool {
	ret, _ := w.results.Value(tagOf(low)).(*data.Map)
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

// chunk runs what a chunk requires, and then the chunk (salt/state.py, call_chunk).
func (w *walk) chunk(ctx context.Context, low *data.Map, tries int) error {
	if e := (entry{tagOf(low), ahead(low)}); tries == 0 {
		if w.entered[e] >= mostEntries {
			w.recursive(low)
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
	if tag := tagOf(low); !data.Truth(low.Value("prerequired")) {
		w.active[tag] = true
	}
	status, reqs, err := w.judge(ctx, low)
	if err != nil {
		return err
	}
	if status == unmet {
		return w.first(ctx, low, tries)
	}
	if err := w.run(ctx, low, status, reqs); err != nil {
		return err
	}
	w.tell(ctx, low)
	return nil
}

// run runs a chunk, or not, as its requisites say.
func (w *walk) run(ctx context.Context, low *data.Map, status status, reqs requisites) error {
	switch {
	case status == failed:
		w.broken(low, reqs)
	case status == changed && !ahead(low):
		return w.watch(ctx, low, reqs)
	case status == pre:
		ret := w.skipped(low, "No changes detected")
		w.set(low, ret)
		w.r.pre[tagOf(low)] = ret
	case status == onfail:
		w.set(low, w.notRun(low, "State was not run because onfail req did not change"))
	case status == onchanges:
		w.set(low, w.notRun(low, "State was not run because none of the onchanges reqs changed"))
	default:
		return w.do(ctx, low)
	}
	return nil
}

// do runs a chunk that nothing holds back.
func (w *walk) do(ctx context.Context, low *data.Map) error {
	looksAhead := ahead(low)
	ret, err := w.r.call(ctx, w, low, 1)
	switch {
	case err != nil:
		return err
	case looksAhead:
		w.r.pre[tagOf(low)] = ret
	default:
		w.set(low, ret)
	}
	return nil
}

// watch runs a chunk that watches what changed: where it changes nothing itself, its mod_watch, too.
func (w *walk) watch(ctx context.Context, low *data.Map, reqs requisites) error {
	ret, err := w.r.call(ctx, w, low, 1)
	if err != nil {
		return err
	}
	if !data.Truth(ret.Value("changes")) && !data.Truth(ret.Value("skip_watch")) {
		watcher := watcher(low)
		watcher.Set("__reqs__", reqs.dict())
		if ret, err = w.r.call(ctx, w, watcher, 1); err != nil {
			return err
		}
	}
	w.set(low, ret)
	return nil
}

// watcher returns the chunk of another's mod_watch.
func watcher(low *data.Map) *data.Map {
	c := low.Clone()
	c.Set("sfun", low.Value("fun"))
	c.Set("fun", "mod_watch")
	return c
}

// broken is a chunk of which a requisite failed.
func (w *walk) broken(low *data.Map, reqs requisites) {
	tag := tagOf(low)
	if ret := w.r.pre[tag]; ret != nil { // it looked ahead: what it said there, without the changes that were not made
		if data.Truth(ret.Value("changes")) {
			ret.Set("changes", &data.Map{})
		}
		ret.Set("__run_num__", w.r.next())
		w.set(low, identify(ret, low))
		return
	}
	var names []string
	seen := map[string]bool{}
	for _, chunk := range reqs.all() {
		name := data.Str(chunk.Value("__sls__")) + "." + data.Str(chunk.Value("__id__"))
		ret := w.outcome(tagOf(chunk))
		if ret == nil || ret.Value("result") != false || seen[name] {
			continue
		}
		seen[name] = true
		names = append(names, name)
	}
	ret := w.fake(low, false, "One or more requisite failed: "+strings.Join(names, ", "))
	w.set(low, ret)
	w.r.pre[tag] = ret
}

// outcome returns what is known of a chunk: from looking ahead, else its result.
func (w *walk) outcome(tag string) *data.Map {
	if ret := w.r.pre[tag]; ret != nil {
		return ret
	}
	return w.result(tag)
}

// result returns the result of a tag, nil when there is none yet.
func (w *walk) result(tag string) *data.Map {
	ret, _ := w.results.Value(tag).(*data.Map)
	return ret
}

// set keeps the result of a chunk.
func (w *walk) set(low, ret *data.Map) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.results.Set(tagOf(low), ret)
}

// ahead reports whether a chunk is only looked at, for another that has it as prereq.
func ahead(low *data.Map) bool { return data.Truth(low.Value("__prereq__")) }

func function(low *data.Map) string {
	return data.Str(low.Value("state")) + "." + data.Str(low.Value("fun"))
}

// listOf returns a list; of anything else that counts a list of itself alone.
func listOf(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	case data.Tuple:
		return v
	}
	return []any{v}
}
