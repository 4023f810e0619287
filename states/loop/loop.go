// Package loop is Salt's state loop: it calls a function until the result is as desired
// (salt/states/loop.py).
//
// In Salt the condition of loop.until is a Python expression. Here it is a Jinja expression, which
// looks the same for comparisons, in, not, and, or, items, attributes, arithmetic and the methods
// of strings, lists and dictionaries. condition.go adds some of Python's functions. Comprehensions,
// lambda and imports are rejected.
package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state loop.
func Plugin() loader.Plugin { return loader.Plugin{Name: "loop", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("until", m.until),
		loader.F("until_no_eval", m.untilNoEval),
	}}, nil
}

type untilArgs struct {
	Name      string
	MArgs     []any     `default:"None"`
	MKwargs   *data.Map `default:"None"`
	Condition any       `default:"None"`
	Period    any       `default:"1"`
	Timeout   any       `default:"60"`
}

// until calls an execution module function until a condition holds.
//
// name
//
//	The function.
//
// m_args, m_kwargs
//
//	Its positional arguments as a list, and its keyword arguments as a dictionary.
//
// condition
//
//	An expression in which m_ret is the return value of the function.
//
// period : 1
//
//	Seconds between calls.
//
// timeout : 60
//
//	Seconds after which the state fails.
//
//	wait_for_service:
//	  loop.until:
//	    - name: service.status
//	    - condition: m_ret == True
//	    - period: 5
//	    - timeout: 20
//	    - m_args:
//	      - nginx
func (m *module) until(ctx context.Context, a untilArgs) (any, error) {
	period, periodOK := seconds(a.Period)
	timeout, timeoutOK := seconds(a.Timeout)
	switch {
	case !m.env.Functions.Has(a.Name):
		return change.Failed(a.Name, "Cannot find module "+a.Name), nil
	case a.Condition == nil:
		return change.Failed(a.Name, "An exit condition must be specified"), nil
	case !periodOK:
		return change.Failed(a.Name, periodText), nil
	case !timeoutOK:
		return change.Failed(a.Name, timeoutText), nil
	case change.Test(ctx):
		return change.Would(a.Name, nil, "The execution module "+a.Name+" will be run"), nil
	}
	text := data.Str(a.Condition)
	var c *condition
	held, err := repeat(ctx, period, timeout, func() (bool, error) {
		ret, err := m.env.Call(ctx, a.Name, a.MArgs, a.MKwargs)
		if err != nil {
			return false, err
		}
		if c == nil {
			if c, err = newCondition(text); err != nil {
				return false, err
			}
		}
		return c.holds(ctx, map[string]any{"m_ret": ret, "name": a.Name, "m_args": a.MArgs,
			"m_kwargs": a.MKwargs})
	})
	switch {
	case err != nil:
		return nil, err
	case held:
		return change.Unchanged(a.Name, "Condition "+text+" was met"), nil
	}
	return change.Failed(a.Name, "Timed out while waiting for condition "+text), nil
}

type untilNoEvalArgs struct {
	Name            string
	Expected        any
	CompareOperator string    `default:"'eq'"`
	Timeout         any       `default:"60"`
	Period          any       `default:"1"`
	InitWait        any       `default:"0"`
	Args            []any     `default:"None" name:"args"`
	Kwargs          *data.Map `default:"None" name:"kwargs"`
}

// untilNoEval calls an execution module function until the comparison of its result with a value
// succeeds.
//
// name
//
//	The function.
//
// expected
//
//	The value to compare the result with.
//
// compare_operator : eq
//
//	One of lt, le, eq, ne, ge, gt, contains, is_ and is_not; or a function of an execution module,
//	or data.subdict_match. It is called with the result and the expected value.
//
// timeout : 60
//
//	Seconds after which the state fails, not including init_wait.
//
// period : 1
//
//	Seconds between calls.
//
// init_wait : 0
//
//	Seconds before the first call.
//
// args, kwargs
//
//	Positional arguments of the function as a list, and keyword arguments as a dictionary.
//
//	wait_for_service:
//	  loop.until_no_eval:
//	    - name: saltutil.cmd
//	    - expected: 'web1:ret:True'
//	    - compare_operator: data.subdict_match
//	    - period: 5
//	    - timeout: 20
//	    - args:
//	      - web1
//	      - test.ping
func (m *module) untilNoEval(ctx context.Context, a untilNoEvalArgs) (any, error) {
	period, periodOK := seconds(a.Period)
	timeout, timeoutOK := seconds(a.Timeout)
	compare, known := m.comparison(a.CompareOperator)
	switch {
	case change.Test(ctx):
		return change.Would(a.Name, nil,
			fmt.Sprintf("Would have waited for \"%s\" to produce \"%s\".", a.Name,
				data.Str(a.Expected))), nil
	case !m.env.Functions.Has(a.Name):
		return change.Failed(a.Name, fmt.Sprintf("Module.function \"%s\" is unavailable.", a.Name)),
			nil
	case !periodOK:
		return change.Failed(a.Name, periodText), nil
	case !timeoutOK:
		return change.Failed(a.Name, timeoutText), nil
	case !known:
		return change.Failed(a.Name, fmt.Sprintf("Invalid operator \"%s\" supplied.",
			a.CompareOperator)), nil
	}
	if first, ok := seconds(a.InitWait); ok && first > 0 {
		if err := pause(ctx, first); err != nil {
			return nil, err
		}
	}
	attempts, failure := 0, error(nil)
	equal, err := repeat(ctx, period, timeout, func() (bool, error) {
		attempts++
		ret, err := m.env.Call(ctx, a.Name, a.Args, a.Kwargs)
		if err != nil {
			failure = err
			return true, nil
		}
		return compare(ctx, ret, a.Expected)
	})
	switch {
	case err != nil:
		return nil, err
	case failure != nil:
		return change.Failed(a.Name, fmt.Sprintf("Exception occurred while executing %s: <class '%s'>:%s", a.Name, class(failure), failure)), nil
	case equal:
		return change.Unchanged(a.Name,
			fmt.Sprintf("Call provided the expected results in %d attempts",
				attempts)), nil
	}
	return change.Failed(a.Name, fmt.Sprintf("Call did not produce the expected result after %d attempts", attempts)), nil
}

const (
	periodText  = "Period must be specified as a float in seconds"
	timeoutText = "Timeout must be specified as a float in seconds"
)

// seconds returns a number of seconds. ok is false if v is not a number in Python.
func seconds(v any) (d time.Duration, ok bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return time.Second, true
		}
		return 0, true
	case int64:
		return time.Duration(min(max(v, -longest), longest)) * time.Second, true
	case float64:
		return time.Duration(min(max(v, -float64(longest)),
			float64(longest)) * float64(time.Second)), true
	}
	return 0, false
}

// longest is the maximum number of seconds to wait. A time.Duration is limited to 292 years.
const longest = 9e9

// repeat calls done until it returns true or an error, with a pause after each call. It returns
// false at the timeout.
func repeat(
	ctx context.Context, period, timeout time.Duration, done func() (bool, error),
) (bool, error) {
	for begin := time.Now(); time.Since(begin) < timeout; {
		if ok, err := done(); ok || err != nil {
			return ok, err
		}
		if err := pause(ctx, period); err != nil {
			return false, err
		}
	}
	return false, nil
}

func pause(ctx context.Context, d time.Duration) error {
	if d < 0 {
		return loader.Exception("ValueError", "sleep length must be non-negative")
	}
	return clock.Sleep(ctx, d)
}
