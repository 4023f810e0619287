package data

import "strings"

// ClassText returns v as Str does, but with each Map as Python 3.11 prints its Class:
// OrderedDict([('a', 1)]).
func ClassText(v any) string {
	switch v.(type) {
	case []any, Tuple, *Map:
	default:
		return Str(v)
	}
	var b strings.Builder
	writeClasses(&b, v)
	return b.String()
}

// defaultFactory is the factory that DefaultOrderedDict prints before its items
// (salt/utils/datastructures.py of 3006.18).
const defaultFactory = "<class 'salt.utils.datastructures.HashableOrderedDict'>, "

func writeClasses(b *strings.Builder, v any) {
	switch v := v.(type) {
	case *Map:
		if v.Class() == Dict {
			writeDict(b, v)
			return
		}
		writeOrdered(b, v)
	case Tuple:
		end := ")"
		if len(v) == 1 {
			end = ",)"
		}
		writeItems(b, "(", v, end)
	case []any:
		writeItems(b, "[", v, "]")
	default:
		b.WriteString(Repr(v))
	}
}

func writeOrdered(b *strings.Builder, m *Map) {
	name, end := m.Class().String()+"(", ")"
	if m.Class() == DefaultOrderedDict {
		name, end = name+defaultFactory+name, "))"
	}
	b.WriteString(name)
	if m.Len() > 0 {
		pairs := make([]any, 0, m.Len())
		for key, value := range m.All() {
			pairs = append(pairs, Tuple{key, value})
		}
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
