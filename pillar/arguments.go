package pillar

import (
	"errors"
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
)

// Bind gives the parameters of an external pillar their arguments, those of its entry in ext_pillar: a dictionary by name, a list
// by position, anything else to the first. The first required ones must have one. Errors are those of Python.
func Bind(argument any, required int, params ...string) (*data.Map, error) {
	args := data.NewMap()
	switch v := argument.(type) {
	case *data.Map:
		for name, value := range v.All() {
			if !slices.Contains(params, data.Str(name)) {
				return nil, fmt.Errorf("ext_pillar() got an unexpected keyword argument '%s'", data.Str(name))
			}
			args.Set(name, value)
		}
	case []any:
		if len(v) > len(params) {
			return nil, fmt.Errorf("ext_pillar() takes %d positional arguments but %d were given", len(params)+2, len(v)+2)
		}
		for i, value := range v {
			args.Set(params[i], value)
		}
	default:
		args.Set(params[0], v)
	}
	for _, name := range params[:required] {
		if !args.Has(name) {
			return nil, fmt.Errorf("ext_pillar() missing 1 required positional argument: '%s'", name)
		}
	}
	return args, nil
}

// Spread returns the arguments of an external pillar that takes any: those by position and those by name.
func Spread(argument any) (args []any, kwargs *data.Map) {
	switch v := argument.(type) {
	case *data.Map:
		return nil, v
	case []any:
		return v, nil
	}
	return []any{argument}, nil
}

// A Checker is a Source that can tell before it is asked for anything what is wrong with its entry in ext_pillar.
type Checker interface {
	// Check says what is wrong with the argument of an entry, given the options. It touches no network.
	Check(argument any, opts *data.Map) error
}

// Check says what is wrong in the option ext_pillar, as far as that shows without a minion: its shape, sources that there are
// not, and what the sources say of their entries. An error names the entry.
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
				errs = append(errs, fmt.Errorf("ext_pillar: entry %d, %s: %w", i+1, data.Str(name), err))
			}
		}
	}
	return errors.Join(errs...)
}

// ErrUnknown is wrapped for an external pillar that is not there.
var ErrUnknown = errors.New("there is no such external pillar")

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
