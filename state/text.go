package state

import (
	"strings"

	"github.com/brineproject/brine/data"
)

// Text formats a value from an SLS as Salt's messages do: a string as it is, a dictionary as
// Python's OrderedDict, the type that Salt loads YAML into.
func Text(v any) string {
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
