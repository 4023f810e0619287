package state

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/state"
)

// problemResult returns problems as the result of a call and sets the return code.
func problemResult(ctx context.Context, problems []string) (any, error) {
	loader.ContextOf(ctx).SetRetcode(codeCompiler)
	return data.Values(problems), nil
}

// saltError converts an error of the compiler to the exception that Salt raises for it.
func saltError(err error) error {
	if broken := (*render.Error)(nil); errors.As(err, &broken) || errors.Is(err, state.ErrTop) {
		return loader.Exception("salt.exceptions.SaltRenderError", "%w", err)
	}
	return err
}

// judge sets the return code that fits a result (salt/modules/state.py, _set_retcode).
func judge(ctx context.Context, result any) {
	code := codeOK
	if _, problems := result.([]any); problems {
		code = codeCompiler
	} else if !succeeded(result) {
		code = codeFailure
	}
	loader.ContextOf(ctx).SetRetcode(code)
}

// succeeded reports whether a result is a dictionary of states in which nothing failed
// (salt/utils/state.py, check_result). The result must not be a list of problems.
func succeeded(result any) bool {
	states, ok := result.(*data.Map)
	if !ok || states.Len() == 0 {
		return false
	}
	for id, v := range states.All() {
		body, isMap := v.(*data.Map)
		_, isList := v.([]any)
		if id == "__extend__" && !isList || id != "__extend__" && !isMap ||
			isMap && !bodySucceeded(body) {
			return false
		}
	}
	return true
}

// bodySucceeded looks for a failure in a result or in the dictionaries nested in it. An empty
// dictionary counts as a failure.
func bodySucceeded(body *data.Map) bool {
	if result, ok := body.Get("result"); ok {
		return result != false
	}
	for _, v := range body.All() {
		if below, ok := v.(*data.Map); ok && !bodySucceeded(below) {
			return false
		}
	}
	return body.Len() > 0
}
