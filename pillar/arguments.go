package pillar

import (
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
)

// bind gives the parameters of an external pillar their arguments: a dictionary by name, a list by position, anything else
// to the first. The first parameters must have one. Errors are those of Python.
func bind(argument any, required int, params ...string) (*data.Map, error) {
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
