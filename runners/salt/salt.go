// Package salt is Salt's runner salt: it calls execution functions, on the master itself or on
// minions (salt/runners/salt.py).
package salt

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Plugin returns the runner salt.
func Plugin() loader.Plugin { return loader.Plugin{Name: "salt", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("cmd", m.cmd),
		loader.F("execute", m.execute)}}, nil
}

type cmdArgs struct {
	Fun    string
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// cmd calls an execution function on the master itself.
//
// with_pillar
//
//	True first compiles a pillar for the master.
//
// CLI Example:
//
//	salt-run salt.cmd test.ping
//	salt-run salt.cmd test.arg 1 2 3 a=1
func (m *module) cmd(ctx context.Context, a cmdArgs) (any, error) {
	kwargs := &data.Map{}
	for k, v := range a.Kwargs.All() {
		if !strings.HasPrefix(data.Str(k), "__") {
			kwargs.Set(k, v)
		}
	}
	if data.Truth(kwargs.Value("with_pillar")) && m.env.Pillar == nil {
		return nil, &runners.UnableError{Text: "with_pillar: no pillar compiler is available here."}
	}
	kwargs.Delete("with_pillar")
	functions := m.env.Registry("modules")
	if !functions.Has(a.Fun) {
		return "'" + a.Fun + "' is not available.", nil
	}
	return functions.Invoke(ctx, a.Fun, a.Args, kwargs)
}

type executeArgs struct {
	Tgt     any
	Fun     any
	Arg     any       `default:"()"`
	Timeout any       `default:"None"`
	TgtType any       `default:"'glob'"`
	Ret     any       `default:"''"`
	Jid     any       `default:"''"`
	Kwarg   *data.Map `default:"None"`
	Options *data.Map `kwargs:"kwargs"`
}

// execute calls an execution function on the minions of a target, and returns their results. They
// are empty if the order could not be submitted; the log has the reason.
//
// CLI Example:
//
//	salt-run salt.execute '*' test.ping
//	salt-run salt.execute webservers test.arg arg='[1, 2]' tgt_type=nodegroup
func (m *module) execute(ctx context.Context, a executeArgs) (any, error) {
	args, words := loader.ParseInput(data.ListOf(a.Arg))
	words.Update(a.Kwarg)
	timeout := a.Timeout
	if !data.Truth(timeout) {
		timeout = m.env.Option("timeout")
	}
	answers, err := runners.Collect(ctx, m.env,
		data.NewMap("tgt", a.Tgt, "tgt_type", a.TgtType, "fun", a.Fun,
			"arg", loader.ConditionInput(args, words), "ret", a.Ret, "jid", a.Jid,
			"timeout", timeout))
	if err != nil {
		m.env.Log.Errorf("Error while executing %s on %s (%s)", data.Str(a.Fun), data.Str(a.Tgt),
			data.Str(a.TgtType))
		m.env.Log.Error(err)
		return data.NewMap(), nil
	}
	if data.Truth(a.Options.Value("full_return")) {
		return answers, nil
	}
	for id, answer := range answers.All() {
		answers.Set(id, answer.(*data.Map).Value("ret"))
	}
	return answers, nil
}
