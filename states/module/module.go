// Package module is Salt's state module: it calls functions of execution modules
// (salt/states/module.py).
//
// run.go implements the form with functions as keys, classic.go the form with the function as the
// name.
//
// Oddity kept from Salt: if several functions are missing, or are to be run in test mode, the
// comment contains "functionTrue".
package module

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state module.
func Plugin() loader.Plugin { return loader.Plugin{Name: "module", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("run", m.run),
		loader.F("run", m.run).Alias("mod_watch"),
		loader.F("wait", m.wait),
		loader.F("wait", m.wait).Alias("watch"),
	}}, nil
}

type waitArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// wait calls functions only when a watched state changed something. The arguments are those of
// module.run.
//
//	refresh:
//	  module.wait:
//	    - name: saltutil.sync_all
//	    - watch:
//	      - file: /etc/salt/minion
func (m *module) wait(_ context.Context, a waitArgs) (any, error) {
	return change.Unchanged(a.Name, ""), nil
}

// succeeded reports whether the return value of a function means success (salt/states/module.py,
// _get_result).
func succeeded(v, kept any) bool {
	if m, ok := v.(*data.Map); ok && isFailure(m) {
		return false
	}
	if b, ok := v.(bool); ok {
		return b
	}
	m, ok := kept.(*data.Map)
	switch {
	case !ok:
		return true
	case isBool(m.Value("result")):
		return m.Value("result") == true
	case isFailure(m):
		return false
	}
	return deepResult(m, 0)
}

func isFailure(m *data.Map) bool {
	code, ok := m.Get("retcode")
	return ok && !data.Equal(code, int64(0))
}

func isBool(v any) bool { _, ok := v.(bool); return ok }

// maxDepth is the maximum depth to which a result is searched.
const maxDepth = 1000

// deepResult looks for a failure in a dictionary and in nested ones.
func deepResult(m *data.Map, depth int) bool {
	for key, v := range m.All() {
		below, ok := v.(*data.Map)
		if key == "result" && v == false || ok && depth < maxDepth && !deepResult(below, depth+1) {
			return false
		}
	}
	return true
}

// keep passes a result to the returner that the state names.
func (m *module) keep(ctx context.Context, returner any, fun string, v any) error {
	registry := m.env.Registry("returners")
	name, ok := returner.(string)
	if !ok || !registry.Has(name) {
		return nil
	}
	ret := data.NewMap("id", m.env.Option("id"), "ret", v, "fun", fun,
		"jid", string(job.NewID(time.Now())))
	_, err := registry.Invoke(ctx, name, []any{ret}, nil)
	return err
}
