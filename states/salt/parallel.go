package salt

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/state/change"
)

type parallelArgs struct {
	Name    any
	Runners any
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// parallelRunners calls several runners of the master concurrently, and waits for all of them.
//
// runners
//
//	A dictionary of the runners: the keys are labels, the values contain the function (name) and
//	its arguments (kwarg). A string as value is the name of a function without arguments.
//
//	parallel-state:
//	  salt.parallel_runners:
//	    - runners:
//	        one:
//	          - name: state.orchestrate
//	          - kwarg:
//	              mods: orchestrate_state_1
//	        two:
//	          - name: state.orchestrate
//	          - kwarg:
//	              mods: orchestrate_state_2
func (m *module) parallelRunners(ctx context.Context, a parallelArgs) (any, error) {
	list, err := branchesOf(a.Runners)
	if err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	var wait sync.WaitGroup
	for _, b := range list {
		wait.Go(func() { b.job, b.err = m.callRunner(ctx, b.fun, b.words) })
	}
	wait.Wait()
	for _, b := range list {
		if b.err != nil {
			ret := change.Failed(a.Name, "One of the runners raised an exception: "+b.err.Error())
			ret.Set("success", false)
			return ret, nil
		}
	}
	return joinedRuns(a.Name, list), nil
}

// A branch is one of the runners.
type branch struct {
	id    string
	fun   any
	words *data.Map
	job   *data.Map
	err   error
}

func (b *branch) ret() any { return b.job.Value("return") }

// errRunners is returned for runners that are neither a string nor a dictionary.
var errRunners = errors.New("The runners parameter must be a string or dict.") //nolint:staticcheck // Salt's text

// branchesOf parses the argument runners.
func branchesOf(v any) ([]*branch, error) {
	if fun, ok := v.(string); ok {
		return []*branch{{id: fun, fun: fun, words: data.NewMap()}}, nil
	}
	runners, ok := v.(*data.Map)
	if !ok {
		return nil, errRunners
	}
	var list []*branch
	for key, v := range runners.All() {
		b := &branch{id: data.Str(key), fun: key}
		about := repacked(v)
		if fun, ok := about.Get("name"); ok {
			b.fun = fun
		}
		words, _ := about.Value("kwarg").(*data.Map)
		b.words = words.Clone()
		list = append(list, b)
	}
	return list, nil
}

// repacked merges a list of dictionaries into one (salt/utils/data.py, repack_dictlist).
func repacked(v any) *data.Map {
	all := data.NewMap()
	list, _ := v.([]any)
	for _, item := range list {
		switch item := item.(type) {
		case *data.Map:
			all.Update(item)
		case string:
			all.Set(item, nil)
		}
	}
	return all
}

// joinedRuns combines the results of several runners.
func joinedRuns(name any, list []*branch) *data.Map {
	var failed []*branch
	states := true
	for _, b := range list {
		ret, _ := b.ret().(*data.Map)
		states = states && ret.Text("outputter") == "highstate" && ret.Has("data")
		if b.failed() {
			failed = append(failed, b)
		}
	}
	changes, comment := data.NewMap(), "All runner functions executed successfully."
	if states {
		for _, b := range list {
			if c, ok := changesIn(b.ret().(*data.Map).Value("data")).(*data.Map); ok &&
				c.Len() > 0 {
				changes.Set(b.id, c)
			}
		}
	} else {
		returned := data.NewMap()
		for _, b := range list {
			returned.Set(b.id, b.ret())
		}
		changes.Set("ret", returned)
	}
	if len(failed) > 0 {
		comment = failures(failed, states)
	}
	return change.New(name, len(failed) == 0, changes, comment)
}

// failed reports whether a runner was aborted, or its return value means failure.
func (b *branch) failed() bool {
	if b.job.Value("success") == false {
		return true
	}
	ret, _ := b.ret().(*data.Map)
	inner, _ := ret.Value("data").(*data.Map)
	return nonzero(ret.Value("retcode")) || nonzero(inner.Value("retcode")) ||
		nonzero(ret.Value("exit_code"))
}

func nonzero(code any) bool {
	n, err := loader.Int(code)
	return code != nil && (err != nil || n != 0)
}

func failures(failed []*branch, states bool) string {
	texts := make([]string, len(failed))
	for i, b := range failed {
		texts[i] = b.id
		if states {
			texts[i] = "Runner " + b.id + " failed with return value:\n" + nested(b.ret())
		}
	}
	switch {
	case states:
		return strings.Join(texts, "\n")
	case len(texts) == 1:
		return "Runner " + texts[0] + " failed."
	}
	return "Runners " + strings.Join(texts, ", ") + " failed."
}

// nested formats a value, indented by two spaces.
func nested(v any) string {
	text, err := output.Printout(output.Choice{Asked: "nested"}, v,
		output.Options{Indent: output.NoIndent{}})
	if err != nil {
		return data.Repr(v)
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return "  " + strings.Join(lines, "\n  ")
}

// changesIn returns the changes in state results, which may be nested and may come from several
// minions.
func changesIn(v any) any {
	m, ok := v.(*data.Map)
	if !ok {
		return data.NewMap()
	}
	if own, ok := m.Get("changes"); ok {
		if run, isMap := own.(*data.Map); isMap && run.Text("out") == "highstate" &&
			run.Has("ret") {
			return run.Value("ret")
		}
		return own
	}
	found := data.NewMap()
	for key, v := range m.All() {
		if c := changesIn(v); data.Truth(c) {
			found.Set(key, c)
		}
	}
	return found
}
