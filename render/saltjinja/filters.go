package saltjinja

import (
	"maps"

	"github.com/brineproject/brine/jinja"
)

// filters returns Salt's filters by name: those that its modules mark with jinja_filter, and those
// of SerializerExtension.
func filters() map[string]jinja.Func {
	all := map[string]jinja.Func{}
	for _, group := range []map[string]jinja.Func{
		formatFilters(), listFilters(), setFilters(), dictFilters(), textFilters(), regexFilters(),
		hashFilters(), fileFilters(), networkFilters(), iterFilters(), dateFilters(),
		otherFilters(),
	} {
		maps.Copy(all, group)
	}
	return all
}

// A params reads the arguments of a call one by one; it keeps the first error.
type params struct {
	c    *jinja.Call
	args []any
	err  error
}

func bind(c *jinja.Call, function string, names ...string) *params {
	args, err := c.Bind(function, names...)
	if err != nil {
		args = make([]any, len(names))
	}
	return &params{c, args, err}
}

// text returns argument i, which must be text.
func (p *params) text(i int) string {
	s, ok := textOf(p.args[i])
	if !ok && p.err == nil {
		p.err = typeError(p.args[i], "expected string or bytes-like object, got '"+
			jinja.TypeName(p.args[i])+"'")
	}
	return s
}

// or returns argument i, or otherwise if it was left out.
func (p *params) or(i int, otherwise any) any {
	if p.err == nil && jinja.Given(p.args[i]) {
		return p.args[i]
	}
	return otherwise
}

// truth reports whether argument i counts as true; false if it was left out.
func (p *params) truth(i int) bool {
	v := p.or(i, false)
	ok, err := p.c.Truth(v)
	p.note(err)
	return ok
}

// number returns argument i as a whole number.
func (p *params) number(i int, otherwise int64) int64 {
	switch v := p.or(i, otherwise).(type) {
	case int64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	case nil:
		return otherwise
	default:
		p.note(jinja.Raise(jinja.TypeError, "'%s' object cannot be interpreted as an integer",
			jinja.TypeName(v)))
	}
	return otherwise
}

// items returns the elements of argument i.
func (p *params) items(i int) []any {
	if p.err != nil {
		return nil
	}
	out, err := p.c.Items(p.args[i])
	p.note(err)
	return out
}

func (p *params) note(err error) {
	if p.err == nil {
		p.err = err
	}
}

// typeError returns a TypeError, or the error of an undefined value.
func typeError(v any, message string) error {
	if u, ok := v.(*jinja.Undefined); ok {
		return jinja.Raise(jinja.UndefinedError, "%s", u.Message())
	}
	return jinja.Raise(jinja.TypeError, "%s", message)
}

// one makes a filter from a function of the value alone.
func one(name string, fn func(c *jinja.Call, v any) (any, error)) jinja.Func {
	return func(c *jinja.Call) (any, error) {
		args, err := c.Bind(name, "value")
		if err != nil {
			return nil, err
		}
		if err := defined(args[0]); err != nil {
			return nil, err
		}
		return fn(c, args[0])
	}
}

// defined returns an error for undefined values.
func defined(v any) error {
	if u, ok := v.(*jinja.Undefined); ok {
		return jinja.Raise(jinja.UndefinedError, "%s", u.Message())
	}
	return nil
}
