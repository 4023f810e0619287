package state

import (
	"strings"

	"github.com/brineproject/brine/data"
)

// text returns a value as Salt's messages show it: text as it is, dictionaries as Python's OrderedDict, which YAML is read into.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return orderedRepr(v)
}

func orderedRepr(v any) string {
	switch v := v.(type) {
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = orderedRepr(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case *data.Map:
		if v.Len() == 0 {
			return "OrderedDict()"
		}
		var pairs []string
		for key, value := range v.All() {
			pairs = append(pairs, "("+data.Repr(key)+", "+orderedRepr(value)+")")
		}
		return "OrderedDict([" + strings.Join(pairs, ", ") + "])"
	}
	return data.Repr(v)
}

// Text returns a value as Salt's messages show what comes from SLS: text as it is, dictionaries as Python's OrderedDict.
func Text(v any) string { return text(v) }
