package reactor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Orders executes reactions. It must be safe for concurrent use.
type Orders interface {
	// Publish sends a job to minions and does not wait for them.
	Publish(ctx context.Context, p *Publication) error
	// Run calls a runner or a wheel function and waits for it.
	Run(ctx context.Context, kind runners.Kind, fun string, args []any, kwargs *data.Map) error
	// Call calls an execution function on the host of the reactor and waits for it.
	Call(ctx context.Context, fun string, args []any, kwargs *data.Map) error
	// Spec describes a runner or a wheel function; false where there is none.
	Spec(kind runners.Kind, fun string) (*loader.Spec, bool)
}

// A Publication is a job for minions.
type Publication struct {
	Target     any
	TargetType string
	Fun        string
	Args       []any // arguments in published form, keyword arguments last
	Ret        string
	// other fields of the reaction: metadata, ret_config, module_executors …; not jid, which is
	// always new
	Options *data.Map
}

// do executes a reaction.
func (r *Reaction) do(ctx context.Context, orders Orders, log logrus.FieldLogger) error {
	switch r.Type {
	case "local":
		p, err := r.publication(log)
		if err != nil {
			return err
		}
		return orders.Publish(ctx, p)
	case "runner", "wheel":
		kind := runners.Kind(r.Type)
		args, kwargs, err := r.call(kind, orders, log)
		if err != nil {
			return err
		}
		return orders.Run(ctx, kind, r.Fun, args, kwargs)
	case "caller":
		args, kwargs, err := r.here(log)
		if err != nil {
			return err
		}
		return orders.Call(ctx, r.Fun, args, kwargs)
	}
	return fmt.Errorf("ReactWrap is missing a wrapper function for '%s'", r.Type) // Salt's text
}

// publication returns the job of a reaction of type local.
func (r *Reaction) publication(log logrus.FieldLogger) (*Publication, error) {
	if !data.Truth(r.Low.Value("tgt")) {
		return nil, errors.New("tgt is missing")
	}
	p := &Publication{Target: r.Low.Value("tgt"), TargetType: "glob", Fun: r.Fun,
		Ret: r.Low.Text("ret"), Options: data.NewMap()}
	if kind := r.Low.Text("tgt_type"); kind != "" {
		p.TargetType = kind
	}
	for key, v := range r.Low.All() {
		switch key {
		case "tgt", "tgt_type", "arg", "kwarg", "args", "ret", "jid", "fun", "state", "name",
			"order", "__id__", "__sls__", "user", "token", "eauth", "username",
			"password", "auth_list":
		default:
			p.Options.Set(key, v)
		}
	}
	args, kwargs := listOf(r.Low.Value("arg")), mapOf(r.Low.Value("kwarg"))
	if named, ok, err := r.named(log); ok {
		args, kwargs = nil, named
		if err != nil {
			return nil, err
		}
	}
	p.Args = loader.ConditionInput(args, kwargs)
	return p, nil
}

// call returns the arguments of a reaction that calls a function of the master.
func (r *Reaction) call(
	kind runners.Kind, orders Orders, log logrus.FieldLogger,
) ([]any, *data.Map, error) {
	if named, ok, err := r.named(log); ok {
		return nil, named, err
	}
	hasArg, hasKwarg := r.Low.Has("arg"), r.Low.Has("kwarg")
	var args []any
	var kwargs *data.Map
	if !hasArg || !hasKwarg {
		spec, ok := orders.Spec(kind, r.Fun)
		if !ok {
			return nil, nil, errors.New("function not available")
		}
		var err error
		if args, kwargs, err = runners.FromLow(spec, string(kind)+"."+r.Fun,
			r.parameters(spec)); err != nil {
			return nil, nil, err
		}
	}
	if hasArg {
		args = listOf(r.Low.Value("arg"))
	}
	if hasKwarg {
		kwargs = mapOf(r.Low.Value("kwarg"))
	}
	return args, kwargs, nil
}

// here returns the arguments of a reaction of type caller. In the obsolete form, args holds only
// positional arguments.
func (r *Reaction) here(log logrus.FieldLogger) ([]any, *data.Map, error) {
	if list, ok := r.Low.Value("args").([]any); ok && !slices.ContainsFunc(list, isMap) {
		return list, nil, nil
	}
	if named, ok, err := r.named(log); ok {
		return nil, named, err
	}
	return listOf(r.Low.Value("arg")), mapOf(r.Low.Value("kwarg")), nil
}

func isMap(v any) bool {
	_, ok := v.(*data.Map)
	return ok
}

// parameters returns the arguments of the obsolete form: the fields of the chunk except its own,
// unless the function has parameters with those names.
func (r *Reaction) parameters(spec *loader.Spec) *data.Map {
	low := r.Low.Clone()
	for _, own := range []string{"__id__", "__sls__", "name", "order", "fun", "key", "state",
		"arg", "kwarg"} {
		if !spec.Has(own) {
			low.Delete(own)
		}
	}
	return low
}

// errFormat is returned for invalid args.
var errFormat = errors.New("Incorrect argument format, check the Reactor System documentation for the correct format.") //nolint:staticcheck // Salt's text

// named returns the keyword arguments under args, the new form. ok is false if there are no args.
func (r *Reaction) named(log logrus.FieldLogger) (kwargs *data.Map, ok bool, err error) {
	args, ok := r.Low.Get("args")
	if !ok {
		return nil, false, nil
	}
	for _, old := range []string{"arg", "kwarg"} {
		if r.Low.Has(old) {
			log.Warnf("Reactor '%s' is ignoring '%s' param %s due to presence of 'args' param. Check the Reactor System documentation for the correct argument format.",
				r.ID, old, data.Repr(r.Low.Value(old)))
		}
	}
	if m, isMap := args.(*data.Map); isMap {
		return m, true, nil
	}
	if kwargs, ok = repack(args); !ok || kwargs.Len() == 0 {
		return nil, true, errFormat
	}
	return kwargs, true, nil
}

// repack merges a list of maps with one key each into one map. An element that is not a map becomes
// a key without a value (salt/utils/data.py, repack_dictlist).
func repack(v any) (*data.Map, bool) {
	entries, ok := v.([]any)
	if !ok {
		return nil, false
	}
	m := data.NewMap()
	for _, entry := range entries {
		switch entry := entry.(type) {
		case *data.Map:
			if entry.Len() != 1 {
				return nil, false
			}
			m.Update(entry)
		case string:
			m.Set(entry, nil)
		default:
			return nil, false
		}
	}
	return m, true
}

// listOf returns positional arguments. A value other than a list is the only argument.
func listOf(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// mapOf returns keyword arguments, which may also be a list of maps.
func mapOf(v any) *data.Map {
	if m, ok := v.(*data.Map); ok {
		return m
	}
	if m, ok := repack(v); ok {
		return m
	}
	return nil
}
