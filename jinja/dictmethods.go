package jinja

import "github.com/brineproject/brine/data"

// dictMethod returns a method of dict.
func dictMethod(name string) method {
	switch name {
	case "get":
		return dictGet
	case "items", "keys", "values":
		return func(c *Call, self any) (any, error) {
			return &dictView{self.(*data.Map), name}, c.none("dict." + name)
		}
	case "update":
		return dictUpdate
	case "setdefault":
		return dictSetDefault
	case "pop":
		return dictPop
	case "popitem":
		return dictPopItem
	case "copy":
		return func(c *Call, self any) (any, error) {
			m := self.(*data.Map)
			if err := c.f.run.room(32 * m.Len()); err != nil {
				return nil, err
			}
			return m.Clone(), c.none("dict.copy")
		}
	case "clear":
		return func(c *Call, self any) (any, error) {
			if err := c.none("dict.clear"); err != nil {
				return nil, err
			}
			self.(*data.Map).Clear()
			return nil, nil
		}
	case "fromkeys":
		return dictFromKeys
	}
	return nil
}

func dictGet(c *Call, self any) (any, error) {
	if err := c.between("dict.get", 1, 2); err != nil {
		return nil, err
	}
	k, err := hashKey(c.Args[0])
	if err != nil {
		return nil, err
	}
	if v, ok := self.(*data.Map).Get(k); ok {
		return v, nil
	}
	if len(c.Args) == 2 {
		return c.Args[1], nil
	}
	return nil, nil
}

func dictSetDefault(c *Call, self any) (any, error) {
	if err := c.between("dict.setdefault", 1, 2); err != nil {
		return nil, err
	}
	m := self.(*data.Map)
	k, err := hashKey(c.Args[0])
	if err != nil {
		return nil, err
	}
	if v, ok := m.Get(k); ok {
		return v, nil
	}
	var v any
	if len(c.Args) == 2 {
		v = c.Args[1]
	}
	m.Set(k, v)
	return v, c.f.run.room(32)
}

func dictPop(c *Call, self any) (any, error) {
	if err := c.between("dict.pop", 1, 2); err != nil {
		return nil, err
	}
	m := self.(*data.Map)
	k, err := hashKey(c.Args[0])
	if err != nil {
		return nil, err
	}
	if v, ok := m.Get(k); ok {
		m.Delete(k)
		return v, c.f.run.take(m.Len()) // the later entries move up
	}
	if len(c.Args) == 2 {
		return c.Args[1], nil
	}
	return nil, c.f.run.keyError(k)
}

// keyError returns Python's error for a missing key; its text is the key's repr.
func (r *run) keyError(key any) error {
	text, err := r.repr(key)
	if err != nil {
		return err
	}
	return Raise(KeyError, "%s", text)
}

func dictPopItem(c *Call, self any) (any, error) {
	if err := c.none("dict.popitem"); err != nil {
		return nil, err
	}
	m := self.(*data.Map)
	if m.Len() == 0 {
		return nil, Raise(KeyError, "'popitem(): dictionary is empty'")
	}
	k, v := m.At(m.Len() - 1)
	m.Delete(k)
	return data.Tuple{k, v}, nil
}

func dictFromKeys(c *Call, _ any) (any, error) {
	if err := c.between("dict.fromkeys", 1, 2); err != nil {
		return nil, err
	}
	keys, err := c.f.run.list(c.Args[0])
	if err != nil {
		return nil, err
	}
	var v any
	if len(c.Args) == 2 {
		v = c.Args[1]
	}
	m := &data.Map{}
	for _, k := range keys {
		if k, err = hashKey(k); err != nil {
			return nil, err
		}
		m.Set(k, v)
	}
	return m, nil
}

func dictUpdate(c *Call, self any) (any, error) {
	if len(c.Args) > 1 {
		return nil, Raise(TypeError, "update expected at most 1 argument, got %d", len(c.Args))
	}
	return nil, c.f.run.fill(self.(*data.Map), c)
}

// fill sets the arguments of dict(...) or update(...) in m: a mapping or pairs, and keywords.
func (r *run) fill(m *data.Map, c *Call) error {
	if len(c.Args) == 1 {
		if err := r.merge(m, c.Args[0]); err != nil {
			return err
		}
	}
	for _, k := range c.Kw {
		m.Set(k.Name, k.Value)
	}
	return r.room(32 * len(c.Kw))
}

func (r *run) merge(m *data.Map, from any) error {
	switch from := from.(type) {
	case *data.Map:
		if err := r.room(32 * from.Len()); err != nil {
			return err
		}
		if m != from {
			m.Update(from)
		}
		return nil
	case Mapper:
		return r.mergeMapper(m, from)
	}
	items, err := r.list(from)
	if err != nil {
		return err
	}
	for i, item := range items {
		pair, err := r.list(item)
		if isKind(err, TypeError) {
			return Raise(TypeError, "cannot convert dictionary update sequence element #%d to a sequence", i)
		}
		if err != nil {
			return err
		}
		if len(pair) != 2 {
			return Raise(ValueError, "dictionary update sequence element #%d has length %d; 2 is required", i, len(pair))
		}
		k, err := hashKey(pair[0])
		if err != nil {
			return err
		}
		m.Set(k, pair[1])
	}
	return r.room(32 * len(items))
}

func (r *run) mergeMapper(m *data.Map, from Mapper) error {
	keys, err := r.list(from)
	if err != nil {
		return err
	}
	for _, k := range keys {
		v, _, err := from.Item(k)
		if err != nil {
			return err
		}
		m.Set(k, v)
	}
	return r.room(32 * len(keys))
}

// A dictView is the result of keys, values and items: it follows its dict.
type dictView struct {
	m    *data.Map
	kind string // keys, values or items
}

func (v *dictView) Len() int         { return v.m.Len() }
func (v *dictView) TypeName() string { return "dict_" + v.kind }

func (v *dictView) pick() func(k, v any) any {
	switch v.kind {
	case "keys":
		return pickKey
	case "values":
		return pickValue
	}
	return pickPair
}

func (v *dictView) Iterate() Iterator {
	return &dictIterator{m: v.m, size: v.m.Len(), pick: v.pick()}
}

func (v *dictView) repr(p *printer) {
	if p.inside(v.m) {
		p.add("...")
		return
	}
	p.add("dict_" + v.kind + "([")
	pick := v.pick()
	for i := range v.m.Len() {
		if i > 0 {
			p.add(", ")
		}
		p.value(pick(v.m.At(i)))
	}
	p.add("])")
	p.leave()
}

// Contains implements Container for keys without examining each of them.
func (v *dictView) Contains(key any) (bool, error) {
	r := &run{env: &Environment{}, limits: Limits{}.filled()}
	if v.kind == "keys" {
		k, err := hashKey(key)
		return err == nil && v.m.Has(k), err
	}
	if pair, ok := key.(data.Tuple); v.kind == "items" {
		if !ok || len(pair) != 2 {
			return false, nil
		}
		k, err := hashKey(pair[0])
		if err != nil {
			return false, err
		}
		have, ok := v.m.Get(k)
		if !ok {
			return false, nil
		}
		return r.equal(have, pair[1])
	}
	for _, have := range v.m.All() {
		if same, err := r.equal(have, key); err != nil || same {
			return same, err
		}
	}
	return false, nil
}
