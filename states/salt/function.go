package salt

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

type functionArgs struct {
	Name          any
	Tgt           any
	SSH           any       `name:"ssh" default:"False"`
	TgtType       any       `default:"'glob'"`
	Ret           any       `default:"''"`
	RetConfig     any       `default:"None"`
	RetKwargs     any       `default:"None"`
	ExpectMinions any       `default:"False"`
	FailMinions   any       `default:"None"`
	FailFunction  any       `default:"None"`
	Arg           any       `default:"None"`
	Kwarg         any       `default:"None"`
	Timeout       any       `default:"None"`
	Batch         any       `default:"None"`
	Subset        any       `default:"None"`
	Failhard      any       `default:"None"`
	Kwargs        *data.Map `kwargs:"kwargs"`
}

// function calls a function on minions.
//
// name
//
//	The function.
//
// arg, kwarg
//
//	The list of its positional arguments, and the dictionary of its keyword arguments.
//
// tgt, tgt_type, ret, ret_config, ret_kwargs, timeout, batch, subset, failhard, fail_minions
//
//	As in salt.state.
//
// expect_minions
//
//	True: minions that do not return count as failed.
//
// fail_function
//
//	An execution module function on the master that receives the return value of a minion, and
//	decides whether it is a success.
//
//	cmd.run:
//	  salt.function:
//	    - tgt: '*'
//	    - arg:
//	      - rm -rf /tmp/foo
func (m *module) function(ctx context.Context, a functionArgs) (any, error) {
	ret := change.Unchanged(a.Name, "")
	arg, fun := a.positional(ret), data.Str(a.Name)
	words, _ := a.Kwarg.(*data.Map)
	if data.Truth(a.SSH) {
		return change.Failed(a.Name, noSSH), nil
	}
	if change.Test(ctx) {
		ret.Set("comment", "Function "+fun+" would be executed on target "+data.Str(a.Tgt))
		ret.Set("result", nil)
		return ret, nil
	}
	t := target{tgt: a.Tgt, tgtType: a.TgtType, ssh: a.SSH, roster: a.Kwargs.Value("roster"),
		ret: a.Ret, retConfig: a.RetConfig, retKwargs: a.RetKwargs,
		expect: a.ExpectMinions, timeout: a.Timeout, batch: a.Batch, subset: a.Subset,
		failhard: a.Failhard}
	order := m.order(t, arg, words.Clone())
	order.Set("_cmd_meta", true)
	answers, err := m.send(ctx, "function", a.Name, fun, t, order)
	if err != nil {
		ret.Set("result", false)
		ret.Set("comment", err.Error())
		return ret, nil
	}
	if jid, ok := jobOf(answers); ok {
		ret.Set("__jid__", jid)
	}
	may, warning := mayFail(a.FailMinions)
	warn(ret, warning)
	c := calls{fun: fun, may: may, judge: a.FailFunction}
	for id, answer := range answers.All() {
		if err := m.count(ctx, &c, data.Str(id), answer); err != nil {
			return nil, err
		}
	}
	c.report(ret)
	return ret, nil
}

// positional returns the positional arguments of the function.
func (a functionArgs) positional(ret *data.Map) []any {
	switch arg := a.Arg.(type) {
	case string:
		warn(ret, "Please specify 'arg' as a list of arguments.")
		words := []any{}
		for _, w := range strings.Fields(arg) {
			words = append(words, w)
		}
		return words
	case []any:
		return arg
	}
	if data.Truth(a.Arg) {
		return []any{a.Arg}
	}
	return []any{}
}

// calls collects the returns of a function on several minions.
type calls struct {
	fun      string
	may      []string // minions whose failures are ignored
	judge    any      // function that evaluates a return value; may be None
	fail     []string
	failed   bool // failed according to a return code
	returned data.Map
}

// count adds the return of a minion.
func (m *module) count(ctx context.Context, c *calls, id string, answer any) error {
	a, _ := answer.(*data.Map)
	bad := data.Truth(a.Value("retcode"))
	c.failed = c.failed || bad
	var ret any = false
	good := false
	if v, ok := value(a); ok && !data.Truth(a.Value("failed")) {
		ret, good = v, v != false
		if data.Truth(c.judge) {
			judged, err := m.env.Call(ctx, data.Str(c.judge), []any{v}, nil)
			if err != nil {
				return err
			}
			good = good && data.Truth(judged)
		}
	}
	if bad || !good && !slices.Contains(c.may, id) {
		c.fail = append(c.fail, id)
	}
	c.returned.Set(id, ret)
	return nil
}

// report fills in the result.
func (c *calls) report(ret *data.Map) {
	if c.returned.Len() == 0 {
		ret.Set("result", false)
		ret.Set("comment", "No minions responded")
		return
	}
	ret.Set("changes", data.NewMap("ret", &c.returned))
	comment := "Function ran successfully."
	if len(c.fail) > 0 {
		ret.Set("result", false)
		comment = "Running function " + c.fun + " failed on minions: " + strings.Join(c.fail, ", ")
	}
	ret.Set("comment", comment+" Function "+c.fun+" ran on "+
		strings.Join(names(&c.returned), ", ")+".")
}
