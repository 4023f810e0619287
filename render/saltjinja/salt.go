package saltjinja

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/loader"
)

// An aliasedLoader is the variable salt: salt['mod.fun'](), salt.mod.fun(), salt.mod['fun'](),
// 'mod.fun' in salt, salt.get('mod.fun').
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
		v, err := f.toFunction(a, i, "")
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	kwargs := data.NewMap()
	for _, k := range c.Kw {
		v, err := f.toFunction(k.Value, -1, k.Name)
		if err != nil {
			return nil, err
		}
		kwargs.Set(k.Name, v)
	}
	v, err := f.env.Call(c.Context(), f.name, args, kwargs)
	if err != nil {
		return nil, &functionError{err}
	}
	if d, ok := v.(*absent); ok {
		return d.value, nil
	}
	return f.fromFunction(c, args, kwargs, v), nil
}

// An absent is an undefined value that was passed to a function as a default. The function may only
// return it.
type absent struct{ value *jinja.Undefined }

// toFunction converts an argument for the function. Only Salt's pillar.get inspects its default.
func (f loadedFunc) toFunction(v any, i int, name string) (any, error) {
	if u, ok := v.(*jinja.Undefined); ok && f.name != "pillar.get" {
		if fn, found := f.env.Functions.Func(f.name); found {
			params := fn.Spec().Params
			if i >= 0 && i < len(params) {
				name = params[i].Name
			}
			if name == "default" {
				return &absent{u}, nil
			}
		}
	}
	return jinja.Export(v)
}

// fromFunction converts a result for the template. Dicts of the template that the function may
// change get the changes made to their copies. If such a dict is also the result, the original is
// returned.
func (f loadedFunc) fromFunction(c *jinja.Call, args []any, kwargs *data.Map, result any) any {
	fn, ok := f.env.Functions.Func(f.name)
	if !ok || len(fn.Spec().Changes) == 0 {
		return jinja.Import(result)
	}
	own := jinja.Import
	spec := fn.Spec()
	for i, p := range spec.Params {
		if !slices.Contains(spec.Changes, p.Name) {
			continue
		}
		held, now := changedDict(c, args, kwargs, i, p.Name)
		if held != nil && now != nil {
			adoption{}.dict(held, now)
			if same, ok := result.(*data.Map); ok && same == now {
				own = func(any) any { return held }
			}
		}
	}
	return own(result)
}

// changedDict returns the dict passed for a parameter, and its copy.
func changedDict(
	c *jinja.Call, args []any, kwargs *data.Map, i int, name string,
) (held, now *data.Map) {
	if i < len(args) {
		held, _ = c.Args[i].(*data.Map)
		now, _ = args[i].(*data.Map)
		return held, now
	}
	for _, k := range c.Kw {
		if k.Name == name {
			held, _ = k.Value.(*data.Map)
		}
	}
	now, _ = kwargs.Value(name).(*data.Map)
	return held, now
}

// An adoption is a walk through a copy, with its dicts that were already processed.
type adoption map[*data.Map]bool

// dict makes held, a template's dict, equal to now, a changed copy of it. Unchanged dicts and lists
// within it are kept, since the template may refer to them elsewhere.
func (a adoption) dict(held, now *data.Map) {
	if held == now || a[now] {
		return
	}
	a[now] = true
	old := held.Clone()
	held.Clear()
	for k, v := range now.All() {
		held.Set(k, a.value(old.Value(k), v))
	}
}

func (a adoption) value(held, now any) any {
	switch now := now.(type) {
	case *data.Map:
		if m, ok := held.(*data.Map); ok {
			a.dict(m, now)
			return m
		}
	case []any:
		if was, err := jinja.Export(held); err == nil && data.Equal(was, now) {
			return held
		}
	}
	return jinja.Import(now)
}

// A functionError is the error of an execution function. It hides its cause, which may be the error
// of another template.
type functionError struct{ err error }

// maxErrorText limits the text of a function's error, in bytes: each template that renders another
// one repeats its error.
const maxErrorText = 16 << 10

func (e *functionError) Error() string {
	text := e.err.Error()
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + " …"
	}
	return text
}
