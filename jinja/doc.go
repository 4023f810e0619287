// Package jinja renders templates of the language Jinja 3.1 as Python's jinja2 does inside its sandbox.
//
// An Environment holds the options, filters, tests, globals and tags of a family of templates; a Template is one source
// that was parsed under it. Both may be used by several goroutines; what happens during one Render is its own.
//
//	env, err := jinja.New(jinja.Options{Undefined: jinja.Strict})
//	t, err := env.Parse("motd", "{% for r in roles %}{{ r | upper }} {% endfor %}")
//	text, err := t.Render(ctx, map[string]any{"roles": []any{"web", "cache"}})
//
// Source becomes tokens (lexer.go), tokens a tree (parse*.go), names in the tree become slots of the frame they live in
// (resolve.go), and the nodes of the tree run themselves (run*.go, eval*.go).
//
// Values are those of package data, with one difference: a list is a *List, because templates change lists that others
// hold. What comes from outside is copied at its first use (Import), so a template never changes its caller's values;
// Export turns a value back. A value of another type takes part through the small interfaces of object.go.
//
// Python's rules hold throughout: integers without bound, floats and texts printed as str and repr print them, 1 and
// 1.0 one key of a dict, texts counted in code points, methods of str, list, dict and tuple, and its messages in errors.
//
// Nothing runs without bound: see Limits. Operators that would need much memory are refused before they take it.
//
// What differs from Python: objects without a text of their own (functions, generators) print without an address, and
// they cannot be keys of a dict; Markup as a key becomes text. A negative number to a broken power is an error, as
// there are no complex numbers. lipsum gives one fixed text. \N{...} in text is refused. break and continue outside of a
// loop tell their line in the template. The sandbox cannot be switched off.
package jinja
