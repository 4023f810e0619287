package loader

import (
	"context"
	"fmt"
	"reflect"

	"github.com/brineproject/brine/data"
)

// CallAs calls a function as Env.Call does and returns its result as an R: string, int, int64,
// float64, *data.Map, []any and []string take a value of that type alone and None, which is their
// zero value; bool takes any value as Python's truth of it. A result of another type is an error that
// names the function and both types.
func CallAs[R any](ctx context.Context, e *Env, fun string, args []any, kwargs *data.Map) (R, error) {
	var result R
	v, err := e.Call(ctx, fun, args, kwargs)
	if err != nil {
		return result, err
	}
	if err := readResult(reflect.ValueOf(&result).Elem(), v); err != nil {
		return result, fmt.Errorf("%s: %w", fun, err)
	}
	return result, nil
}

// readResult sets a variable to the result of a function.
func readResult(to reflect.Value, v any) error {
	if b, ok := to.Addr().Interface().(*bool); ok {
		*b = data.Truth(v)
		return nil
	}
	if v == nil || to.Kind() == reflect.Interface {
		return convert(to, v)
	}
	if !resultFits(to.Interface(), v) {
		return fmt.Errorf("returned %s, expected %s", TypeName(v), wantedName(to.Interface()))
	}
	return convert(to, v)
}

// resultFits reports whether v is of the type of the variable.
func resultFits(to, v any) bool {
	name := TypeName(v)
	switch to.(type) {
	case []any, []string:
		return name == "list" || name == "tuple"
	case float64:
		return name == "float" || name == "int"
	}
	return name == wantedName(to)
}

func wantedName(to any) string {
	switch to.(type) {
	case []string:
		return "list"
	}
	return TypeName(to)
}
