package saltcheck

import (
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// cast converts an expected value to the type of the result. It returns the value as it is if the
// conversion is a ValueError in Python, and fails if it is a TypeError
// (SaltCheck._cast_expected_to_returned_type).
func cast(expected, returned any) (any, error) {
	v, err := converted(expected, returned)
	if e, ok := errors.AsType[*loader.Error](err); ok &&
		(e.Class == "ValueError" || e.Class == "OverflowError") {
		return expected, nil
	}
	return v, err
}

func converted(expected, returned any) (any, error) {
	switch returned := returned.(type) {
	case bool:
		return data.Truth(expected) && expected != "False", nil
	case int64:
		return anyOf(loader.Int(expected))
	case float64:
		return anyOf(loader.Float(expected))
	case string:
		return data.ClassText(expected), nil
	case []any:
		return anyOf(loader.Elements(expected))
	case data.Tuple:
		list, err := loader.Elements(expected)
		return data.Tuple(list), err
	case *data.Map:
		m, err := dict(expected)
		if err != nil {
			return nil, err
		}
		return m.SetClass(returned.Class()), nil
	}
	return expected, nil
}

func anyOf[T any](v T, err error) (any, error) { return v, err }

// dict converts a value like Python's dict(v): a dictionary, or a list of pairs.
func dict(v any) (*data.Map, error) {
	if m, ok := v.(*data.Map); ok {
		return m.Clone(), nil
	}
	list, err := loader.Elements(v)
	if err != nil {
		return nil, err
	}
	m := data.NewMap()
	for i, e := range list {
		pair, err := loader.Elements(e)
		if err != nil {
			return nil, err
		}
		if len(pair) != 2 {
			return nil, loader.Exception("ValueError",
				"dictionary update sequence element #%d has length %d; 2 is required", i, len(pair))
		}
		if !data.Hashable(pair[0]) {
			return nil, loader.TypeError("unhashable type: '%s'", loader.TypeName(pair[0]))
		}
		m.Set(pair[0], pair[1])
	}
	return m, nil
}
