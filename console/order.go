package console

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// order carries out a chunk of lowdata in the name of the user, and returns its first item.
// The error is a *netapi.Fault; see refused and absent.
func (q *request) order(low *data.Map) (any, error) {
	ctx, cancel := context.WithTimeout(q.r.Context(), wait)
	defer cancel()
	answer, err := q.Gate.Order(ctx, q.caller, low)
	if err != nil {
		return nil, err
	}
	if len(answer.Items) == 0 {
		return nil, nil
	}
	return answer.Items[0], nil
}

// runner calls a runner with arguments by name. The results of those that only read are not stored.
func (q *request) runner(fun string, args ...any) (any, error) {
	low := data.NewMap("client", "runner", "fun", fun, "nocache", true)
	low.Set("kwarg", data.NewMap(args...))
	return q.order(low)
}

// wheel calls a wheel function with arguments by name, and returns what it returned.
func (q *request) wheel(fun string, args ...any) (any, error) {
	low := data.NewMap("client", "wheel", "fun", fun)
	low.Update(data.NewMap(args...))
	v, err := q.order(low)
	if err != nil {
		return nil, err
	}
	done, _ := v.(*data.Map)
	body, _ := done.Value("data").(*data.Map)
	if body.Has("success") && !data.Truth(body.Value("success")) {
		return nil, &netapi.Fault{Status: http.StatusBadRequest, Text: data.Str(body.Value("return"))}
	}
	return body.Value("return"), nil
}

// call runs a function on one minion and returns its result. The error is a fault with the status 504 if
// the minion does not answer.
func (q *request) call(minion, fun string, args ...any) (any, error) {
	v, err := q.order(data.NewMap("client", "local", "tgt", []any{minion}, "tgt_type", "list", "fun", fun, "arg", args,
		"timeout", int64(5), "full_return", true, "nocache", true))
	if err != nil {
		return nil, err
	}
	all, _ := v.(*data.Map)
	one, ok := all.Value(minion).(*data.Map)
	if !ok {
		return nil, &netapi.Fault{Status: http.StatusGatewayTimeout, Text: minion + " does not answer."}
	}
	return one.Value("ret"), nil
}

// refused reports whether the user has no right to an order.
func refused(err error) bool {
	f, ok := errors.AsType[*netapi.Fault](err)
	return ok && (f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden)
}

// lacksFunction reports whether the text of a runner or wheel function that has failed says that the
// master has none of that name (salt/loader/lazy.py, missing_fun_string).
func lacksFunction(text, fun string) bool {
	module, _, _ := strings.Cut(fun, ".")
	for _, sign := range []string{"'" + fun + "' is not available", "KeyError: '" + fun + "'", "'" + module + "' __virtual__ returned False"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}
