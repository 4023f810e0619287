package payload

import "github.com/brineproject/brine/data"

// Readable returns v, or a copy of it in which keys that are tuples or objects are their repr. Such
// keys become lists and maps in messages, and no reader accepts those, Salt's neither.
func Readable(v any) any {
	if hasReadableKeys(v) {
		return v
	}
	switch v := v.(type) {
	case *data.Map:
		m := data.NewMap()
		for k, e := range v.All() {
			if !isReadableKey(k) {
				k = data.Repr(k)
			}
			m.Set(k, Readable(e))
		}
		return m
	case []any:
		return readableList(v)
	case data.Tuple:
		return data.Tuple(readableList(v))
	}
	return v
}

func readableList(list []any) []any {
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = Readable(e)
	}
	return out
}

func hasReadableKeys(v any) bool {
	var list []any
	switch v := v.(type) {
	case *data.Map:
		for k, e := range v.All() {
			if !isReadableKey(k) || !hasReadableKeys(e) {
				return false
			}
		}
	case []any:
		list = v
	case data.Tuple:
		list = v
	}
	for _, e := range list {
		if !hasReadableKeys(e) {
			return false
		}
	}
	return true
}

func isReadableKey(k any) bool {
	switch k.(type) {
	case data.Tuple, data.Set, data.Object, []any, *data.Map:
		return false
	}
	return true
}
