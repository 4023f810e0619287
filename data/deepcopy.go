package data

// DeepCopy returns a deep copy of v. A map, list or tuple that occurs several times in v is one
// object in the copy too, as with Python's copy.deepcopy; Clone makes a copy for each occurrence.
func DeepCopy(v any) any { return copier{}.value(v) }

// A copier holds the copies of the collections by their identity.
type copier map[any]any

type (
	listID struct {
		first *any
		len   int
	}
	tupleID listID
)

func (c copier) value(v any) any {
	switch v := v.(type) {
	case *Map:
		return c.mapping(v)
	case []any:
		if len(v) == 0 {
			return []any{}
		}
		id := listID{&v[0], len(v)}
		if made, ok := c[id]; ok {
			return made
		}
		list := make([]any, len(v))
		c[id] = list
		c.fill(list, v)
		return list
	case Tuple:
		if len(v) == 0 {
			return Tuple{}
		}
		id := tupleID{&v[0], len(v)}
		if made, ok := c[id]; ok {
			return made
		}
		tuple := make(Tuple, len(v))
		c[id] = tuple
		c.fill(tuple, v)
		return tuple
	}
	return Clone(v)
}

func (c copier) fill(to, from []any) {
	for i, e := range from {
		to[i] = c.value(e)
	}
}

func (c copier) mapping(m *Map) *Map {
	if m == nil {
		return nil
	}
	if made, ok := c[m]; ok {
		return made.(*Map)
	}
	n := m.Clone()
	c[m] = n
	for i := range n.entries {
		n.entries[i].value = c.value(n.entries[i].value)
	}
	return n
}
