// Package mine is Salt's module mine: results of functions of a minion that its master keeps for other minions to read
// (salt/modules/mine.py).
//
// Which functions these are stands in mine_functions, of the options and of the pillar. Without a master (file_client: local) the
// results are kept in the minion's own datastore under the key mine_cache, and mine.get finds only them.
//
// What differs from Salt: a function that stores tells whether the masters have taken it, where Salt tells that it was handed on.
// Positional arguments may stand for parameters that have defaults, where Salt's call fails. The option mine_functions is not
// changed by reading it. mine.get_docker is refused.
package mine

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/mine"
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

// update calls the functions of mine_functions and puts what they return into the mine. A function that is not there or fails is
// logged and left out. Nothing is returned when there are no such functions.
//
// mine_functions is a dictionary in the options or the pillar. Its values are the arguments of the functions, in a list or a
// dictionary. Among these mine_function names the function where the key is a name of one's own, and allow_tgt and
// allow_tgt_type say which minions may read the result:
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
//	Drop what else is in the mine.
//
// mine_functions
//
//	Other functions than those of the options and the pillar: such a dictionary, or a list of names.
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

// functions returns the functions to call: those given, or those of the options and the pillar.
func (m *module) functions(ctx context.Context, given any) (*data.Map, error) {
	if !data.Truth(given) {
		v, err := m.env.Call(ctx, "config.merge", []any{"mine_functions", data.NewMap()}, nil)
		all, _ := v.(*data.Map)
		return all, err
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

// store puts values into the mine.
func (m *module) store(ctx context.Context, values *data.Map, clear bool) (any, error) {
	if !m.local() {
		return m.tell(ctx, data.NewMap("cmd", "_mine", "data", values, "id", m.env.Option("id"), "clear", clear))
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
	return m.env.Call(ctx, "data.update", []any{cacheKey, values}, nil)
}

// tell sends a request to all masters, and reports whether they have taken it. A program beside the minion lets the minion do it.
func (m *module) tell(ctx context.Context, load *data.Map) (any, error) {
	if m.env.Host.RequestAll == nil {
		return m.env.Fired(ctx, "_minion_mine", load), nil
	}
	err := m.env.Host.RequestAll(ctx, load)
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

// send calls a function and puts what it returns into the mine. Further arguments are for the function. It tells whether all that was
// possible.
//
// name
//
//	The name in the mine: that of the function, unless mine_function is given.
//
// mine_function
//
//	The function to call.
//
// allow_tgt
//
//	A target: only the minions in it may read the result.
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

// own returns keyword arguments without those that the engine adds (salt/utils/args.py, clean_kwargs).
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

// delete takes one function out of the minion's mine.
//
// CLI Example:
//
//	salt '*' mine.delete 'network.interfaces'
func (m *module) delete(ctx context.Context, a deleteArgs) (any, error) {
	if !m.local() {
		return m.tell(ctx, data.NewMap("cmd", "_mine_delete", "id", m.env.Option("id"), "fun", a.Fun))
	}
	old, err := m.cache(ctx)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return m.env.Call(ctx, "data.update", []any{cacheKey, nil}, nil)
	}
	left := old.Clone()
	if data.Hashable(a.Fun) {
		left.Delete(a.Fun)
	}
	return m.env.Call(ctx, "data.update", []any{cacheKey, left}, nil)
}

// flush takes everything out of the minion's mine.
//
// CLI Example:
//
//	salt '*' mine.flush
func (m *module) flush(ctx context.Context, _ loader.NoArgs) (any, error) {
	if m.local() {
		return m.env.Call(ctx, "data.update", []any{cacheKey, data.NewMap()}, nil)
	}
	return m.tell(ctx, data.NewMap("cmd", "_mine_flush", "id", m.env.Option("id")))
}

// valid returns the functions of mine_functions that there are, by name, with their arguments. Nothing is returned when there are no
// such functions.
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

type getDockerArgs struct {
	Interfaces      any `default:"None"`
	Cidrs           any `default:"None"`
	WithContainerID any `name:"with_container_id" default:"False"`
}

// getDocker is refused: it collects what the module docker of minions has put into the mine under docker.ps, and there is no such
// module. mine.get reads that of other minions as it is.
//
// CLI Example:
//
//	salt '*' mine.get '*' docker.ps
func (m *module) getDocker(context.Context, getDockerArgs) (any, error) {
	return nil, loader.Execution("mine.get_docker is not there, since there is no module docker; mine.get '*' docker.ps returns what other minions have in the mine")
}
