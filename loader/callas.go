package loader

import (
	"context"
	"fmt"
	"reflect"

	"github.com/brineproject/brine/data"
)

// CallAs calls a function through Env.Call and returns its result as an R. string, int, int64,
// float64, *data.Map, []any and []string accept only values of that type and None, which becomes
// the zero value. bool accepts any value and takes Python's truth of it. A result of another type
// is an error that names the function and both types.
func CallAs[R any](
	ctx context.Context, e *Env, fun string, args []any, kwargs *data.Map,
) (R, error) {
	v, err := e.Call(ctx, fun, args, kwargs)
	if err != nil {
		var none R
		return none, err
	}
	return ResultAs[R](fun, v)
}

// ResultAs returns the result of a function as an R, with the same rules as CallAs.
func ResultAs[R any](fun string, v any) (R, error) {
	var result R
	if err := readResult(reflect.ValueOf(&result).Elem(), v); err != nil {
		return result, fmt.Errorf("%s: %w", fun, err)
	}
	return result, nil
}

// readResult converts the result of a function into the variable to.
func readResult(to reflect.Value, v any) error {
	if b, ok := to.Addr().Interface().(*bool); ok {
		*b = data.Truth(v)
		return nil
	}
	if v == nil || to.Kind() == reflect.Interface {
		return convert(to, v)
	}
	if !resultFits(to.Interface(), v) {
		return fmt.Errorf("returned %s, expected %s", TypeName(v), resultTypeName(to.Interface()))
	}
	return convert(to, v)
}

// resultFits reports whether v has the type of the variable to.
func resultFits(to, v any) bool {
	name := TypeName(v)
	switch to.(type) {
	case []any, []string:
		return name == "list" || name == "tuple"
	case float64:
		return name == "float" || name == "int"
	}
	return name == resultTypeName(to)
}

func resultTypeName(to any) string {
	switch to.(type) {
	case []string:
		return "list"
	}
	return TypeName(to)
}
