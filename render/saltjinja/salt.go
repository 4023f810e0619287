package saltjinja

import (
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/loader"
)

// An aliasedLoader is the variable salt: salt['mod.fun'](), salt.mod.fun(), salt.mod['fun'](), 'mod.fun' in salt,
// salt.get('mod.fun').
type aliasedLoader struct{ env *loader.Env }

func (l aliasedLoader) TypeName() string { return "salt.utils.templates.AliasedLoader" }
func (l aliasedLoader) Text() string     { return "<salt.utils.templates.AliasedLoader object>" }

// Item implements jinja.Itemer.
func (l aliasedLoader) Item(key any) (any, bool, error) {
	name, ok := key.(string)
	if !ok || !strings.Contains(name, ".") || !l.env.Functions.Has(name) {
		return nil, false, nil
	}
	return loadedFunc{l.env, name}, true, nil
}

// Attr implements jinja.Attributer.
func (l aliasedLoader) Attr(name string) (any, bool, error) {
	switch name {
	case "get":
		return jinja.Func(l.get), true, nil
	case "keys":
		return jinja.Func(l.keys), true, nil
	}
	if l.env.Functions.Provider(name) == "" {
		return nil, false, nil
	}
	return loadedModule{l.env, name}, true, nil
}

// Contains implements jinja.Container.
func (l aliasedLoader) Contains(key any) (bool, error) {
	_, ok, err := l.Item(key)
	return ok, err
}

func (l aliasedLoader) get(c *jinja.Call) (any, error) {
	args, err := c.Bind("get", "key", "default=")
	if err != nil {
		return nil, err
	}
	if fn, ok, _ := l.Item(args[0]); ok {
		return fn, nil
	}
	if jinja.Given(args[1]) {
		return args[1], nil
	}
	return nil, nil
}

func (l aliasedLoader) keys(c *jinja.Call) (any, error) {
	if _, err := c.Bind("keys"); err != nil {
		return nil, err
	}
	return jinja.Import(l.env.Functions.Names()), nil
}

// A loadedModule is salt.mod.
type loadedModule struct {
	env  *loader.Env
	name string
}

func (m loadedModule) TypeName() string { return "salt.loader.lazy.LoadedMod" }
func (m loadedModule) Text() string     { return "<LoadedMod module='salt.loaded." + m.name + "'>" }

// Attr implements jinja.Attributer.
func (m loadedModule) Attr(name string) (any, bool, error) {
	full := m.name + "." + name
	if !m.env.Functions.Has(full) {
		return nil, false, nil
	}
	return loadedFunc{m.env, full}, true, nil
}

// A loadedFunc is an execution function.
type loadedFunc struct {
	env  *loader.Env
	name string
}

func (f loadedFunc) TypeName() string { return "salt.loader.lazy.LoadedFunc" }
func (f loadedFunc) Text() string     { return "<LoadedFunc name='" + f.name + "'>" }

// Call implements jinja.Callable.
func (f loadedFunc) Call(c *jinja.Call) (any, error) {
	args := make([]any, len(c.Args))
	for i, a := range c.Args {
		v, err := jinja.Export(a)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	kwargs := data.NewMap()
	for _, k := range c.Kw {
		v, err := jinja.Export(k.Value)
		if err != nil {
			return nil, err
		}
		kwargs.Set(k.Name, v)
	}
	v, err := f.env.Call(c.Context(), f.name, args, kwargs)
	if err != nil {
		return nil, &functionError{err}
	}
	return jinja.Import(v), nil
}

// A functionError is the error of an execution function. It hides what it comes from, which may be the error of another
// template.
type functionError struct{ err error }

func (e *functionError) Error() string { return e.err.Error() }
