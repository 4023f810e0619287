package grains

import (
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// lookup is data.Lookup for keys that are no text as well: a number is one step, a list has one in each element
// (salt/utils/data.py, traverse_dict_and_list). The error is Python's for what can be no key.
func lookup(v, key any, delim string) (any, bool, error) {
	var steps []any
	switch key := key.(type) {
	case string:
		v, ok := data.Lookup(v, key, delim)
		return v, ok, nil
	case int64, bool:
		steps = []any{key}
	case []any:
		steps = key
	case data.Tuple:
		steps = key
	case *data.Map:
		steps = key.Keys()
	default:
		return nil, false, loader.TypeError("'%s' object is not iterable", loader.TypeName(key))
	}
	for _, each := range steps {
		if !data.Hashable(each) {
			return nil, false, loader.TypeError("unhashable type: '%s'", loader.TypeName(each))
		}
		next, ok := step(v, each)
		if !ok {
			return nil, false, nil
		}
		v = next
	}
	return v, true, nil
}

// step returns what v has under one part of a key.
func step(v, each any) (any, bool) {
	if m, ok := v.(*data.Map); ok {
		if _, text := each.(string); !text {
			return m.Get(each)
		}
	}
	return data.Lookup(v, data.Str(each), "")
}

// storable returns a key as text; others can be read but not set.
func storable(key any) (string, error) {
	switch key := key.(type) {
	case string:
		return key, nil
	case int64, bool:
		return "", loader.TypeError("argument of type '%s' is not iterable", loader.TypeName(key))
	}
	return "", loader.TypeError("unhashable type: '%s'", loader.TypeName(key))
}

// replaceIn gives what data.Lookup finds under part in a list another value.
func replaceIn(list []any, part string, value any) {
	var key any = part
	n, err := strconv.Atoi(strings.TrimSpace(part))
	if err == nil {
		key = int64(n)
	}
	for _, e := range list {
		if m, ok := e.(*data.Map); ok && m.Has(key) {
			m.Set(key, value)
			return
		}
	}
	if n < 0 {
		n += len(list)
	}
	if err == nil && n >= 0 && n < len(list) {
		list[n] = value
	}
}
