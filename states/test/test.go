// Package test is Salt's state test: states that change nothing and return the requested result
// (salt/states/test.py).
package test

import (
	"context"
	"math/rand/v2"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state test.
func Plugin() loader.Plugin { return loader.Plugin{Name: "test", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("nop", m.nop),
		loader.F("succeed_without_changes", m.succeedWithoutChanges),
		loader.F("fail_without_changes", m.failWithoutChanges),
		loader.F("succeed_with_changes", m.succeedWithChanges),
		loader.F("fail_with_changes", m.failWithChanges),
		loader.F("configurable_test_state", m.configurableTestState),
		loader.F("show_notification", m.showNotification),
		loader.F("mod_watch", m.modWatch),
		loader.F("check_pillar", m.checkPillar),
	}}, nil
}

type anyArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// comment returns the argument comment, or a default.
func (a anyArgs) comment(standard string) any {
	if c, ok := a.Kwargs.Get("comment"); ok {
		return c
	}
	return standard
}

func pretended() *data.Map {
	return data.NewMap("testing", change.OldNew("Unchanged", "Something pretended to change"))
}

// nop does nothing and succeeds. It provides an ID that other states can refer to.
//
//	base:
//	  test.nop:
//	    - name: foo
func (m *module) nop(_ context.Context, a anyArgs) (any, error) {
	return change.Unchanged(a.Name, "Success!"), nil
}

// succeedWithoutChanges succeeds without changes. The argument comment sets the comment.
//
//	fine:
//	  test.succeed_without_changes:
//	    - name: foo
func (m *module) succeedWithoutChanges(_ context.Context, a anyArgs) (any, error) {
	return change.New(a.Name, true, nil, a.comment("Success!")), nil
}

// failWithoutChanges fails without changes. The argument comment sets the comment.
//
//	unsupported:
//	  test.fail_without_changes:
//	    - name: "OS not supported!"
//	    - failhard: True
func (m *module) failWithoutChanges(ctx context.Context, a anyArgs) (any, error) {
	if change.Test(ctx) {
		return change.Failed(a.Name, "If we weren't testing, this would be a failure!"), nil
	}
	return change.New(a.Name, false, nil, a.comment("Failure!")), nil
}

// succeedWithChanges succeeds and reports changes. The argument comment sets the comment.
//
//	changed:
//	  test.succeed_with_changes:
//	    - name: foo
func (m *module) succeedWithChanges(ctx context.Context, a anyArgs) (any, error) {
	if change.Test(ctx) {
		return change.Would(a.Name, pretended(),
			"If we weren't testing, this would be successful with changes"), nil
	}
	return change.New(a.Name, true, pretended(), a.comment("Success!")), nil
}

// failWithChanges fails and reports changes. The argument comment sets the comment.
//
//	half-done:
//	  test.fail_with_changes:
//	    - name: foo
func (m *module) failWithChanges(ctx context.Context, a anyArgs) (any, error) {
	if change.Test(ctx) {
		return change.Would(a.Name, pretended(),
			"If we weren't testing, this would be failed with changes"), nil
	}
	return change.New(a.Name, false, pretended(), a.comment("Failure!")), nil
}

type configurableArgs struct {
	Name     any
	Changes  any `default:"True"`
	Result   any `default:"True"`
	Comment  any `default:"''"`
	Warnings any `default:"None"`
}

// configurableTestState returns the result that its arguments request.
//
// changes
//
//	True, False, or Random.
//
// result
//
//	True, False, or Random.
//
// comment
//
//	The comment.
//
// warnings
//
//	A warning, or a list of warnings.
//
//	my-custom-combo:
//	  test.configurable_test_state:
//	    - name: foo
//	    - changes: True
//	    - result: False
//	    - comment: bar.baz
//	    - warnings: A warning
func (m *module) configurableTestState(ctx context.Context, a configurableArgs) (any, error) {
	ret := change.New(a.Name, false, nil, a.Comment)
	changes, err := choice(a.Changes,
		"You have specified the state option 'changes' with invalid arguments. It must be either True, False, or 'Random'")
	if err != nil {
		return nil, err
	}
	if changes {
		ret.Set("changes", pretended())
	}
	result, err := choice(a.Result,
		"You have specified the state option 'result' with invalid arguments. It must be either True, False, or 'Random'")
	if err != nil {
		return nil, err
	}
	ret.Set("result", result)
	if err := warn(ret, a.Warnings); err != nil {
		return nil, err
	}
	if change.Test(ctx) {
		pretend(ret, a)
	}
	return ret, nil
}

// pretend sets the result of test mode.
func pretend(ret *data.Map, a configurableArgs) {
	ret.Set("result", nil)
	if a.Changes == false {
		ret.Set("result", true)
	}
	if !data.Truth(a.Comment) {
		ret.Set("comment", "This is a test")
	}
}

func choice(v any, complaint string) (bool, error) {
	if b, ok := v.(bool); ok {
		return b, nil
	}
	if strings.EqualFold(data.Str(v), "random") {
		return rand.IntN(2) == 0, nil
	}
	return false, loader.Invocation("%s", complaint)
}

func warn(ret *data.Map, warnings any) error {
	switch w := warnings.(type) {
	case nil:
	case string:
		ret.Set("warnings", []any{w})
	case []any:
		ret.Set("warnings", w)
	default:
		return loader.Invocation("You have specified the state option 'warnings' with invalid arguments. It must be a string or a list of strings")
	}
	return nil
}

type notificationArgs struct {
	Name   any
	Text   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// showNotification succeeds with a text as its comment.
//
//	remember:
//	  test.show_notification:
//	    - text: Restart the printer by hand.
func (m *module) showNotification(_ context.Context, a notificationArgs) (any, error) {
	if !data.Truth(a.Text) {
		return nil, loader.Invocation("Missing required argument text.")
	}
	return change.New(a.Name, true, nil, a.Text), nil
}

type watchArgs struct {
	Name   any
	Sfun   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// modWatch reports the changes of a state of this module that watches others. The arguments result,
// comment and changes replace those of its result.
//
//	watcher:
//	  test.succeed_without_changes:
//	    - watch:
//	      - test: changed
func (m *module) modWatch(ctx context.Context, a watchArgs) (any, error) {
	ret := data.NewMap("name", a.Name, "result", true, "comment", "Watch statement fired.")
	fired := []any{}
	run := change.CallOf(ctx)
	reqs, _ := run.Low.Value("__reqs__").(*data.Map)
	watched, _ := reqs.Value("watch").([]any)
	for _, v := range watched {
		m, _ := v.(*data.Map)
		chunk := state.Chunk{Map: m}
		if before := run.Ran(chunk.Tag()); data.Truth(before.Value("changes")) {
			fired = append(fired, chunk.State()+": "+data.Str(chunk.ID()))
		}
	}
	ret.Set("changes", data.NewMap("Requisites with changes", fired))
	for _, key := range []string{"result", "comment", "changes"} {
		if v, ok := a.Kwargs.Get(key); ok {
			ret.Set(key, v)
		}
	}
	return ret, nil
}
