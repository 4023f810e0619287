package calls

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Found calls a function that returns False, or another value that Python treats as false, for "not
// found". Found returns the zero value of R for it; any other result that is not an R is an error.
func Found[R any](
	ctx context.Context, env *loader.Env, fun string, args []any, kwargs *data.Map,
) (R, error) {
	v, err := env.Call(ctx, fun, args, kwargs)
	if err != nil {
		var none R
		return none, err
	}
	return FoundIn[R](fun, v)
}

// FoundIn converts the result of a function to an R, with the zero value and the errors of Found.
func FoundIn[R any](fun string, v any) (R, error) {
	result, err := loader.ResultAs[R](fun, v)
	if err != nil && !data.Truth(v) {
		var none R
		return none, nil
	}
	return result, err
}

// member returns a value of a dictionary that a function returned, or the zero value if it is
// missing.
func member[R any](fun string, of *data.Map, key string) (R, error) {
	return loader.ResultAs[R](fun+": "+key, of.Value(key))
}

// pair returns the two values of a result that is a list of two.
func pair(fun string, v any) (first, second any, err error) {
	list, err := loader.ResultAs[[]any](fun, v)
	if err != nil {
		return nil, nil, err
	}
	if len(list) != 2 {
		return nil, nil, fmt.Errorf("%s: returned %d values, expected 2", fun, len(list))
	}
	return list[0], list[1], nil
}

// words collects keyword arguments; kwargs stays nil if there are none.
type words struct{ kwargs *data.Map }

// add adds an argument if given is true.
func (w *words) add(name string, given bool, value any) {
	if !given {
		return
	}
	if w.kwargs == nil {
		w.kwargs = &data.Map{}
	}
	w.kwargs.Set(name, value)
}

// with returns the positional arguments: first, and those of more that are not nil.
func with(first any, more ...any) []any {
	args := []any{first}
	for _, v := range more {
		if v == nil {
			break
		}
		args = append(args, v)
	}
	return args
}
