package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// wait is how long a page waits for the answer of a runner, a wheel function or a few minions.
const wait = 15 * time.Second

// An orderer carries out the orders of users, as netapi.Gate does.
type orderer interface {
	Order(ctx context.Context, caller netapi.Caller, low *data.Map) (*netapi.Answer, error)
}

// An asker asks the master in the name of one user. Several goroutines may use it.
type asker struct {
	gate   orderer
	caller netapi.Caller
	ctx    context.Context // of the request that asks
	absent *absences
	now    func() time.Time
}

// order carries out a chunk of lowdata in the name of the user, and returns its first item.
// The error is a *netapi.Fault; see refused.
func (a *asker) order(low *data.Map) (any, error) {
	ctx, cancel := context.WithTimeout(a.ctx, wait)
	defer cancel()
	answer, err := a.gate.Order(ctx, a.caller, low)
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

// runner calls a runner with arguments by name. The results of those that only read are not stored. The
// error wraps errNoFunction if the master has no such runner; for some minutes it is not asked for that
// again.
func (a *asker) runner(fun string, args ...any) (any, error) {
	if a.lacks(fun) {
		return nil, missingFunction(fun)
	}
	low := data.NewMap("client", "runner", "fun", fun, "nocache", true)
	low.Set("kwarg", data.NewMap(args...))
	v, err := a.order(low)
	if text, ok := v.(string); ok && err == nil && lacksFunction(text, fun) {
		return nil, a.noFunction(fun)
	}
	return v, err
}

// runnerMap calls a runner that returns a dictionary. The error wraps errNoFunction if there is none of
// that name, and is a fault if it has returned a text, which says why it has failed.
func (a *asker) runnerMap(fun string, args ...any) (*data.Map, error) {
	v, err := a.runner(fun, args...)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *data.Map:
		return v, nil
	case string:
		return nil, &netapi.Fault{Status: http.StatusBadRequest, Text: reasonIn(v),
			Err: masterText(strings.TrimSpace(v))}
	}
	return nil, &netapi.Fault{Status: http.StatusBadGateway,
		Text: "The runner " + fun + " has returned no dictionary."}
}

// wheel calls a wheel function with arguments by name, and returns what it returned. The error wraps
// errNoFunction if the master has no such function.
func (a *asker) wheel(fun string, args ...any) (any, error) {
	if a.lacks(fun) {
		return nil, missingFunction(fun)
	}
	low := data.NewMap("client", "wheel", "fun", fun)
	low.Update(data.NewMap(args...))
	v, err := a.order(low)
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
		return nil, a.noFunction(fun)
	}
	return nil, badAnswer(http.StatusBadRequest, "The master could not do "+fun, text)
}

// call runs a function that only looks something up on one minion and returns its result, which is not
// stored. The error is a fault with the status 504 if the minion does not answer.
func (a *asker) call(minion, fun string, args ...any) (any, error) {
	return a.callOne(minion, data.NewMap("fun", fun, "arg", args, "nocache", true))
}

// change is call for a function that changes something: its result is in the history of jobs.
func (a *asker) change(minion, fun string, args ...any) (any, error) {
	return a.callOne(minion, data.NewMap("fun", fun, "arg", args))
}

// callOne carries out an order on one minion and returns the result.
func (a *asker) callOne(minion string, low *data.Map) (any, error) {
	low.Update(data.NewMap("client", "local", "tgt", []any{minion}, "tgt_type", "list", "timeout", int64(5),
		"full_return", true))
	v, err := a.order(low)
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

// send begins a job and returns its id. That nobody matches the target is a fault.
func (a *asker) send(low *data.Map) (jid string, err error) {
	sent, err := a.sendJob(low)
	return sent.Text("jid"), err
}

// sendJob is send that returns what the gate says of the job: its jid and its minions. If the job is to be
// kept for absent minions, it also has those for which it is queued, unless the master keeps none.
func (a *asker) sendJob(low *data.Map) (*data.Map, error) {
	low.Set("client", "local_async")
	v, err := a.order(low)
	if err != nil {
		return nil, err
	}
	m, _ := v.(*data.Map)
	if m.Text("jid") == "" {
		t := targetOf(low.Value("tgt"), low.Text("tgt_type"))
		return nil, badRequest("No minion matches the target " + clip(t.Text, 200) + " (" + t.Kind +
			"). Nothing was sent.")
	}
	return m, nil
}

// lacks reports whether the master is known to lack a function.
func (a *asker) lacks(fun string) bool { return a.absent.has(fun, a.now()) }

// noFunction remembers that the master lacks a function, and returns the fault that says so. It wraps
// errNoFunction.
func (a *asker) noFunction(fun string) error {
	a.note(fun)
	return missingFunction(fun)
}

// note remembers that the master lacks a function.
func (a *asker) note(fun string) { a.absent.note(fun, a.now()) }

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
	return last == "'"+fun+"' is not available." || last == "'"+fun+"'" || last == virtual ||
		strings.HasPrefix(last, virtual+": ")
}
