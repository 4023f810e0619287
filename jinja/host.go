package jinja

import "github.com/brineproject/brine/data"

// A Lazy value among the names and globals of a Render is called each time that a template looks
// the name up. Its result is used as it is, without Import; ok reports whether the name exists at
// all.
type Lazy func() (v any, ok bool)

// DictNamer is a function that the context of a Render may carry under the key DictNames. It
// returns the type of a dict for messages, or "" for dict.
type DictNamer func(*data.Map) string

// DictNames is the key of a DictNamer in the context of a Render.
type DictNames struct{}

// missingHint returns a message for a missing attribute, with the owner as the program names it; ""
// leaves that to Message.
func (r *run) missingHint(obj, name any) string {
	m, isDict := obj.(*data.Map)
	if !isDict {
		return ""
	}
	namer, _ := r.ctx.Value(DictNames{}).(DictNamer)
	if namer == nil {
		return ""
	}
	text, isText := name.(string)
	kind := namer(m)
	if kind == "" || !isText {
		return ""
	}
	return quote(kind+" object") + " has no attribute " + data.Repr(text)
}

// Less is Python's a < b.
func (c *Call) Less(a, b any) (bool, error) { return c.f.run.compare("<", a, b) }

// Attr is Python's getattr of a value, within the sandbox; ok reports whether the attribute exists.
func (c *Call) Attr(v any, name string) (attr any, ok bool, err error) {
	return c.f.run.attribute(v, name)
}

// Filter applies a filter of the environment by its name.
func (c *Call) Filter(name string, v any, args ...any) (any, error) {
	fn := c.f.run.env.filters[name]
	if fn == nil {
		return nil, Raise(RuntimeError, "No filter named %s.", quote(name))
	}
	return fn(&Call{Args: append([]any{v}, args...), f: c.f})
}

// TypeName returns the name of Python's type of a value: type(v).__name__.
func TypeName(v any) string { return typeName(v) }

// Hashable reports whether a value is an instance of Python's Hashable.
func Hashable(v any) bool {
	_, err := hashKey(v)
	return err == nil
}
