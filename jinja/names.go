package jinja

import "slices"

// Names are the names that a source mentions, wherever they stand. Each is there once.
type Names struct {
	Filters, Tests []string
	// Paths are variables with the attributes and constant keys that follow: a.b['c'] is a, b, c.
	// The part a.b has a path of its own. a.get('b') counts as a['b'].
	Paths [][]string
}

// Names returns the names in a source, which need not exist.
func (e *Environment) Names(name, source string) (*Names, error) {
	key := cacheKey{loader: fromText, name: name, version: source, syntax: e.syntax,
		tags: e.tagNames, nesting: e.limits.Nesting}
	prog, err := compile(source, key, e.tags, e.limits)
	if err != nil {
		return nil, err
	}
	n := &Names{}
	v := &visitor{name: func(*nameExpr) {}, enter: func(stmt) bool { return true }, each: n.add}
	v.stmts(prog.stmts)
	return n, nil
}

// Filters returns the names of all filters, in order.
func (e *Environment) Filters() []string { return sortedKeys(e.filters) }

// Tests returns the names of all tests, in order.
func (e *Environment) Tests() []string { return sortedKeys(e.tests) }

func (n *Names) add(e expr) {
	switch e := e.(type) {
	case *filterExpr:
		n.Filters = including(n.Filters, e.name)
	case *testExpr:
		n.Tests = including(n.Tests, e.name)
	default:
		path := pathOf(e)
		same := func(p []string) bool { return slices.Equal(p, path) }
		if len(path) > 0 && !slices.ContainsFunc(n.Paths, same) {
			n.Paths = append(n.Paths, path)
		}
	}
}

func including(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// pathOf returns the path of an expression; none if it does not begin with a variable or a key is
// not constant.
func pathOf(e expr) []string {
	switch e := e.(type) {
	case *nameExpr:
		return []string{e.name}
	case *attrExpr:
		return longer(e.of, e.name)
	case *itemExpr:
		return withKey(e.of, e.key)
	case *callExpr:
		get, ok := e.fn.(*attrExpr)
		if !ok || get.name != "get" || len(e.pos) == 0 {
			return nil
		}
		if of, ok := get.of.(*nameExpr); ok {
			return withKey(of, e.pos[0])
		}
	}
	return nil
}

func withKey(of, key expr) []string {
	if c, ok := key.(*constExpr); ok {
		if name, ok := c.value.(string); ok {
			return longer(of, name)
		}
	}
	return nil
}

func longer(of expr, name string) []string {
	path := pathOf(of)
	if path == nil {
		return nil
	}
	return append(path, name)
}
