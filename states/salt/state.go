package salt

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	states "github.com/brineproject/brine/state"
	"github.com/brineproject/brine/state/change"
)

type stateArgs struct {
	Name             any
	Tgt              any
	SSH              any       `name:"ssh" default:"False"`
	TgtType          any       `default:"'glob'"`
	Ret              any       `default:"''"`
	RetConfig        any       `default:"None"`
	RetKwargs        any       `default:"None"`
	Highstate        any       `default:"None"`
	SLS              any       `name:"sls" default:"None"`
	Top              any       `default:"None"`
	Saltenv          any       `default:"None"`
	Test             any       `default:"None"`
	Pillar           any       `default:"None"`
	Pillarenv        any       `default:"None"`
	ExpectMinions    any       `default:"True"`
	Exclude          any       `default:"None"`
	FailMinions      any       `default:"None"`
	AllowFail        any       `default:"0"`
	Concurrent       any       `default:"False"`
	Timeout          any       `default:"None"`
	Batch            any       `default:"None"`
	Queue            any       `default:"False"`
	Subset           any       `default:"None"`
	OrchestrationJID any       `name:"orchestration_jid" default:"None"`
	Failhard         any       `default:"None"`
	Kwargs           *data.Map `kwargs:"kwargs"`
}

// state runs states on minions.
//
// tgt, tgt_type
//
//	The minions. On a masterless minion the target is always the minion itself.
//
// highstate, top, sls
//
//	What to run: with highstate: True the states that the top file assigns to the minions, with
//	top another top file, with sls one SLS or a list.
//
// test, pillar, pillarenv, saltenv, exclude, queue, concurrent
//
//	Arguments of the run, as in state.sls.
//
// ret, ret_config, ret_kwargs
//
//	Returners for the results, and their options.
//
// expect_minions
//
//	False: ignore minions that do not return.
//
// fail_minions
//
//	Minions whose failures are ignored, as a list or separated by commas.
//
// allow_fail
//
//	How many minions may fail.
//
// timeout, batch, subset
//
//	The timeout for a minion, how many minions run at a time, and how many minions, chosen at
//	random, run the states.
//
// failhard
//
//	True: stop a batch at the first failure.
//
//	webservers:
//	  salt.state:
//	    - tgt: 'web*'
//	    - sls:
//	      - apache
//	      - django
//	    - saltenv: prod
func (m *module) state(ctx context.Context, a stateArgs) (any, error) {
	allowed, ok := integer(a.AllowFail)
	if !ok {
		return change.Failed(a.Name, "Passed invalid value for 'allow_fail', must be an int"), nil
	}
	fun, arg := a.fun()
	if fun == "" {
		return change.Failed(a.Name, "No highstate or sls specified, no execution made"), nil
	}
	if _, ok := a.Concurrent.(bool); !ok {
		return change.Failed(a.Name, "Must pass in boolean for value of 'concurrent'"), nil
	}
	if data.Truth(a.SSH) {
		return change.Failed(a.Name, noSSH), nil
	}
	test := a.Test
	if test == nil && change.Test(ctx) {
		test = true
	}
	answers, err := m.answers(ctx, a, fun, arg, a.words(test))
	if err != nil {
		return nil, err
	}
	ret := change.Unchanged(a.Name, "")
	if jid, ok := jobOf(answers); ok {
		ret.Set("__jid__", jid)
	}
	may, warning := mayFail(a.FailMinions)
	warn(ret, warning)
	if answers.Len() == 0 && data.Truth(a.ExpectMinions) {
		ret.Set("result", false)
		ret.Set("comment", "No minions returned")
		return ret, nil
	}
	v := verdict{may: may}
	for id, answer := range answers.All() {
		m.judge(&v, data.Str(id), answer)
	}
	v.report(ret, allowed, data.Truth(a.Test) || change.Test(ctx))
	return ret, nil
}

// integer parses a number as Python's int does. ok is false for other values.
func integer(v any) (int64, bool) {
	if s, ok := v.(string); ok {
		v = strings.TrimSpace(s)
	}
	n, err := loader.Int(v)
	return n, err == nil
}

// fun returns the function for the minions, and its arguments.
func (a stateArgs) fun() (string, []any) {
	switch {
	case data.Truth(a.Highstate):
		return "state.highstate", []any{}
	case data.Truth(a.Top):
		return "state.top", []any{a.Top}
	case data.Truth(a.SLS):
		if list, ok := a.SLS.([]any); ok {
			return "state.sls", []any{joined(list)}
		}
		return "state.sls", []any{a.SLS}
	}
	return "", nil
}

func joined(list []any) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = data.Str(v)
	}
	return strings.Join(texts, ",")
}

// words returns the keyword arguments of the run.
func (a stateArgs) words(test any) *data.Map {
	words := data.NewMap()
	for _, w := range []struct {
		name  string
		v     any
		given bool
	}{
		{"test", test, test != nil}, {"pillar", a.Pillar, data.Truth(a.Pillar)},
		{"pillarenv", a.Pillarenv, a.Pillarenv != nil},
		{"saltenv", a.Saltenv, a.Saltenv != nil}, {"exclude", a.Exclude, a.Exclude != nil},
		{"queue", a.Queue, true}, {"concurrent", a.Concurrent, true},
	} {
		if w.given {
			words.Set(w.name, w.v)
		}
	}
	return words
}

// answers runs the states on minions, or on this one if there is no master, and returns their
// returns.
func (m *module) answers(
	ctx context.Context, a stateArgs, fun string, arg []any, words *data.Map,
) (*data.Map, error) {
	if m.env.Option("__role") == "minion" && m.env.Option("file_client") == "local" {
		return m.runLocally(ctx, fun, arg, words)
	}
	t := target{tgt: a.Tgt, tgtType: a.TgtType, ssh: a.SSH, roster: a.Kwargs.Value("roster"),
		ret: a.Ret, retConfig: a.RetConfig, retKwargs: a.RetKwargs,
		expect: a.ExpectMinions, timeout: a.Timeout, batch: a.Batch, subset: a.Subset,
		failhard: a.Failhard}
	return m.send(ctx, "state", a.Name, fun, t, m.order(t, arg, words))
}

// runLocally runs states on this minion. As in Salt, the nested run is not told about this one.
func (m *module) runLocally(
	ctx context.Context, fun string, arg []any, words *data.Map,
) (*data.Map, error) {
	words.Set("concurrent", true) // the current run would block the new one
	v, err := m.env.Call(ctx, fun, arg, words)
	if err != nil {
		return nil, err
	}
	var out any = "highstate"
	if named, ok := v.(*data.Map); ok && named.Has("out") {
		out = named.Value("out")
	}
	return data.NewMap(m.env.Option("id"), data.NewMap("ret", v, "out", out)), nil
}

// A verdict is the outcome of a run on several minions.
type verdict struct {
	may     []string // minions whose failures are ignored
	fail    []string
	same    []string // minions without a change
	changes data.Map // results that failed or changed something
}

// judge adds the return of a minion.
func (m *module) judge(v *verdict, id string, answer any) {
	a, _ := answer.(*data.Map)
	if a.Text("out") != "highstate" {
		m.env.Log.Warn("Output from salt state not highstate")
	}
	var ret any = false
	good := false
	if got, ok := value(a); ok && !data.Truth(a.Value("failed")) {
		ret, good = got, states.Succeeded(got, true)
	}
	switch {
	case !good:
		if !slices.Contains(v.may, id) {
			v.fail = append(v.fail, id)
		}
		v.changes.Set(id, ret)
	case changed(ret):
		v.changes.Set(id, ret)
	default:
		v.same = append(v.same, id)
	}
}

// changed reports whether one of the results of a run has changes.
func changed(results any) bool {
	m, _ := results.(*data.Map)
	for _, v := range m.All() {
		if body, ok := v.(*data.Map); ok && data.Truth(body.Value("changes")) {
			return true
		}
	}
	return false
}

// report fills in the result.
func (v *verdict) report(ret *data.Map, allowed int64, test bool) {
	if v.changes.Len() > 0 {
		ret.Set("changes", data.NewMap("out", "highstate", "ret", &v.changes))
	}
	if int64(len(v.fail)) > allowed {
		ret.Set("result", false)
		ret.Set("comment", "Run failed on minions: "+strings.Join(v.fail, ", "))
		return
	}
	comment := "States ran successfully."
	if v.changes.Len() > 0 {
		comment += " Updating " + strings.Join(names(&v.changes), ", ") + "."
	}
	if len(v.same) > 0 {
		comment += " No changes made to " + strings.Join(v.same, ", ") + "."
	}
	ret.Set("comment", comment)
	if test && v.changes.Len() > 0 {
		ret.Set("result", nil)
	}
}

func names(m *data.Map) []string { return data.Texts(m.Keys()) }
