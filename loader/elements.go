package loader

import "github.com/brineproject/brine/data"

// Elements returns the elements that a loop in Python visits: for a dictionary its keys, for a text
// its characters. A value that cannot be iterated is a TypeError.
func Elements(v any) ([]any, error) {
	switch v := v.(type) {
	case []any:
		return v, nil
	case data.Tuple:
		return v, nil
	case *data.Map:
		return v.Keys(), nil
	case string:
		var all []any
		for _, r := range v {
			all = append(all, string(r))
		}
		return all, nil
	}
	return nil, TypeError("'%s' object is not iterable", TypeName(v))
}
