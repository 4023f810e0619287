// Package module is Salt's state module: it calls functions of execution modules (salt/states/module.py).
//
// run.go has the form in which functions are the keys, classic.go the one in which the function is the name.
//
// What is odd, and as in Salt: of several functions that are missing, or to be run in test mode, the comment says "functionTrue".
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

// wait calls functions when a state changed something that it watches, and not otherwise. The arguments are those of module.run.
//
//	refresh:
//	  module.wait:
//	    - name: saltutil.sync_all
//	    - watch:
//	      - file: /etc/salt/minion
func (m *module) wait(_ context.Context, a waitArgs) (any, error) {
	return change.Done(a.Name, ""), nil
}

// judged reports whether what a function returned means success (salt/states/module.py, _get_result).
func judged(v, kept any) bool {
	if m, ok := v.(*data.Map); ok && fails(m) {
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
	case fails(m):
		return false
	}
	return deepResult(m, 0)
}

func fails(m *data.Map) bool {
	code, ok := m.Get("retcode")
	return ok && !data.Equal(code, int64(0))
}

func isBool(v any) bool { _, ok := v.(bool); return ok }

// mostDepth is how deep a result is searched.
const mostDepth = 1000

// deepResult looks for a failure in a dictionary and in those in it.
func deepResult(m *data.Map, depth int) bool {
	for key, v := range m.All() {
		below, ok := v.(*data.Map)
		if key == "result" && v == false || ok && depth < mostDepth && !deepResult(below, depth+1) {
			return false
		}
	}
	return true
}

// keep gives a result to the returner that the state names.
func (m *module) keep(ctx context.Context, returner any, fun string, v any) error {
	shelf := m.env.Shelf("returners")
	name, ok := returner.(string)
	if !ok || !shelf.Has(name) {
		return nil
	}
	ret := data.NewMap("id", m.env.Option("id"), "ret", v, "fun", fun, "jid", string(job.NewID(time.Now())))
	_, err := shelf.Invoke(ctx, name, []any{ret}, nil)
	return err
}
