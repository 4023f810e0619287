package jinja

import "github.com/brineproject/brine/data"

// A set is a Python set, in the order in which its elements came. Templates get them from filters only.
type set struct{ m *data.Map }

// NewSet returns a set of the items, which must be fit to be keys of a dict.
func NewSet(items ...any) (any, error) {
	s := &set{&data.Map{}}
	for _, v := range items {
		k, err := hashKey(v)
		if err != nil {
			return nil, err
		}
		s.m.Set(k, nil)
	}
	return s, nil
}

func (s *set) Len() int         { return s.m.Len() }
func (s *set) TypeName() string { return "set" }
func (s *set) Iterate() Iterator {
	return &dictIterator{m: s.m, size: s.m.Len(), pick: pickKey}
}
func (s *set) Contains(key any) (bool, error) {
	k, err := hashKey(key)
	return err == nil && s.m.Has(k), err
}

func (s *set) repr(p *printer) {
	if s.m.Len() == 0 {
		p.add("set()")
		return
	}
	p.add("{")
	p.items(s.m.Keys())
	p.add("}")
}

func (s *set) without(o *set) *set {
	out := &set{s.m.Clone()}
	for k := range o.m.All() {
		out.m.Delete(k)
	}
	return out
}

// compare tells subsets.
func (s *set) compare(op tokenKind, o *set) bool {
	small, large := s, o
	if op == ">" || op == ">=" {
		small, large = o, s
	}
	for k := range small.m.All() {
		if !large.m.Has(k) {
			return false
		}
	}
	return op == "<=" || op == ">=" || small.m.Len() < large.m.Len()
}

// setMethod returns a method of set.
func setMethod(name string) method {
	switch name {
	case "add", "discard", "remove":
		return func(c *Call, self any) (any, error) { return setChange(c, self.(*set), name) }
	case "union", "intersection", "difference":
		return func(c *Call, self any) (any, error) { return setCombine(c, self.(*set), name) }
	case "copy":
		return func(c *Call, self any) (any, error) { return &set{self.(*set).m.Clone()}, c.none("set.copy") }
	}
	return nil
}

func setChange(c *Call, s *set, name string) (any, error) {
	v, err := c.one("set." + name)
	if err != nil {
		return nil, err
	}
	k, err := hashKey(v)
	if err != nil {
		return nil, err
	}
	switch {
	case name == "add":
		s.m.Set(k, nil)
	case !s.m.Delete(k) && name == "remove":
		return nil, c.f.run.keyError(k)
	}
	return nil, c.f.run.room(32)
}

func setCombine(c *Call, s *set, name string) (any, error) {
	out := &set{s.m.Clone()}
	for _, arg := range c.Args {
		items, err := c.f.run.list(arg)
		if err != nil {
			return nil, err
		}
		other := &set{&data.Map{}}
		for _, v := range items {
			k, err := hashKey(v)
			if err != nil {
				return nil, err
			}
			other.m.Set(k, nil)
		}
		switch name {
		case "union":
			out.m.Update(other.m)
		case "difference":
			out = out.without(other)
		default:
			out = out.without(out.without(other))
		}
	}
	return out, c.f.run.room(32 * out.m.Len())
}
