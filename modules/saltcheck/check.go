package saltcheck

import (
	"context"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// stateApply is the function of tests that need no assertion.
const stateApply = "saltcheck.state_apply"

// A checker runs tests (class SaltCheck of Salt). Several goroutines may use it.
type checker struct {
	env     *loader.Env
	compare *comparer
	details bool // the option saltcheck_output_details

	mu    sync.Mutex
	known map[string][]string // functions of modules
}

func newChecker(ctx context.Context, env *loader.Env) (*checker, error) {
	details, err := calls.ConfigGet[any](ctx, env, "saltcheck_output_details", false)
	if err != nil {
		return nil, err
	}
	compare, err := newComparer()
	if err != nil {
		return nil, err
	}
	return &checker{env: env, compare: compare, details: data.Truth(details),
		known: map[string][]string{}}, nil
}

// runAll runs tests and returns their results by name, in the same order.
func (c *checker) runAll(ctx context.Context, tests *data.Map) (*data.Map, error) {
	limit, err := c.atOnce(ctx, tests)
	if err != nil {
		return nil, err
	}
	names := tests.Keys()
	done := make([]*data.Map, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i, name := range names {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			test, ok := tests.Value(name).(*data.Map)
			if !ok {
				return loader.Exception("AttributeError", "'%s' object has no attribute 'get'",
					loader.TypeName(tests.Value(name)))
			}
			var err error
			if done[i], err = c.run(ctx, test); err != nil {
				c.env.Log.Errorf("saltcheck: run test %s: %v", data.Str(name), err)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	results := data.NewMap().SetOrdered()
	for i, name := range names {
		results.Set(name, done[i])
	}
	return results, nil
}

// atOnce returns how many tests may run at the same time.
func (c *checker) atOnce(ctx context.Context, tests *data.Map) (int, error) {
	parallel, err := calls.ConfigGet[any](ctx, c.env, "saltcheck_parallel")
	if err != nil || !data.Truth(parallel) {
		return 1, err
	}
	for _, v := range tests.All() {
		test, _ := v.(*data.Map)
		if fun := data.Str(test.Value("module_and_function")); fun == stateApply ||
			strings.Contains(fun, "state.apply") {
			c.env.Log.Warning("saltcheck: tests that apply states run one after another")
			return 1, nil
		}
	}
	limit, err := calls.ConfigGet[any](ctx, c.env, "saltcheck_processes")
	if err != nil || !data.Truth(limit) {
		return runtime.NumCPU(), err
	}
	n, err := loader.Int(limit)
	if err != nil {
		return 0, loader.Execution("option saltcheck_processes: %w", err)
	}
	return int(max(1, min(n, 1024))), nil
}

// run runs one test and returns its result.
func (c *checker) run(ctx context.Context, test *data.Map) (*data.Map, error) {
	start := time.Now()
	result := data.NewMap()
	ok, err := c.valid(ctx, test)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		result.Set("status", "Fail - invalid test")
	case data.Truth(test.Value("skip")):
		return data.NewMap("status", "Skip", "duration", 0.0), nil
	default:
		if err := c.judge(ctx, test, result); err != nil {
			return nil, err
		}
	}
	result.Set("duration", rounded(time.Since(start).Seconds()))
	return result, nil
}

func rounded(seconds float64) float64 { return math.Round(seconds*1e4) / 1e4 }

// valid reports whether a test names a function that exists and assertions that can be checked. Of
// a list of assertions only the last one counts, as in Salt.
func (c *checker) valid(ctx context.Context, test *data.Map) (bool, error) {
	fun := test.Value("module_and_function")
	if fun == stateApply {
		return true, nil
	}
	ok := true
	list, err := assertions(test)
	if err != nil {
		return false, err
	}
	for _, a := range list {
		ok = c.complete(a)
	}
	if !data.Truth(fun) {
		c.env.Log.Error("Saltcheck: missing module_and_function")
		return false, nil
	}
	name, isText := fun.(string)
	if !isText {
		return false, loader.Exception("AttributeError", "'%s' object has no attribute 'split'",
			loader.TypeName(fun))
	}
	parts := strings.Split(name, ".")
	switch {
	case len(parts) == 1:
		return false, loader.Exception("ValueError",
			"not enough values to unpack (expected 2, got 1)")
	case len(parts) > 2:
		return false, loader.Exception("ValueError", "too many values to unpack (expected 2)")
	}
	exists, err := c.exists(ctx, parts[0], name)
	return ok && exists, err
}

// assertions returns the assertions of a test: its list, or the test itself.
func assertions(test *data.Map) ([]*data.Map, error) {
	v := test.Value("assertions")
	if !data.Truth(v) {
		return []*data.Map{test}, nil
	}
	list, err := loader.Elements(v)
	if err != nil {
		return nil, err
	}
	all := make([]*data.Map, len(list))
	for i, v := range list {
		a, ok := v.(*data.Map)
		if !ok {
			return nil, loader.Exception("AttributeError", "'%s' object has no attribute 'get'",
				loader.TypeName(v))
		}
		all[i] = a
	}
	return all, nil
}

// complete reports whether an assertion is known and has the value that it needs.
func (c *checker) complete(a *data.Map) bool {
	name := a.Value("assertion")
	kind, ok := kinds()[data.Str(name)]
	if !ok {
		c.env.Log.Errorf("Saltcheck: %s is not in the assertions list", data.Str(name))
	}
	if !kind.alone && expectedOf(a) == nil {
		c.env.Log.Error("Saltcheck: expected_return missing a value")
		return false
	}
	return ok
}

// expectedOf returns the expected value of an assertion, whose old name is expected-return.
func expectedOf(a *data.Map) any {
	if v, ok := a.Get("expected_return"); ok {
		return v
	}
	return a.Value("expected-return")
}

// exists reports whether a function is available.
func (c *checker) exists(ctx context.Context, module, fun string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	functions, ok := c.known[module]
	if !ok {
		var err error
		functions, err = loader.CallAs[[]string](ctx, c.env, "sys.list_functions",
			[]any{module}, nil)
		if err != nil {
			return false, err
		}
		c.known[module] = functions
	}
	if !slices.Contains(functions, fun) {
		c.env.Log.Errorf("Saltcheck: %s is not a valid function", fun)
		return false, nil
	}
	return true, nil
}

// judge calls the function of a test and adds to result what its assertions say.
func (c *checker) judge(ctx context.Context, test, result *data.Map) error {
	j := &judgement{compare: c.compare, fun: data.Str(test.Value("module_and_function")),
		args: test.Value("args"), details: c.details, shown: true}
	if v, ok := test.Get("output_details"); ok {
		j.details = data.Truth(v)
	}
	if v, ok := test.Get("print_result"); ok {
		j.shown = data.Truth(v)
	}
	var err error
	if j.returned, err = c.call(ctx, j.fun, test); err != nil {
		return err
	}
	if !data.Truth(test.Value("assertions")) {
		return j.assert(ctx, test, result)
	}
	list, err := assertions(test)
	if err != nil {
		return err
	}
	return j.assertAll(ctx, list, result)
}

// call calls the function of a test, with a return code of its own.
func (c *checker) call(ctx context.Context, fun string, test *data.Map) (any, error) {
	var args []any
	if v := test.Value("args"); data.Truth(v) {
		var err error
		if args, err = loader.Elements(v); err != nil {
			return nil, loader.TypeError("Value after * must be an iterable, not %s",
				loader.TypeName(v))
		}
	}
	kwargs := data.NewMap()
	if v := test.Value("kwargs"); data.Truth(v) {
		given, ok := v.(*data.Map)
		if !ok {
			return nil, loader.TypeError("the kwargs of a test must be a dictionary, not %s",
				loader.TypeName(v))
		}
		kwargs = given.Clone()
		kwargs.Delete("pillar")
	}
	pillar, ok := test.Get("pillar_data")
	if !ok {
		pillar = test.Value("pillar-data")
	}
	if data.Truth(pillar) {
		kwargs.Set("pillar", pillar)
	}
	return c.env.Call(loader.WithContext(ctx, &loader.Context{}), fun, args, kwargs)
}
