package pillar

import (
	"errors"
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
)

// Bind binds the arguments of an external pillar's entry in ext_pillar to its parameters: a
// dictionary by name, a list by position, any other value to the first parameter. The first
// required parameters must get one. Errors are Python's.
func Bind(argument any, required int, params ...string) (*data.Map, error) {
	args := data.NewMap()
	switch v := argument.(type) {
	case *data.Map:
		for name, value := range v.All() {
			if !slices.Contains(params, data.Str(name)) {
				return nil, fmt.Errorf("ext_pillar() got an unexpected keyword argument '%s'",
					data.Str(name))
			}
			args.Set(name, value)
		}
	case []any:
		if len(v) > len(params) {
			return nil, fmt.Errorf("ext_pillar() takes %d positional arguments but %d were given",
				len(params)+2, len(v)+2)
		}
		for i, value := range v {
			args.Set(params[i], value)
		}
	default:
		args.Set(params[0], v)
	}
	for _, name := range params[:required] {
		if !args.Has(name) {
			return nil, fmt.Errorf("ext_pillar() missing 1 required positional argument: '%s'",
				name)
		}
	}
	return args, nil
}

// Spread returns the positional and the keyword arguments of an external pillar that accepts any.
func Spread(argument any) (args []any, kwargs *data.Map) {
	switch v := argument.(type) {
	case *data.Map:
		return nil, v
	case []any:
		return v, nil
	}
	return []any{argument}, nil
}

// A Checker is a Source that can validate its entry in ext_pillar before a minion needs it.
type Checker interface {
	// Check returns an error if the argument of an entry is invalid with these options. It does not
	// use the network.
	Check(argument any, opts *data.Map) error
}

// Check validates the option ext_pillar as far as possible without a minion: its form, the names of
// sources, and the arguments of sources that are a Checker. Errors name the entry.
func Check(opts *data.Map, sources []Source) error {
	option := opts.Value("ext_pillar")
	list, ok := option.([]any)
	if !ok && option != nil {
		return errors.New("ext_pillar: expected a list of external pillars")
	}
	var errs []error
	for i, entry := range list {
		m, ok := entry.(*data.Map)
		if !ok || m.Len() == 0 {
			errs = append(errs, fmt.Errorf("ext_pillar: entry %d: expected NAME: ARGUMENTS", i+1))
			continue
		}
		for name, argument := range m.All() {
			if err := checkEntry(data.Str(name), argument, opts, sources); err != nil {
				errs = append(errs, fmt.Errorf("ext_pillar: entry %d, %s: %w", i+1,
					data.Str(name), err))
			}
		}
	}
	return errors.Join(errs...)
}

// ErrUnknown is wrapped for an external pillar that does not exist.
var ErrUnknown = errors.New("no such external pillar exists")

func checkEntry(name string, argument any, opts *data.Map, sources []Source) error {
	i := slices.IndexFunc(sources, func(s Source) bool { return s.Name() == name })
	if i < 0 {
		return ErrUnknown
	}
	if c, ok := sources[i].(Checker); ok {
		return c.Check(argument, opts)
	}
	return nil
}
