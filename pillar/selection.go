package pillar

import (
	"errors"

	"github.com/brineproject/brine/data"
)

// CheckSelection checks the arguments key and only of an external pillar.
func CheckSelection(args *data.Map) error {
	switch args.Value("only").(type) {
	case nil, []any, data.Tuple, *data.Map:
	default:
		return errors.New("only: expected a list of keys")
	}
	if !data.Hashable(args.Value("key")) {
		return errors.New("key: expected a text")
	}
	return nil
}

// Select returns the entries of m that the argument only lists, or all of them without it, and puts
// them under the argument key, if that is set.
func Select(m, args *data.Map) *data.Map {
	only := data.ListOf(args.Value("only"))
	if names, ok := args.Value("only").(*data.Map); ok {
		only = names.Keys()
	}
	if len(only) > 0 {
		all := m
		m = data.NewMap()
		for _, name := range only {
			if !data.Hashable(name) {
				continue
			}
			if v, ok := all.Get(name); ok {
				m.Set(name, v)
			}
		}
	}
	if key := args.Value("key"); data.Truth(key) {
		return data.NewMap(key, m)
	}
	return m
}
