package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/state"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/state/runner"
)

// A bench is a host with the state x, whose functions the tests define.
type bench struct {
	opts   *data.Map
	grains *data.Map
	jid    string
	funcs  []loader.Func
	calls  []string // names of states that ran
	events []string // tags
	log    logrus.FieldLogger
	mu     sync.Mutex
}

func newBench(t *testing.T, funcs ...loader.Func) *bench {
	b := &bench{opts: data.NewMap("id", "web1", "cachedir", t.TempDir(), "test", false,
		"failhard", false, "state_events", false), grains: &data.Map{}}
	b.funcs = append(funcs, loader.F("run", b.run), loader.F("mod_watch", b.watch))
	return b
}

type xArgs struct {
	Name   string
	Result any       `default:"True"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// logged returns a hook with the further log entries of runners.
func (b *bench) logged() *logtest.Hook {
	log, hook := logtest.NewNullLogger()
	b.log = log
	return hook
}

func (b *bench) note(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, name)
}

// run changes something unless quiet is set, and returns the given result.
func (b *bench) run(_ context.Context, a xArgs) (any, error) {
	b.note(a.Name)
	changes := data.NewMap("did", a.Name)
	if data.Truth(a.Kwargs.Value("quiet")) {
		changes = &data.Map{}
	}
	return change.New(a.Name, a.Result, changes, "ran"), nil
}

func (b *bench) watch(_ context.Context, a xArgs) (any, error) {
	b.note("watch " + a.Name)
	return change.New(a.Name, true, data.NewMap("watched", data.Str(a.Kwargs.Value("sfun"))), "watched"), nil
}

func (b *bench) runner(t *testing.T) *runner.Runner {
	t.Helper()
	fire := loader.F("fire_master", func(_ context.Context, a struct {
		Data, Tag any
		Preload   any `default:"None"`
	}) (any, error) {
		b.events = append(b.events, data.Str(a.Tag))
		return true, nil
	})
	env := &loader.Env{Opts: b.opts, Grains: func() *data.Map { return b.grains }, Log: b.log}
	functions, err := loader.NewRegistry(env, []loader.Plugin{plugin("event", fire)})
	if err != nil {
		t.Fatal(err)
	}
	shelf, err := loader.NewRegistry(functions.Env(), []loader.Plugin{plugin("x", b.funcs...)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Options{Env: shelf.Env(), States: shelf, JID: b.jid})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func plugin(name string, funcs ...loader.Func) loader.Plugin {
	return loader.Plugin{Name: name,
		New: func(*loader.Env) (*loader.Module, error) { return &loader.Module{Funcs: funcs}, nil }}
}

// x returns a chunk of the state x.
func x(id string, pairs ...any) state.Chunk {
	low := state.Chunk{Map: data.NewMap("state", "x", "fun", "run", "name", id, "__id__", id,
		"__sls__", "a", "__env__", "base")}
	low.Update(data.NewMap(pairs...))
	return low
}

// on returns a requisite on the state of an ID.
func on(id string) []any { return []any{data.NewMap("x", id)} }

func (b *bench) chunks(t *testing.T, chunks ...state.Chunk) *data.Map {
	t.Helper()
	b.calls, b.events = nil, nil
	results, err := b.runner(t).Chunks(t.Context(), chunks)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func (b *bench) ran(t *testing.T, want string) {
	t.Helper()
	if got := strings.Join(b.calls, ", "); got != want {
		t.Errorf("ran %s, want %s", got, want)
	}
}

func result(t *testing.T, results *data.Map, low state.Chunk) *data.Map {
	t.Helper()
	ret, ok := results.Value(low.Tag()).(*data.Map)
	if !ok {
		t.Fatalf("no result of %s in %s", low.Tag(), data.Repr(results))
	}
	return ret
}

// TestALongChain has 10,000 states that each require the next one, and all of them a whole SLS.
func TestALongChain(t *testing.T) {
	const n = 10_000
	b := newBench(t)
	chunks := make([]state.Chunk, n)
	for i := range chunks {
		chunks[i] = x(fmt.Sprint("s", i))
		if i < n-1 {
			chunks[i].Set("require", on(fmt.Sprint("s", i+1)))
		}
	}
	last := x("last", "__sls__", "b", "require", []any{data.NewMap("sls", "a")})
	results := b.chunks(t, append(chunks, last)...)
	if results.Len() != n+1 || b.calls[0] != "s9999" || b.calls[n-1] != "s0" || b.calls[n] != "last" {
		t.Errorf("%d results, %v … ", results.Len(), b.calls[:3])
	}
}

// TestManyRequireAnSLS has thousands of states that require thousands of others. The flags of a
// group must be cached.
func TestManyRequireAnSLS(t *testing.T) {
	b := newBench(t)
	var chunks []state.Chunk
	for i := range 10_000 {
		low := x(fmt.Sprint("s", i))
		if i >= 5_000 {
			low.Update(data.NewMap("__sls__", "b",
				"onchanges", []any{data.NewMap("sls", "a"), data.NewMap("x", "s1*")}))
		}
		chunks = append(chunks, low)
	}
	if results := b.chunks(t, chunks...); results.Len() != 10_000 {
		t.Errorf("%d results", results.Len())
	}
}

func TestCyclesAreNamed(t *testing.T) {
	b := newBench(t)
	ring := make([]state.Chunk, 1000)
	for i := range ring {
		ring[i] = x(fmt.Sprint("s", i), "require", on(fmt.Sprint("s", (i+1)%len(ring))))
	}
	results := b.chunks(t, ring...)
	if got := result(t, results, ring[999]).Value("comment"); got != "Recursive requisite found" {
		t.Errorf("the end of the ring says %v", got)
	}
	if results.Len() != len(ring) || len(b.calls) != 0 {
		t.Errorf("%d results, %d states ran", results.Len(), len(b.calls))
	}
	// Here Salt ends with a RecursionError.
	p, c := x("p", "prereq", on("c"), "require", on("q")), x("c", "prerequired", on("p"), "require", on("q"))
	q := x("q", "require", on("c"), "prereq", on("c"))
	if results := b.chunks(t, c, p, q); results.Len() == 0 {
		t.Error("no results")
	}
}

func TestFailhardInARequisite(t *testing.T) {
	b := newBench(t)
	first, bad, after := x("first", "require", on("bad")), x("bad", "result", false,
		"failhard", true), x("after")
	results := b.chunks(t, first, bad, after)
	b.ran(t, "bad")
	if results.Len() != 1 {
		t.Errorf("got %s", data.Repr(results))
	}
}

func TestOnfailAllWaitsForLaterStates(t *testing.T) {
	b := newBench(t)
	low := x("h", "onfail_all", []any{data.NewMap("x", "a"), data.NewMap("x", "b")})
	b.chunks(t, low, x("a", "result", false), x("b", "result", false))
	b.ran(t, "a, b, h")
}

func TestListenComesLastAndOnce(t *testing.T) {
	b := newBench(t)
	b.chunks(t, x("l", "listen", []any{data.NewMap("x", "a"), data.NewMap("x", "b")}), x("a"), x("b"), x("z"))
	b.ran(t, "l, a, b, z, watch l")
	results := b.chunks(t, x("l", "listen", on("none")))
	ret, _ := results.Value("Listen_Error_|-listen_none_|-listen_x_|-Listen_Error").(*data.Map)
	if ret.Value("comment") != "Referenced state x: none does not exist" {
		t.Errorf("got %s", data.Repr(results))
	}
}

func TestStatesRunInParallel(t *testing.T) {
	meet := make(chan string)
	b := newBench(t, loader.F("meet", func(ctx context.Context, a xArgs) (any, error) {
		select { // two of them must be running at the same time
		case meet <- a.Name:
		case <-meet:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return change.New(a.Name, true, data.NewMap("met", true), ""), nil
	}))
	one, two := x("one", "fun", "meet", "parallel", true), x("two", "fun", "meet", "parallel", true)
	after := x("after", "require", []any{data.NewMap("x", "one"), data.NewMap("x", "two")})
	results := b.chunks(t, one, two, after)
	for _, low := range []state.Chunk{one, two} {
		if ret := result(t, results, low); ret.Value("result") != true ||
			ret.Value("__parallel__") != true || !ret.Has("__run_num__") {
			t.Errorf("got %s", data.Repr(ret))
		}
	}
	b.ran(t, "after")
}

// TestStateMaxParallel counts how many of six states run concurrently.
func TestStateMaxParallel(t *testing.T) {
	for _, tt := range []struct {
		option any
		most   int64
	}{{int64(2), 2}, {int64(1), 1}, {int64(0), 6}, {nil, 6}} {
		synctest.Test(t, func(t *testing.T) {
			var now, most atomic.Int64
			b := newBench(t, loader.F("stay", func(ctx context.Context, a xArgs) (any, error) {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				select {
				case <-time.After(time.Minute):
				case <-ctx.Done():
				}
				return change.New(a.Name, true, nil, ""), nil
			}))
			b.opts.Set("state_max_parallel", tt.option)
			var chunks []state.Chunk
			for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
				chunks = append(chunks, x(name, "fun", "stay", "parallel", true))
			}
			for _, v := range b.chunks(t, chunks...).All() {
				if ret, _ := v.(*data.Map); ret.Value("result") != true {
					t.Errorf("a state gives %s", data.Repr(v))
				}
			}
			if most.Load() != tt.most {
				t.Errorf("state_max_parallel %v: %d states ran at once, want %d", tt.option,
					most.Load(), tt.most)
			}
		})
	}
}

// The walk marks its chunks while a parallel state runs. The state must not read them, because
// concurrent access to a map crashes the process.
func TestParallelStatesReadCopies(t *testing.T) {
	release := make(chan struct{})
	var seen []*data.Map
	b := newBench(t, loader.F("look", func(ctx context.Context, a xArgs) (any, error) {
		select {
		case <-release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		seen = change.CallOf(ctx).Chunks()
		return change.New(a.Name, true, nil, ""), nil
	}), loader.F("go", func(_ context.Context, a xArgs) (any, error) {
		close(release)
		return change.New(a.Name, true, nil, ""), nil
	}))
	chunks := []state.Chunk{x("one", "fun", "look", "parallel", true), x("two", "fun", "go"), x("three")}
	b.chunks(t, chunks...)
	if len(seen) != len(chunks) {
		t.Fatalf("%d chunks are seen, want %d", len(seen), len(chunks))
	}
	for i, low := range chunks {
		if seen[i] == low.Map || seen[i].Value("name") != low.Value("name") {
			t.Errorf("chunk %d is that of the walk, or another: %s", i, data.Repr(seen[i]))
		}
	}
}

func TestRetryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		b := newBench(t, loader.F("third", func(_ context.Context, a xArgs) (any, error) {
			tries++
			return change.New(a.Name, tries == 3, nil, fmt.Sprint("try ", tries)), nil
		}))
		retry := data.NewMap("attempts", int64(5), "interval", int64(40), "until", true)
		for _, parallel := range []bool{false, true} {
			tries = 0
			low := x("r", "fun", "third", "retry", retry)
			if parallel {
				low.Set("parallel", true)
			}
			began := time.Now()
			ret := result(t, b.chunks(t, low), low)
			if took := time.Since(began); took != 80*time.Second || ret.Value("result") != true ||
				ret.Value("duration").(float64) < 80_000 {
				t.Errorf("parallel %v: it took %v: %s", parallel, took, data.Repr(ret))
			}
			if !strings.Contains(ret.Text("comment"), `Attempt 1: Returned a result of "False"`) {
				t.Errorf("comment %q", ret.Text("comment"))
			}
		}
	})
}

func (b *bench) pause(t *testing.T, content *data.Map) string {
	t.Helper()
	dir := filepath.Join(b.opts.Text("cachedir"), "state_pause")
	body, err := payload.MarshalBin(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, b.jid)
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPausesAndSoftKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.jid = "20260101000000000000"
		began := time.Now()
		b.pause(t, data.NewMap("two", data.NewMap("duration", int64(30))))
		b.chunks(t, x("one"), x("two"), x("three"))
		if took := time.Since(began); took < 30*time.Second || took > 32*time.Second {
			t.Errorf("the pause took %v", took)
		}
		b.ran(t, "one, two, three")

		file := b.pause(t, data.NewMap("two", data.NewMap()))
		time.AfterFunc(time.Minute, func() { _ = os.Remove(file) }) // state.resume
		began = time.Now()
		b.chunks(t, x("one"), x("two"))
		if took := time.Since(began); took < time.Minute || took > 62*time.Second {
			t.Errorf("it went on after %v", took)
		}

		killed := b.pause(t, data.NewMap("two", data.NewMap("kill", true)))
		b.chunks(t, x("one"), x("two"), x("three"))
		b.ran(t, "one")
		if _, err := os.Stat(killed); err == nil {
			t.Error("the pauses of a run that is over are kept")
		}
	})
}

func TestKilledJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		low := x("a", "result", false, "retry", data.NewMap("attempts", int64(9), "interval", int64(50)))
		if _, err := b.runner(t).Chunks(ctx, []state.Chunk{low, x("b")}); err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
		b.ran(t, "a, a")
	})
}

func TestEvents(t *testing.T) {
	b := newBench(t)
	b.jid = "20260101000000000000"
	chunks := func() []state.Chunk {
		return []state.Chunk{x("a", "fire_event", true, "require", on("c")),
			x("b", "fire_event", "my/tag"), x("c")}
	}
	b.chunks(t, chunks()...)
	tags := strings.Join(b.events, " ")
	if want := "salt/state_result/20260101000000000000/web1/a salt/state_result/20260101000000000000/web1/my/tag"; tags != want {
		t.Errorf("events %s", tags)
	}
	b.opts.Set("state_events", true)
	b.chunks(t, chunks()...)
	if tags = strings.Join(b.events, " "); !strings.HasPrefix(tags,
		"salt/job/20260101000000000000/prog/web1/0 ") || len(b.events) != 3 {
		t.Errorf("events %s", tags)
	}
	b.opts.Set("local", true)
	if b.chunks(t, chunks()...); len(b.events) != 0 {
		t.Errorf("a run without a master fires %v", b.events)
	}
}

func TestModInitAndAggregate(t *testing.T) {
	inits, joined := 0, 0
	b := newBench(t,
		loader.F("mod_init", func(context.Context, struct{ Low any }) (any, error) { inits++; return inits == 2, nil }),
		loader.F("mod_aggregate", func(_ context.Context, a struct{ Low, Chunks, Running any }) (any, error) {
			low := a.Low.(*data.Map)
			for _, v := range a.Chunks.([]any) {
				if other := v.(*data.Map); other != low && !data.Truth(other.Value("__agg__")) {
					other.Set("__agg__", true)
					joined++
				}
			}
			return low, nil
		}))
	b.opts.Set("state_aggregate", []any{"x"})
	b.chunks(t, x("a"), x("b"), x("c"))
	if inits != 2 || joined != 2 {
		t.Errorf("mod_init ran %d times, %d states were joined", inits, joined)
	}
}

// TestNameOfAnError checks that the result of an error has the first argument without a default as its
// name.
func TestNameOfAnError(t *testing.T) {
	type args struct {
		First any
		Name  any
	}
	b := newBench(t, loader.F("raises", func(context.Context, args) (any, error) {
		return nil, loader.Execution("no")
	}))
	low := x("a", "fun", "raises", "first", "one", "name", "two")
	if ret := result(t, b.chunks(t, low), low); ret.Value("name") != "one" {
		t.Errorf("got %s", data.Repr(ret))
	}
}

func TestMalformedResults(t *testing.T) {
	give := any(nil)
	b := newBench(t, loader.F("odd", func(context.Context, xArgs) (any, error) { return give, nil }))
	for _, c := range []struct {
		give any
		want string
	}{
		{"text", "Malformed state return. Data must be a dictionary type."},
		{data.NewMap("name", "x"), "'Changes' should be a dictionary."},
		{data.NewMap("changes", data.NewMap(), "name", "x"),
			"The following keys were not present in the state return: result, comment."},
	} {
		give = c.give
		low := x("a", "fun", "odd")
		ret := result(t, b.chunks(t, low), low)
		if ret.Value("comment") != "An exception occurred in this state: "+c.want ||
			ret.Value("__run_num__") != int64(0) {
			t.Errorf("%v gives %s", c.give, data.Repr(ret))
		}
	}
	give = data.NewMap("name", "x", "changes", data.NewMap(), "result", int64(1), "comment", []any{"a", "b"})
	low := x("a", "fun", "odd")
	if ret := result(t, b.chunks(t, low), low); ret.Value("comment") != "a\nb" ||
		ret.Value("result") != true {
		t.Errorf("got %s", data.Repr(ret))
	}
}

func TestSubStates(t *testing.T) {
	b := newBench(t, loader.F("parent", func(_ context.Context, a xArgs) (any, error) {
		ret := change.Unchanged(a.Name, "")
		sub := change.New("kid", true, data.NewMap("k", "v"), "did it")
		sub.Set("low", data.NewMap("state", "x", "fun", "run", "name", "kid", "__id__", "kid"))
		ret.Set("sub_state_run", []any{sub})
		return ret, nil
	}))
	results := b.chunks(t, x("a", "fun", "parent"))
	ret, _ := results.Value("x_|-kid_|-kid_|-run").(*data.Map)
	if ret.Value("comment") != "did it" || ret.Value("__id__") != "a" {
		t.Errorf("got %s", data.Repr(results))
	}
}

func TestWrongChunks(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		low  state.Chunk
		want string
	}{
		{x("a", "fun", "none"), "State 'x.none' was not found in SLS 'a'\nReason: 'x.none' is not available.\n"},
		{x("a", "umask", "nine"), "Invalid umask: nine\n"},
		{x("a", "require", on("a")), "Recursive require detected in SLS a for require OrderedDict([('x', 'a')]) in ID a\n"},
	} {
		r := b.runner(t)
		ret, err := r.Call(t.Context(), c.low)
		if err != nil || ret.Value("comment") != c.want || ret.Value("result") != false {
			t.Errorf("got %s, %v, want %q", data.Repr(ret), err, c.want)
		}
	}
	if _, err := b.runner(t).Chunks(t.Context(),
		[]state.Chunk{x("a", "require", []any{data.NewMap("x", []any{"b"})})}); err == nil ||
		err.Error() != "Could not locate requisite of [x] present in state with name [a]" {
		t.Errorf("a requisite that is a list gives %v", err)
	}
	strict := newBench(t, loader.F("strict",
		func(context.Context, struct{ Name string }) (any, error) { return nil, nil }))
	_, err := strict.runner(t).Chunks(t.Context(), []state.Chunk{x("a", "fun", "strict", "b", 1, "c", 2)})
	if loader.KindOf(err) != loader.KindInvocation ||
		err.Error() != "'b' and 'c' are invalid keyword arguments for 'x.strict': ID 'a' in SLS 'a'" {
		t.Errorf("arguments too many give %v", err)
	}
}

type managedArgs struct {
	Name     string
	Contents any `default:"None"`
}

// Misspelt functions and arguments are reported with a suggestion after Salt's own message.
func TestMisspeltChunks(t *testing.T) {
	b := newBench(t, loader.F("managed", func(context.Context, managedArgs) (any, error) { return nil, nil }))
	for _, c := range []struct{ fun, want string }{
		{"manged", "State 'x.manged' was not found in SLS 'a'\nReason: 'x.manged' is not available.\nIs 'x.managed' meant?\n"},
		{"mod_wach", "State 'x.mod_wach' was not found in SLS 'a'\nReason: 'x.mod_wach' is not available.\n"},
	} {
		if ret, err := b.runner(t).Call(t.Context(), x("a", "fun", c.fun)); err != nil ||
			ret.Value("comment") != c.want {
			t.Errorf("%s: got %s, %v, want %q", c.fun, data.Repr(ret), err, c.want)
		}
	}
	_, err := b.runner(t).Call(t.Context(), x("a", "fun", "managed", "contnets", "b"))
	if want := "'contnets' is an invalid keyword argument for 'x.managed': ID 'a' in SLS 'a'; is 'contents' meant?"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A function with **kwargs ignores unknown arguments. If one resembles a known argument, the log
// has a warning. Results are the same as Salt's.
func TestSuspiciousArguments(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct{ word, want string }{
		{"reslt", "'reslt' is not an argument of x.run; is 'result' meant?"},
		{"requires", "'requires' is not an argument of x.run; is 'require' meant?"},
		{"context", ""}, {"user", ""}, {"result", ""}, {"onlyif", ""}, {"__resul__", ""},
	} {
		for _, template := range []string{"", "jinja"} { // templates use the arguments as variables
			hook := b.logged()
			ret, err := b.runner(t).Call(t.Context(), x("a", c.word, []any{}, "template", template))
			if err != nil || ret.Has("warnings") {
				t.Errorf("%s: got %s, %v", c.word, data.Repr(ret), err)
			}
			var logged string
			for _, entry := range hook.AllEntries() {
				if entry.Level == logrus.WarnLevel {
					logged += entry.Message
				}
			}
			want := c.want
			if template != "" {
				want = ""
			}
			if want == "" && logged != "" || !strings.HasSuffix(logged, want) {
				t.Errorf("%s with template %q: the log has %q, want %q", c.word, template, logged, want)
			}
		}
	}
}

func TestDisabledStates(t *testing.T) {
	b := newBench(t)
	b.grains.Set("state_runs_disabled", []any{"x.r*"})
	low := x("a")
	ret := result(t, b.chunks(t, low), low)
	if want := `The state function "x.run" is currently disabled by "x.r*", to re-enable, run state.enable x.r*.`; ret.Value("comment") != want {
		t.Errorf("got %s", data.Repr(ret))
	}
	b.ran(t, "")
}

// TestBeacons checks that mod_beacon runs after all states, for those with the argument beacon, and
// without their requisites.
func TestBeacons(t *testing.T) {
	var b *bench
	b = newBench(t, loader.F("mod_beacon", func(_ context.Context, a xArgs) (any, error) {
		b.note("beacon " + a.Name)
		return change.New(a.Name, true, nil, data.Str(a.Kwargs.Value("sfun"))+" "+data.Str(a.Kwargs.Value("beacon"))), nil
	}))
	results := b.chunks(t, x("a", "beacon", true, "require", on("b")), x("b"), x("c", "beacon", false))
	if got := strings.Join(b.calls, ", "); got != "b, a, c, beacon a, beacon c" {
		t.Errorf("ran %s", got)
	}
	for tag, comment := range map[string]string{"x_|-beacon_a_|-a_|-mod_beacon": "run True",
		"x_|-beacon_c_|-c_|-mod_beacon": "run False"} {
		ret, _ := results.Value(tag).(*data.Map)
		if ret.Text("comment") != comment || ret.Value("result") != true {
			t.Errorf("%s: %s, want %s", tag, data.Repr(ret), comment)
		}
	}
	if results.Len() != 5 {
		t.Errorf("results %s", data.Repr(results))
	}
}
