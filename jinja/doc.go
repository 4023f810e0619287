// Package jinja renders templates of the language Jinja 3.1 as Python's jinja2 does inside its
// sandbox.
//
// An Environment holds the options, filters, tests, globals and tags of a family of templates; a
// Template is one source that was parsed with it. Both are safe for concurrent use; the state of a
// Render is its own.
//
//	env, err := jinja.New(jinja.Options{Undefined: jinja.Strict})
//	t, err := env.Parse("motd", "{% for r in roles %}{{ r | upper }} {% endfor %}")
//	text, err := t.Render(ctx, map[string]any{"roles": []any{"web", "cache"}})
//
// Source becomes tokens (lexer.go) and tokens become a tree (parse*.go). Names in the tree become
// slots of the frame that they belong to (resolve.go), and the nodes of the tree execute themselves
// (run*.go, eval*.go).
//
// Values are those of package data, with one difference: a list is a *List, because templates
// change lists that are shared. Values from outside are copied at their first use (Import), so a
// template never changes its caller's values; Export converts a value back. Values of other types
// can be used through the small interfaces of object.go.
//
// Python's rules apply throughout: integers have no limit, floats and texts print as by str and
// repr, 1 and 1.0 are the same key of a dict, and texts are counted in code points. str, list, dict
// and tuple have their methods, and errors have Python's messages.
//
// Nothing runs without a limit: see Limits. Operators that would need too much memory are rejected
// before they allocate it.
//
// It differs from Python in several points. Objects without a text of their own (functions,
// generators) print without an address, and cannot be keys of a dict; Markup as a key becomes text.
// A negative number to a fractional power is an error, as there are no complex numbers. lipsum
// returns one fixed text. \N{...} in text is rejected. break and continue outside of a loop report
// their line in the template. The sandbox cannot be switched off.
package jinja
