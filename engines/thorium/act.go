package thorium

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

func (t *thorium) localFunctions(*loader.Env) []loader.Func {
	return []loader.Func{loader.F("cmd", t.local)}
}

func (t *thorium) runnerFunctions(*loader.Env) []loader.Func { return t.masterFunctions("runner") }

func (t *thorium) wheelFunctions(*loader.Env) []loader.Func { return t.masterFunctions("wheel") }

func (t *thorium) masterFunctions(kind string) []loader.Func {
	return []loader.Func{loader.F("cmd", func(ctx context.Context, a masterArgs) (any, error) {
		return t.master(ctx, kind, a)
	})}
}

type localArgs struct {
	Name, Tgt, Func any
	Arg             any       `default:"()"`
	TgtType         any       `default:"'glob'"`
	Ret             any       `default:"''"`
	Kwarg           any       `default:"None"`
	Kwargs          *data.Map `kwargs:"kwargs"`
}

// local publishes a job for minions and does not wait for it. Its changes have the id of the job.
func (t *thorium) local(ctx context.Context, a localArgs) (any, error) {
	args := data.ListOf(a.Arg)
	if words := keywords(a.Kwarg); words.Len() > 0 {
		words.Set("__kwarg__", true)
		args = append(args, words)
	}
	order := words(a.Kwargs)
	order.Update(data.NewMap("tgt", a.Tgt, "tgt_type", a.TgtType, "fun", a.Func, "arg", args, "ret", a.Ret))
	return t.order(ctx, a.Name, order)
}

type masterArgs struct {
	Name   any
	Func   any       `default:"None"`
	Arg    any       `default:"()"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// master calls a function of the master and does not wait for it.
func (t *thorium) master(ctx context.Context, kind string, a masterArgs) (any, error) {
	kwargs := words(a.Kwargs)
	for _, name := range []string{"kwarg", "kwargs"} {
		if more := keywords(kwargs.Value(name)); more.Len() > 0 {
			kwargs.Delete(name)
			kwargs.Update(more)
		}
	}
	if a.Func == nil {
		a.Func = a.Name
	}
	return t.order(ctx, a.Name, data.NewMap("client", kind, "fun", a.Func, "arg", data.ListOf(a.Arg),
		"kwarg", kwargs))
}

// order sends an order to the master and returns the result of a state with the id of its job.
func (t *thorium) order(ctx context.Context, name any, order *data.Map) (any, error) {
	switch {
	case change.Test(ctx):
		return change.New(name, nil, nil, data.Str(order.Value("fun"))+" would be called"), nil
	case t.host.Order == nil:
		return change.Failed(name, "there is no master"), nil
	}
	order.Set("async", true)
	changes := data.NewMap()
	err := t.host.Order(ctx, order, func(_ string, answer *data.Map) bool {
		if jid, ok := answer.Get("jid"); ok {
			changes.Set("jid", jid)
		}
		return true
	})
	if err != nil {
		return change.New(name, false, changes, err.Error()), nil
	}
	return change.New(name, true, changes, ""), nil
}

// words returns the arguments of a function without those of the state.
func words(kwargs *data.Map) *data.Map {
	own := data.NewMap()
	for k, v := range kwargs.All() {
		if text := data.Str(k); len(text) < 2 || text[:2] != "__" {
			own.Set(k, v)
		}
	}
	return own
}

// keywords returns a dictionary, or a list of dictionaries, as one.
func keywords(v any) *data.Map {
	all := data.NewMap()
	switch v := v.(type) {
	case *data.Map:
		all.Update(v)
	case []any:
		for _, e := range v {
			if m, ok := e.(*data.Map); ok {
				all.Update(m)
			}
		}
	}
	return all
}
