// Package facts looks up values in grains and pillar for the functions of both: by keys with
// delimiters, and by dictionaries whose keys are globs (salt/utils/data.py, traverse_dict_and_list
// and filter_by).
//
// Unlike Salt, it never modifies the lookup dictionary of its caller.
package facts

import (
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Lookup is data.Lookup that also accepts keys other than strings: a number is one step, and a list
// has one step per element. The error is Python's for values that cannot be keys.
func Lookup(v, key any, delim string) (any, bool, error) {
	var steps []any
	switch key := key.(type) {
	case string:
		if delim == "" {
			return nil, false, loader.Exception("ValueError", "empty separator")
		}
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

// step returns the value of v under one part of a key.
func step(v, each any) (any, bool) {
	if m, ok := v.(*data.Map); ok {
		if _, text := each.(string); !text {
			return m.Get(each)
		}
	}
	return data.Lookup(v, data.Str(each), "")
}
