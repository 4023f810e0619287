package python

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// order publishes a job and returns the answers of minions as a list of (id, answer).
func (f *Files) order(ctx context.Context, args arguments) (any, error) {
	answers := []any{}
	err := f.submit(ctx, args.dictionary(0), func(id string, answer *data.Map) bool {
		answers = append(answers, data.Tuple{id, nilOrMap(answer)})
		return true
	})
	return answers, err
}

func nilOrMap(m *data.Map) any {
	if m == nil {
		return nil
	}
	return m
}

// publish publishes a job and returns its id and minions at once.
func (f *Files) publish(ctx context.Context, args arguments) (any, error) {
	order := args.dictionary(0).Clone()
	order.Set("async", true)
	return f.only(ctx, order)
}

// submit submits an order to the master of this host.
func (f *Files) submit(
	ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool,
) error {
	if f.env.Host.Order == nil {
		return &unableError{"send jobs to minions: it knows no master on this host"}
	}
	err := f.env.Host.Order(ctx, order, yield)
	if err != nil {
		return loader.Exception("salt.exceptions.SaltClientError", "%w", err)
	}
	return nil
}

// only returns the only answer to an order, nil for none.
func (f *Files) only(ctx context.Context, order *data.Map) (any, error) {
	var only *data.Map
	err := f.submit(ctx, order, func(_ string, answer *data.Map) bool {
		only = answer
		return false
	})
	return nilOrMap(only), err
}

// returns returns what minions have returned to a job so far, from the master's job cache.
func (f *Files) returns(ctx context.Context, args arguments) (any, error) {
	const lookup = "jobs.list_job"
	var found any
	var err error
	if runners := f.env.Registry("runners"); runners != nil {
		found, err = runners.Invoke(ctx, lookup, []any{args.text(0)}, nil)
	} else {
		var job any
		job, err = f.only(ctx, data.NewMap("client", "runner", "fun", lookup, "arg", []any{args.text(0)},
			"kwarg", data.NewMap()))
		done, _ := job.(*data.Map)
		found = done.Value("return")
	}
	record, _ := found.(*data.Map)
	results, _ := record.Value("Result").(*data.Map)
	answers := data.NewMap()
	for id, v := range results.All() {
		fields, _ := v.(*data.Map)
		answer := fields.Clone()
		answer.Delete("return")
		answer.Set("ret", fields.Value("return"))
		answers.Set(id, answer)
	}
	return answers, err
}

// control runs a function of the master itself and returns its job.
func (f *Files) control(ctx context.Context, args arguments) (any, error) {
	kind, call := args.text(0), loader.MasterCall{
		Fun: args.text(1), Args: listOf(args[2]), Kwargs: args.dictionary(3),
		User: "UNKNOWN",
	}
	if user := loader.JobOf(ctx).Text("user"); user != "" {
		call.User = user
	}
	if f.env.Host.Control == nil {
		return f.only(ctx, controlOrder(args))
	}
	done := f.env.Host.Control(ctx, kind, call)
	if show := f.host.o.Services.Show; show != nil && args.at(4) == true {
		show(done)
	}
	return done, nil
}

// controlAsync has the running master run a function of its own, and returns the id and the tag.
func (f *Files) controlAsync(ctx context.Context, args arguments) (any, error) {
	order := controlOrder(args)
	order.Set("async", true)
	return f.only(ctx, order)
}

// controlOrder returns the order for a function of the master (loader.Host, Order).
func controlOrder(args arguments) *data.Map {
	return data.NewMap("client", args.text(0), "fun", args.text(1),
		"arg", append([]any{}, listOf(args[2])...), "kwarg", args.dictionary(3).Clone())
}
