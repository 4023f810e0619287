package netapi

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
)

// runner calls a runner and waits for it (salt/netapi/__init__.py, runner).
func (o *order) runner(ctx context.Context) (*Answer, error) {
	fun, err := o.fun()
	if err != nil {
		return nil, err
	}
	wait, err := o.seconds("timeout", o.o.Runner)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errLate)
	defer cancel()
	words := o.runnerWords("timeout", "full_return")
	ret, err := o.client.ControlLow(ctx, "runner", fun, words)
	if err != nil {
		return nil, lateOr(ctx, err)
	}
	o.wholeReturns(ctx, fun, words, ret)
	if data.Truth(o.low.Value("full_return")) {
		return &Answer{Items: []any{ret}}, nil
	}
	done, _ := ret.Value("data").(*data.Map)
	return &Answer{Items: []any{done.Value("return")}}, nil
}

// wholeReturns reads the returns that the event bus has trimmed in the result of a runner that shows a
// job, and puts them there.
func (o *order) wholeReturns(ctx context.Context, fun string, words, ret *data.Map) {
	done, _ := ret.Value("data").(*data.Map)
	answer, ok := done.Value("return").(*data.Map)
	named, _ := words.Value("kwarg").(*data.Map)
	if !ok || data.Truth(named.Value("ext_source")) {
		return
	}
	given := named.Value("jid")
	if list, _ := words.Value("arg").([]any); given == nil && len(list) > 0 {
		given = list[0]
	}
	id := job.ID(data.Str(given))
	switch fun {
	case "jobs.print_job":
		one, _ := answer.Value(string(id)).(*data.Map)
		o.wholeFields(ctx, id, one.Value("Result"))
	case "jobs.list_job":
		o.wholeFields(ctx, id, answer.Value("Result"))
	case "jobs.lookup_jid":
		if inner, ok := answer.Value("data").(*data.Map); ok && answer.Has("outputter") {
			answer = inner
		}
		for minion, v := range answer.All() {
			answer.Set(minion, o.client.Whole(ctx, id, data.Str(minion), v))
		}
	}
}

// wholeFields is wholeReturns for a map of minions and the fields of their returns.
func (o *order) wholeFields(ctx context.Context, id job.ID, results any) {
	all, _ := results.(*data.Map)
	for minion, v := range all.All() {
		if fields, ok := v.(*data.Map); ok && fields.Has("return") {
			fields.Set("return", o.client.Whole(ctx, id, data.Str(minion), fields.Value("return")))
		}
	}
}

// runnerWords returns the arguments of a runner, as arg and kwarg (salt/runner.py, _reformat_low): the
// texts in arg are read as on a command line, also name=value, and the other fields of the chunk are
// arguments by name. One beside kwarg has precedence over one in it.
func (o *order) runnerWords(without ...string) *data.Map {
	words := o.words(without...)
	args, kwargs := loader.ParseInput(listIn(words.Value("arg")))
	if named, ok := words.Value("kwarg").(*data.Map); ok {
		kwargs.Update(named)
	}
	all := data.NewMap("arg", args, "kwarg", kwargs)
	if v, ok := words.Get("nocache"); ok {
		all.Set("nocache", v)
	}
	for _, taken := range []string{"arg", "kwarg", "nocache"} {
		words.Delete(taken)
	}
	kwargs.Update(words)
	return all
}

// lateOr returns a fault if a runner is not waited for any longer, else err.
func lateOr(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errLate) {
		return because(504, err, textLate)
	}
	return err
}

// runnerAsync begins a runner.
func (o *order) runnerAsync(ctx context.Context) (*Answer, error) {
	fun, err := o.fun()
	if err != nil {
		return nil, err
	}
	begun, err := o.client.BeginLow(ctx, "runner", fun, o.runnerWords("full_return"))
	return &Answer{Items: []any{begun}}, err
}

// wheel calls a wheel function (salt/netapi/__init__.py, wheel).
func (o *order) wheel(ctx context.Context) (*Answer, error) {
	fun, err := o.fun()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.o.Runner, errLate)
	defer cancel()
	done, err := o.client.ControlLow(ctx, "wheel", fun, o.words())
	if err != nil {
		return nil, lateOr(ctx, err)
	}
	if body, ok := done.Value("data").(*data.Map); ok { // in the form of 3006, whatever the master's release
		body.Delete("retcode")
	}
	return &Answer{Items: []any{done}}, nil
}

// wheelAsync calls a wheel function, and answers with its tag once the master has ended it: these
// functions are short, and the master has no other way to refuse them. Salt answers before anybody
// has looked at the rights of the user, who never hears of a refusal.
func (o *order) wheelAsync(ctx context.Context) (*Answer, error) {
	answer, err := o.wheel(ctx)
	if err != nil {
		return nil, err
	}
	done, _ := answer.Items[0].(*data.Map)
	body, _ := done.Value("data").(*data.Map)
	return &Answer{Items: []any{data.NewMap("tag", done.Value("tag"), "jid", body.Value("jid"))}}, nil
}
