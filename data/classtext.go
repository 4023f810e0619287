package data

import "strings"

// ClassText returns v as Str does, but with each Map as Python 3.11 prints its Class: OrderedDict([('a', 1)]).
func ClassText(v any) string {
	if _, composite := items(v); !composite {
		return Str(v)
	}
	var b strings.Builder
	writeClasses(&b, v)
	return b.String()
}

// items returns what a value holds: the elements of a list or tuple, the pairs of a Map. Others hold nothing.
func items(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case Tuple:
		return v, true
	case *Map:
		pairs := make([]any, 0, v.Len())
		for key, value := range v.All() {
			pairs = append(pairs, Tuple{key, value})
		}
		return pairs, true
	}
	return nil, false
}

// defaultFactory is what DefaultOrderedDict tells of itself (salt/utils/datastructures.py of 3006.18).
const defaultFactory = "<class 'salt.utils.datastructures.HashableOrderedDict'>, "

func writeClasses(b *strings.Builder, v any) {
	held, composite := items(v)
	m, isMap := v.(*Map)
	tuple, isTuple := v.(Tuple)
	switch {
	case !composite:
		b.WriteString(Repr(v))
	case isMap && m.Class() == Dict:
		writeDict(b, m)
	case isMap:
		writeOrdered(b, m.Class(), held)
	case isTuple && len(tuple) == 1:
		writeItems(b, "(", held, ",)")
	case isTuple:
		writeItems(b, "(", held, ")")
	default:
		writeItems(b, "[", held, "]")
	}
}

func writeOrdered(b *strings.Builder, class Class, pairs []any) {
	name, end := class.String()+"(", ")"
	if class == DefaultOrderedDict {
		name, end = name+defaultFactory+name, "))"
	}
	b.WriteString(name)
	if len(pairs) > 0 {
		writeItems(b, "[", pairs, "]")
	}
	b.WriteString(end)
}

func writeDict(b *strings.Builder, m *Map) {
	b.WriteByte('{')
	first := true
	for key, value := range m.All() {
		if !first {
			b.WriteString(", ")
		}
		first = false
		writeClasses(b, key)
		b.WriteString(": ")
		writeClasses(b, value)
	}
	b.WriteByte('}')
}

func writeItems(b *strings.Builder, open string, list []any, end string) {
	b.WriteString(open)
	for i, v := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		writeClasses(b, v)
	}
	b.WriteString(end)
}
