// Package mine is Salt's module mine: results of a minion's functions that its master stores for
// other minions to read (salt/modules/mine.py).
//
// The functions are listed in mine_functions, in the options and the pillar. Without a master
// (file_client: local) the results are stored in the minion's own datastore under the key
// mine_cache, and mine.get finds only these.
//
// Differences from Salt: functions that store values return whether the masters accepted them; Salt
// returns whether they were passed on. Positional arguments may be used for parameters with
// defaults, with which Salt's call fails. Reading the option mine_functions does not change it.
package mine

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/mine"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module mine.
func Plugin() loader.Plugin { return loader.Plugin{Name: "mine", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("update", m.update),
		loader.F("send", m.send),
		loader.F("get", m.get),
		loader.F("delete", m.delete),
		loader.F("flush", m.flush),
		loader.F("get_docker", m.getDocker),
		loader.F("valid", m.valid),
	}}, nil
}

// local reports whether there is no master.
func (m *module) local() bool { return m.env.Option("file_client") == "local" }

type updateArgs struct {
	Clear         any `default:"False"`
	MineFunctions any `default:"None"`
}

// update calls the functions of mine_functions and stores their results in the mine. A function
// that does not exist or fails is logged and skipped. If there are no such functions it returns
// nothing.
//
// mine_functions is a dictionary in the options or the pillar. Its values are the arguments of the
// functions, as a list or a dictionary. In them, mine_function names the function if the key is a
// name of your own, and allow_tgt and allow_tgt_type select the minions that may read the result:
//
//	mine_functions:
//	  test.ping: []
//	  eth0_addresses:
//	    mine_function: network.ip_addrs
//	    interface: eth0
//	    allow_tgt: 'G@role:web'
//	    allow_tgt_type: compound
//
// clear : False
//
//	Remove all other values from the mine.
//
// mine_functions
//
//	Functions to use instead of those in the options and the pillar: such a dictionary, or a list of
//	names.
//
// CLI Example:
//
//	salt '*' mine.update
func (m *module) update(ctx context.Context, a updateArgs) (any, error) {
	functions, err := m.functions(ctx, a.MineFunctions)
	if functions.Len() == 0 || err != nil {
		return nil, err
	}
	values := data.NewMap()
	for alias, definition := range functions.All() {
		d := mine.ParseDefinition(definition)
		fun := d.Fun
		if fun == "" {
			fun = data.Str(alias)
		}
		if !m.available(fun) {
			continue
		}
		v, err := m.env.Call(ctx, fun, d.Args, d.Kwargs)
		if err != nil {
			if errors.Is(err, context.Canceled) {
				return nil, err
			}
			m.env.Log.WithError(err).Errorf("Function %s in mine.update failed to execute", fun)
			continue
		}
		values.Set(alias, d.Entry(v))
	}
	return m.store(ctx, values, data.Truth(a.Clear))
}

// functions returns the functions to call: the given ones, or those of the options and the pillar.
func (m *module) functions(ctx context.Context, given any) (*data.Map, error) {
	if !data.Truth(given) {
		return loader.CallAs[*data.Map](ctx, m.env, "config.merge",
			[]any{"mine_functions", data.NewMap()}, nil)
	}
	switch given := given.(type) {
	case *data.Map:
		return given, nil
	case []any:
		all := data.NewMap()
		for _, fun := range given {
			if data.Hashable(fun) {
				all.Set(fun, data.NewMap())
			}
		}
		return all, nil
	}
	return nil, nil
}

func (m *module) available(fun string) bool {
	if m.env.Functions.Has(fun) {
		return true
	}
	m.env.Log.Errorf("Function %s in mine_functions not available", fun)
	return false
}

// store stores values in the mine.
func (m *module) store(ctx context.Context, values *data.Map, clear bool) (any, error) {
	if !m.local() {
		return m.request(ctx, data.NewMap("cmd", "_mine", "data", values, "id", m.env.Option("id"),
			"clear", clear))
	}
	if !clear {
		old, err := m.cache(ctx)
		if err != nil {
			return nil, err
		}
		if old != nil {
			old = old.Clone()
			old.Update(values)
			values = old
		}
	}
	return calls.DataUpdate(ctx, m.env, cacheKey, values)
}

// request sends a request to all masters, and returns whether they accepted it. A program other
// than the minion sends it through the minion.
func (m *module) request(ctx context.Context, load *data.Map) (any, error) {
	if m.env.Host.Masters == nil {
		return m.env.Fired(ctx, "_minion_mine", load), nil
	}
	err := m.env.Host.Masters.RequestAll(ctx, load)
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	if err != nil {
		m.env.Log.WithError(err).Warn("Unable to send mine data to master.")
	}
	return err == nil, nil
}

type sendArgs struct {
	Name   string
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// send calls a function and stores its result in the mine. Further arguments are passed to the
// function. It returns whether all of this succeeded.
//
// name
//
//	The name in the mine, and of the function unless mine_function is given.
//
// mine_function
//
//	The function to call.
//
// allow_tgt
//
//	A target: only matching minions may read the result.
//
// allow_tgt_type
//
//	The kind of that target. Default: glob.
//
// CLI Example:
//
//	salt '*' mine.send network.ip_addrs interface=eth0
//	salt '*' mine.send eth0_ip_addrs mine_function=network.ip_addrs interface=eth0
//	salt '*' mine.send eth0_ip_addrs mine_function=network.ip_addrs interface=eth0 allow_tgt='G@grain:value' allow_tgt_type=compound
func (m *module) send(ctx context.Context, a sendArgs) (any, error) {
	d := mine.ParseDefinition(append(append([]any{}, a.Args...), own(a.Kwargs)))
	fun := d.Fun
	if fun == "" {
		fun = a.Name
	}
	v, err := m.env.Call(ctx, fun, d.Args, d.Kwargs)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		m.env.Log.WithError(err).Errorf("Function %s in mine.send failed to execute", fun)
		return false, nil
	}
	return m.store(ctx, data.NewMap(a.Name, d.Entry(v)), false)
}

// own returns keyword arguments without those added by the engine (salt/utils/args.py,
// clean_kwargs).
func own(kwargs *data.Map) *data.Map {
	words := data.NewMap()
	for k, v := range kwargs.All() {
		if name, ok := k.(string); !ok || len(name) < 2 || name[:2] != "__" {
			words.Set(k, v)
		}
	}
	return words
}

type deleteArgs struct{ Fun any }

// delete removes one function from the minion's mine.
//
// CLI Example:
//
//	salt '*' mine.delete 'network.interfaces'
func (m *module) delete(ctx context.Context, a deleteArgs) (any, error) {
	if !m.local() {
		return m.request(ctx, data.NewMap("cmd", "_mine_delete", "id", m.env.Option("id"),
			"fun", a.Fun))
	}
	old, err := m.cache(ctx)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return calls.DataUpdate(ctx, m.env, cacheKey, nil)
	}
	left := old.Clone()
	if data.Hashable(a.Fun) {
		left.Delete(a.Fun)
	}
	return calls.DataUpdate(ctx, m.env, cacheKey, left)
}

// flush removes everything from the minion's mine.
//
// CLI Example:
//
//	salt '*' mine.flush
func (m *module) flush(ctx context.Context, _ loader.NoArgs) (any, error) {
	if m.local() {
		return calls.DataUpdate(ctx, m.env, cacheKey, data.NewMap())
	}
	return m.request(ctx, data.NewMap("cmd", "_mine_flush", "id", m.env.Option("id")))
}

// valid returns the existing functions of mine_functions by name, with their arguments. If there
// are none it returns nothing.
//
// CLI Example:
//
//	salt '*' mine.valid
func (m *module) valid(ctx context.Context, _ loader.NoArgs) (any, error) {
	functions, err := m.functions(ctx, nil)
	if functions.Len() == 0 || err != nil {
		return nil, err
	}
	found := data.NewMap()
	for alias, definition := range functions.All() {
		d := mine.ParseDefinition(definition)
		switch {
		case d.Fun == "" && m.available(data.Str(alias)):
			found.Set(alias, definition)
		case d.Fun != "" && m.available(d.Fun):
			words := append([]any{}, d.Args...)
			for k, v := range d.Kwargs.All() {
				words = append(words, data.NewMap(k, v))
			}
			found.Set(alias, data.NewMap(d.Fun, words))
		}
	}
	return found, nil
}
