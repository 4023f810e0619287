package jinja

import (
	"strings"

	"github.com/brineproject/brine/data"
)

// builtinGlobals returns the names that every template sees (jinja2.defaults.DEFAULT_NAMESPACE).
func builtinGlobals() map[string]any {
	return map[string]any{
		"range":     &builtin{"safe_range", newRange},
		"dict":      &class{"dict", newDict},
		"lipsum":    &builtin{"generate_lorem_ipsum", lipsum},
		"cycler":    &class{"jinja2.utils.Cycler", newCycler},
		"joiner":    &class{"jinja2.utils.Joiner", newJoiner},
		"namespace": &class{"jinja2.utils.Namespace", newNamespace},
	}
}

func newDict(c *Call) (any, error) {
	if len(c.Args) > 1 {
		return nil, Raise(TypeError, "dict expected at most 1 argument, got %d", len(c.Args))
	}
	m := &data.Map{}
	return m, c.f.run.fill(m, c)
}

func newNamespace(c *Call) (any, error) {
	m, err := newDict(c)
	if err != nil {
		return nil, err
	}
	return &namespace{m.(*data.Map)}, nil
}

func newCycler(c *Call) (any, error) {
	if len(c.Kw) > 0 {
		return nil, Raise(TypeError, "Cycler.__init__() got an unexpected keyword argument %s",
			quote(c.Kw[0].Name))
	}
	if len(c.Args) == 0 {
		return nil, Raise(PythonError, "at least one item has to be provided")
	}
	return &cycler{items: append([]any{}, c.Args...)}, nil
}

func newJoiner(c *Call) (any, error) {
	args, err := c.bind(signature{name: "Joiner.__init__", hidden: 1,
		params: []param{opt("sep", ", ")}})
	if err != nil {
		return nil, err
	}
	return &joiner{sep: args[0]}, nil
}

// lipsum returns the same paragraph as many times as requested.
func lipsum(c *Call) (any, error) {
	args, err := c.bind(signature{name: "generate_lorem_ipsum", params: []param{
		opt("n", int64(5)), opt("html", true), opt("min", int64(20)), opt("max", int64(100))}})
	if err != nil {
		return nil, err
	}
	n, err := indexOf(args[0])
	if err != nil {
		return nil, err
	}
	html, err := c.f.run.truth(args[1])
	if err != nil {
		return nil, err
	}
	const text = "Lorem ipsum dolor sit amet, consectetuer adipiscing elit. Vestibulum ante ipsum primis in faucibus orci luctus et ultrices posuere cubilia."
	if err := c.f.run.room(max(n, 0) * len(text)); err != nil {
		return nil, err
	}
	if html {
		return Markup(strings.TrimSuffix(strings.Repeat("<p>"+text+"</p>\n", max(n, 0)), "\n")), nil
	}
	return strings.TrimSuffix(strings.Repeat(text+"\n\n", max(n, 0)), "\n\n"), nil
}
