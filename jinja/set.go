package jinja

import "github.com/brineproject/brine/data"

// A set is a Python set that keeps the order in which elements were added. Templates get sets only
// from filters.
type set struct{ m *data.Map }

// NewSet returns a set of the items, which must be valid keys of a dict.
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

// compare tests for subsets.
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
	case "union", "intersection", "difference", "symmetric_difference":
		return func(c *Call, self any) (any, error) { return setCombine(c, self.(*set), name) }
	case "issubset", "issuperset", "isdisjoint":
		return func(c *Call, self any) (any, error) { return setRelation(c, self.(*set), name) }
	case "update":
		return setUpdate
	case "clear":
		return func(c *Call, self any) (any, error) { self.(*set).m.Clear(); return nil, c.none("set.clear") }
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
		other, err := c.f.run.setOf(arg)
		if err != nil {
			return nil, err
		}
		switch name {
		case "union":
			out.m.Update(other.m)
		case "symmetric_difference":
			more := other.without(out)
			out = out.without(other)
			out.m.Update(more.m)
		case "difference":
			out = out.without(other)
		default:
			out = out.without(out.without(other))
		}
	}
	return out, c.f.run.room(32 * out.m.Len())
}

// setOf returns a set of the elements of a value.
func (r *run) setOf(v any) (*set, error) {
	items, err := r.list(v)
	if err != nil {
		return nil, err
	}
	s, err := NewSet(items...)
	if err != nil {
		return nil, err
	}
	return s.(*set), r.room(32 * len(items))
}

func setRelation(c *Call, s *set, name string) (any, error) {
	arg, err := c.one("set." + name)
	if err != nil {
		return nil, err
	}
	other, err := c.f.run.setOf(arg)
	if err != nil {
		return nil, err
	}
	switch name {
	case "issubset":
		return s.compare("<=", other), nil
	case "issuperset":
		return s.compare(">=", other), nil
	}
	return s.without(other).Len() == s.Len(), nil
}

func setUpdate(c *Call, self any) (any, error) {
	if err := c.noKeywords("set.update"); err != nil {
		return nil, err
	}
	for _, arg := range c.Args {
		more, err := c.f.run.setOf(arg)
		if err != nil {
			return nil, err
		}
		self.(*set).m.Update(more.m)
	}
	return nil, nil
}

// subtract is a - b of sets and of the keys and items of dicts.
func (r *run) subtract(a, b any) (any, error) {
	switch x := a.(type) {
	case *set:
		if y, ok := b.(*set); ok {
			return x.without(y), nil
		}
	case *dictView:
		if x.kind == "values" {
			break
		}
		left, err := r.setOf(x)
		if err != nil {
			return nil, err
		}
		right, err := r.setOf(b)
		if err != nil {
			return nil, err
		}
		return left.without(right), nil
	}
	return nil, unsupported("-", a, b)
}
