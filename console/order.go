package console

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// order carries out a chunk of lowdata in the name of the user, and returns its first item.
// The error is a *netapi.Fault; see refused.
func (q *request) order(low *data.Map) (any, error) {
	ctx, cancel := context.WithTimeout(q.r.Context(), wait)
	defer cancel()
	answer, err := q.Gate.Order(ctx, q.caller, low)
	if refused(err) {
		return nil, refusal(low, netapi.FaultOf(err))
	}
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, lateAnswer(low, err)
	}
	if err != nil {
		return nil, err
	}
	if len(answer.Items) == 0 {
		return nil, nil
	}
	return answer.Items[0], nil
}

// lateAnswer returns the fault of an order that has taken longer than a page can wait.
func lateAnswer(low *data.Map, err error) error {
	who := "The master has"
	if ids := data.TextsOf(low.Value("tgt")); low.Text("client") == "local" && len(ids) == 1 {
		who = clip(ids[0], 200) + " has"
	}
	text := who + " not answered within " + strconv.Itoa(int(wait.Seconds())) + " seconds."
	return &netapi.Fault{Status: http.StatusGatewayTimeout, Text: text, Err: err}
}

// refusal returns a fault that says in plain words what was refused and which right lacks. It wraps the
// fault with the words of the master.
func refusal(low *data.Map, f *netapi.Fault) error {
	fun := strings.Join(data.TextsOf(low.Value("fun")), ", ")
	text := "You have no right to " + fun + " on these minions."
	switch client, _, _ := strings.Cut(low.Text("client"), "_"); {
	case notKnown(f.Text):
		text = "The master does not know your login any more. Log out and in again."
	case client == auth.Runner, client == auth.Wheel:
		text = "You lack the right @" + client + " to " + fun + "."
	case f.Text == unseen:
		text = "The configuration of salt-api (api_acl) does not let you in from this address."
	default:
		if ids := data.TextsOf(low.Value("tgt")); len(ids) == 1 && low.Text("tgt_type") == "list" {
			text = "You have no right to " + fun + " on " + clip(ids[0], 200) + "."
		}
	}
	return &netapi.Fault{Status: f.Status, Text: text, Err: f}
}

// notKnown reports whether a refusal is about who the user is, and not about what they may do: the name
// of the user is only in the latter (salt/master.py, runner).
func notKnown(text string) bool {
	if strings.HasPrefix(text, "Authentication failure") {
		return !strings.Contains(text, " for user ")
	}
	return text == "Invalid token" || text == "Authentication error occurred."
}

// unseen is the text of a gate that refuses a user from an address.
const unseen = "No permission -- see authorization schemes"

// badRequest returns the fault of a form or address that cannot be carried out.
func badRequest(text string) error { return &netapi.Fault{Status: http.StatusBadRequest, Text: text} }

// masterText is what a master has answered where a result was expected: the reason of a fault.
type masterText string

// Error returns the text.
func (m masterText) Error() string { return string(m) }

// badAnswer returns the fault of an answer that is no result. Its text has the last line of a traceback
// only.
func badAnswer(status int, what string, v any) error {
	text := strings.TrimSpace(data.Str(v))
	reason := reasonIn(text)
	f := &netapi.Fault{Status: status, Text: what + ": " + reason}
	if reason != text {
		f.Err = masterText(text)
	}
	return f
}

// rawText returns the words of the master behind a fault, if they are others than those of the fault.
func rawText(f *netapi.Fault) string {
	if inner, ok := errors.AsType[*netapi.Fault](f.Err); ok && inner.Text != f.Text {
		return clip(inner.Text, 2000)
	}
	if text, ok := errors.AsType[masterText](f.Err); ok {
		return clip(string(text), 2000)
	}
	return ""
}

// runner calls a runner with arguments by name. The results of those that only read are not stored. The
// error wraps errNoFunction if the master has no such runner; for some minutes it is not asked for that
// again.
func (q *request) runner(fun string, args ...any) (any, error) {
	if q.lacks(fun) {
		return nil, missingFunction(fun)
	}
	low := data.NewMap("client", "runner", "fun", fun, "nocache", true)
	low.Set("kwarg", data.NewMap(args...))
	v, err := q.order(low)
	if text, ok := v.(string); ok && err == nil && lacksFunction(text, fun) {
		return nil, q.noFunction(fun)
	}
	return v, err
}

// wheel calls a wheel function with arguments by name, and returns what it returned. The error wraps
// errNoFunction if the master has no such function.
func (q *request) wheel(fun string, args ...any) (any, error) {
	if q.lacks(fun) {
		return nil, missingFunction(fun)
	}
	low := data.NewMap("client", "wheel", "fun", fun)
	low.Update(data.NewMap(args...))
	v, err := q.order(low)
	if err != nil {
		return nil, err
	}
	done, _ := v.(*data.Map)
	body, _ := done.Value("data").(*data.Map)
	if !body.Has("success") || data.Truth(body.Value("success")) {
		return body.Value("return"), nil
	}
	text := data.Str(body.Value("return"))
	if lacksFunction(text, fun) {
		return nil, q.noFunction(fun)
	}
	return nil, badAnswer(http.StatusBadRequest, "The master could not do "+fun, text)
}

// call runs a function that only looks something up on one minion and returns its result, which is not stored.
// The error is a fault with the status 504 if the minion does not answer.
func (q *request) call(minion, fun string, args ...any) (any, error) {
	return q.callOne(minion, data.NewMap("fun", fun, "arg", args, "nocache", true))
}

// change is call for a function that changes something: its result is in the history of jobs.
func (q *request) change(minion, fun string, args ...any) (any, error) {
	return q.callOne(minion, data.NewMap("fun", fun, "arg", args))
}

// callOne carries out an order on one minion and returns the result.
func (q *request) callOne(minion string, low *data.Map) (any, error) {
	low.Update(data.NewMap("client", "local", "tgt", []any{minion}, "tgt_type", "list", "timeout", int64(5), "full_return", true))
	v, err := q.order(low)
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
// master has none of that name (salt/loader/lazy.py, missing_fun_string). Only the whole last line counts:
// other texts may repeat what a user has typed.
func lacksFunction(text, fun string) bool {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimPrefix(lines[len(lines)-1], "Exception occurred in runner "+fun+": ")
	if class, rest, ok := strings.Cut(last, ": "); ok && !strings.ContainsAny(class, " '") { // KeyError
		last = rest
	}
	last = strings.Trim(last, `"`)
	module, _, _ := strings.Cut(fun, ".")
	virtual := "'" + module + "' __virtual__ returned False"
	return last == "'"+fun+"' is not available." || last == "'"+fun+"'" || last == virtual || strings.HasPrefix(last, virtual+": ")
}
