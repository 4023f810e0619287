package saltjinja

import (
	"context"
	"strconv"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/loader/matchers"
	"github.com/brineproject/brine/match"
)

func itoa(n int) string { return strconv.Itoa(n) }

// globals returns the names that every template sees in addition to Jinja's own.
func globals() map[string]any {
	return map[string]any{
		"raise": jinja.Func(raise), "ifelse": jinja.Func(ifelse), "odict": jinja.Func(orderedDict),
		"show_full_context": jinja.Func(showFullContext),
	}
}

// tests returns Salt's tests. Its equalto is Jinja's.
func tests() map[string]jinja.Func {
	return map[string]jinja.Func{"match": testMatch, "list": isList}
}

// raise ends the rendering with a message (salt/utils/jinja.py, jinja_raise).
func raise(c *jinja.Call) (any, error) {
	args, err := c.Bind("jinja_raise", "msg")
	if err != nil {
		return nil, err
	}
	text, err := c.Str(args[0])
	if err != nil {
		return nil, err
	}
	return nil, jinja.Raise("TemplateError", "%s", text)
}

// orderedDict is OrderedDict.
func orderedDict(c *jinja.Call) (any, error) {
	dict, ok := c.Lookup("dict")
	if !ok {
		return nil, jinja.Raise(jinja.TypeError, "'dict' is not there")
	}
	v, err := c.Invoke(dict, c.Args, c.Kw)
	if m, isMap := v.(*data.Map); isMap {
		m.SetOrdered()
	}
	return v, err
}

// showFullContext returns all names, with the text of values that have no simple type.
func showFullContext(c *jinja.Call) (any, error) {
	return simple(c, c.Names(), 0)
}

func simple(c *jinja.Call, v any, depth int) (any, error) {
	if depth > 200 {
		return nil, jinja.Raise(jinja.PythonError, "maximum recursion depth exceeded")
	}
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
		return v, nil
	case jinja.Markup:
		return string(v), nil
	case *data.Map:
		out := data.NewMap()
		for k, item := range v.All() {
			s, err := simple(c, item, depth+1)
			if err != nil {
				return nil, err
			}
			out.Set(k, s)
		}
		return out, nil
	case *jinja.List:
		items, err := simpleItems(c, v.Items, depth)
		return jinja.NewList(items...), err
	case data.Tuple:
		items, err := simpleItems(c, v, depth)
		return jinja.NewList(items...), err
	}
	return c.Str(v)
}

func simpleItems(c *jinja.Call, items []any, depth int) ([]any, error) {
	out := make([]any, len(items))
	for i, v := range items {
		var err error
		if out[i], err = simple(c, v, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ifelse takes pairs of a compound target and a value, and a final value for when no target matches
// the minion (salt/modules/match.py). With a merge argument it is the execution function.
func ifelse(c *jinja.Call) (any, error) {
	if len(c.Args)%2 == 0 {
		return nil, jinja.Raise("SaltException",
			"The ifelse function must have an odd number of arguments!")
	}
	if len(c.Kw) > 0 {
		return loadedFunc{stateOf(c.Context()).step.Engine.Env(), "match.ifelse"}.Call(c)
	}
	m := stateOf(c.Context()).minion(c.Context())
	for i := 0; i+1 < len(c.Args); i += 2 {
		named, err := m.is(c, c.Args[i])
		if err != nil {
			return nil, err
		}
		if named {
			return c.Args[i+1], nil
		}
	}
	return c.Args[len(c.Args)-1], nil
}

type minion struct {
	match.Minion
	options match.Options
}

func (st *state) minion(ctx context.Context) minion {
	env := st.step.Engine.Env()
	groups, _ := env.Option("nodegroups").(*data.Map)
	id, _ := env.Option("id").(string)
	return minion{match.Minion{ID: id, Grains: env.GrainsNow(), Pillar: env.PillarNow()},
		match.Options{Nodegroups: groups, Own: matchers.Of(ctx, env)}}
}

// is reports whether a target matches the minion, or returns a truth value as it is.
func (m minion) is(c *jinja.Call, target any) (bool, error) {
	if b, ok := target.(bool); ok {
		return b, nil
	}
	text, err := c.Str(target)
	if err != nil {
		return false, err
	}
	e, err := match.Compile(text, "compound", "", m.options)
	return err == nil && e.Match(&m.Minion), nil
}
