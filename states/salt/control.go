package salt

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type controlArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// runner calls a runner of the master. Further arguments are passed to it.
//
// name
//
//	The function.
//
//	run-manage-up:
//	  salt.runner:
//	    - name: manage.up
func (m *module) runner(ctx context.Context, a controlArgs) (any, error) {
	words := a.Kwargs.Clone()
	words.Set("__pub_user", m.user())
	if change.Test(ctx) {
		return change.Would(a.Name, nil, "Runner function '"+data.Str(a.Name)+
			"' would be executed."), nil
	}
	out, err := m.callRunner(ctx, a.Name, words)
	if err != nil {
		return nil, err
	}
	return jobResult("Runner", a.Name, out), nil
}

// user returns the user who runs the orchestration.
func (m *module) user() any {
	if user := m.env.Option("user"); user != nil {
		return user
	}
	return "UNKNOWN"
}

// callRunner calls a runner and returns its job.
func (m *module) callRunner(ctx context.Context, name any, words *data.Map) (*data.Map, error) {
	words = m.within(ctx, words)
	words.Set("full_return", true)
	return m.control(ctx, "saltutil.runner", name, words)
}

// within adds the IDs of the orchestration to the arguments of a call.
func (m *module) within(ctx context.Context, words *data.Map) *data.Map {
	call := change.CallOf(ctx)
	words = words.Clone()
	var jid any
	if call.Orchestration != "" {
		jid = call.Orchestration
	}
	words.Set("__orchestration_jid__", jid)
	words.Set("__env__", call.SaltEnv)
	return words
}

func (m *module) control(
	ctx context.Context, fun string, name any, words *data.Map,
) (*data.Map, error) {
	v, err := m.env.Call(ctx, fun, []any{name}, words)
	if err != nil {
		return nil, err
	}
	job, ok := v.(*data.Map)
	if !ok {
		return nil, loader.Execution("%s returned %s", fun, loader.TypeName(v))
	}
	return job, nil
}

// jobResult returns the state result for a job of the master.
func jobResult(kind string, name any, job *data.Map) *data.Map {
	ret := job.Value("return")
	success, known := job.Get("success")
	if !known {
		success = true
	}
	if m, ok := ret.(*data.Map); ok && m.Has("Error") {
		success = false
	}
	word := "failed"
	if data.Truth(success) {
		word = "executed"
	}
	result := change.New(name, success, data.NewMap("return", ret), kind+" function '"+
		data.Str(name)+"' "+word+".")
	if jid, ok := job.Get("jid"); ok {
		result.Set("__jid__", jid)
	}
	return result
}

// wheel calls a wheel function of the master. Further arguments are passed to it.
//
// name
//
//	The function.
//
//	accept_minion_key:
//	  salt.wheel:
//	    - name: key.accept
//	    - match: frank
func (m *module) wheel(ctx context.Context, a controlArgs) (any, error) {
	if change.Test(ctx) { // the result is true: in Salt it is a tuple
		return change.Unchanged(a.Name,
			"Wheel function '"+data.Str(a.Name)+"' would be executed."), nil
	}
	out, err := m.control(ctx, "saltutil.wheel", a.Name, m.within(ctx, a.Kwargs))
	if err != nil {
		return nil, err
	}
	return jobResult("Wheel", a.Name, out), nil
}
