package saltjinja

import (
	"github.com/brineproject/brine/jinja"
)

// otherFilters returns filters that fit in no other group.
func otherFilters() map[string]jinja.Func {
	return map[string]jinja.Func{
		"skip":        func(*jinja.Call) (any, error) { return "", nil },
		"method_call": methodCall, "http_query": httpQuery,
	}
}

// methodCall calls a method by its name; a missing method gives None.
func methodCall(c *jinja.Call) (any, error) {
	if len(c.Args) < 2 {
		return nil, jinja.Raise(jinja.TypeError,
			"method_call() missing 1 required positional argument: 'f_name'")
	}
	name, ok := textOf(c.Args[1])
	if !ok {
		return nil, typeError(c.Args[1], "attribute name must be string, not '"+
			jinja.TypeName(c.Args[1])+"'")
	}
	fn, err := c.Filter("attr", c.Args[0], name)
	if err != nil {
		return nil, err
	}
	if _, missing := fn.(*jinja.Undefined); missing {
		return nil, nil
	}
	return c.Invoke(fn, c.Args[2:], c.Kw)
}

// httpQuery requests a URL through the execution function http.query, which a small minion does not
// have.
func httpQuery(c *jinja.Call) (any, error) {
	env := stateOf(c.Context()).step.Engine.Env()
	if !env.Functions.Has("http.query") {
		return nil, invocation("the filter http_query needs the execution function http.query, which is not available")
	}
	return loadedFunc{env, "http.query"}.Call(c)
}
