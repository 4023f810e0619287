package jinja

import "github.com/brineproject/brine/data"

// A group is a result of groupby: a tuple of the key and its elements, which can also be accessed
// by name.
type group struct {
	key  any
	list *List
}

func (g *group) TypeName() string  { return "jinja2.filters._GroupTuple" }
func (g *group) Len() int          { return 2 }
func (g *group) tuple() data.Tuple { return data.Tuple{g.key, g.list} }
func (g *group) Iterate() Iterator { return &sliceIterator{items: g.tuple()} }
func (g *group) repr(p *printer)   { p.tuple(g.tuple()) }

func (g *group) Item(key any) (any, bool, error) {
	i, ok := position(key, 2)
	if !ok {
		return nil, false, nil
	}
	return g.tuple()[i], true, nil
}

func (g *group) Attr(name string) (any, bool, error) {
	switch name {
	case "grouper":
		return g.key, true, nil
	case "list":
		return g.list, true, nil
	}
	return nil, false, nil
}
