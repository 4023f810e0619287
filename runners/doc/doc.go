// Package doc is Salt's runner doc: it shows the documentation of functions (salt/runners/doc.py).
package doc

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Plugin returns the runner doc.
func Plugin() loader.Plugin { return loader.Plugin{Name: "doc", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("execution", m.execution),
		loader.F("runner", m.runner),
		loader.F("wheel", m.wheel),
	}}, nil
}

// execution returns the documentation of all functions of all minions that respond.
//
// CLI Example:
//
//	salt-run doc.execution
func (m *module) execution(ctx context.Context, _ loader.NoArgs) (any, error) {
	all, err := runners.Collect(ctx, m.env,
		data.NewMap("tgt", "*", "tgt_type", "glob", "fun", "sys.doc", "arg", []any{},
			"timeout", m.env.Option("timeout")))
	if err != nil {
		runners.RunOf(ctx).Printf("%v\n", err)
		return []any{}, nil
	}
	docs := &data.Map{}
	for _, answer := range all.All() {
		if ret, ok := answer.(*data.Map).Value("ret").(*data.Map); ok {
			docs.Update(ret)
		}
	}
	return docs, nil
}

// runner returns the documentation of all runners.
//
// CLI Example:
//
//	salt-run doc.runner
func (m *module) runner(context.Context, loader.NoArgs) (any, error) {
	return m.env.Functions.Docs(""), nil
}

// wheel returns the documentation of all wheel functions.
//
// CLI Example:
//
//	salt-run doc.wheel
func (m *module) wheel(context.Context, loader.NoArgs) (any, error) {
	return m.env.Registry("wheel").Docs(""), nil
}
