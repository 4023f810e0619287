// Package matchers has the matchers of a minion as plug-ins: KIND_match with the function match, for
// each kind of target, and confirm_top, which top files ask (salt/matchers). Users' own ones replace
// those of package match and add new kinds of targets.
package matchers

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

// Of returns users' own matchers of a minion, nil if there cannot be any. Their calls belong to the
// job of ctx.
func Of(ctx context.Context, env *loader.Env) match.Own {
	registry := env.Registry("matchers")
	if registry == nil {
		return nil
	}
	return &own{ctx, env, registry}
}

type own struct {
	ctx      context.Context
	env      *loader.Env
	registry *loader.Registry
}

// find returns a function that users wrote. Those of Plugins name a Go function.
func find(registry *loader.Registry, fun string) (loader.Func, bool) {
	f, ok := registry.Func(fun)
	return f, ok && f.Spec().Source == ""
}

// Has reports whether there is a matcher for a kind of target (match.Own).
func (o *own) Has(kind string) bool {
	_, ok := find(o.registry, kind+"_match.match")
	return ok
}

// Match calls the matcher of a kind of target (match.Own). Salt passes the arguments delimiter, opts
// and minion_id from some places and not from others. Here a matcher gets those that it needs.
func (o *own) Match(kind string, tgt any, delim, id string) (bool, error) {
	fun := kind + "_match.match"
	f, ok := find(o.registry, fun)
	if !ok {
		return false, loader.Exception("KeyError", "%s", data.Repr(fun))
	}
	kwargs := data.NewMap()
	if delim != "" && f.Spec().Takes("delimiter") {
		kwargs.Set("delimiter", delim)
	}
	for i, p := range f.Spec().Params {
		switch {
		case i == 0:
		case p.Name == "opts" && p.Required:
			kwargs.Set("opts", options(o.env))
		case p.Name == "nodegroups":
			kwargs.Set("nodegroups", nodegroups(o.env))
		case p.Name == "minion_id" && (p.Required || id != o.env.Opts.Text("id")):
			kwargs.Set("minion_id", id)
		}
	}
	return ask(o.ctx, o.registry, fun, []any{tgt}, kwargs)
}

// ErrFailed is wrapped by the errors of users' own matchers.
var ErrFailed = errors.New("matcher failed")

// ask returns the truth of what a matcher returns.
func ask(
	ctx context.Context, registry *loader.Registry, fun string, args []any, kwargs *data.Map,
) (bool, error) {
	v, err := registry.Invoke(ctx, fun, args, kwargs)
	if err != nil {
		return false, fmt.Errorf("%w: %s: %w", ErrFailed, fun, err)
	}
	return data.Truth(v), nil
}

// options returns the options of the minion as plug-ins find them in __opts__.
func options(env *loader.Env) *data.Map {
	opts := env.Opts.Clone()
	opts.Set("grains", env.GrainsNow())
	opts.Set("pillar", env.PillarNow())
	return opts
}

func nodegroups(env *loader.Env) *data.Map {
	groups, _ := env.Option("nodegroups").(*data.Map)
	if groups == nil {
		return data.NewMap()
	}
	return groups
}

// A Target is an entry of a top file.
type Target struct {
	Pattern any
	Kind    string // how it is matched
	Mods    []any  // what stands below it
}

// Confirm reports whether an entry of a top file is for a minion (salt/matchers/confirm_top.py). For
// an unknown kind of target the error wraps match.ErrUnknownType, for users' own matchers ErrFailed.
// Others are about a pattern that names nobody.
func Confirm(ctx context.Context, env *loader.Env, t Target, m *match.Minion) (bool, error) {
	if registry := env.Registry("matchers"); registry != nil {
		if _, ok := find(registry, "confirm_top.confirm_top"); ok {
			return ask(ctx, registry, "confirm_top.confirm_top",
				[]any{t.Pattern, t.Mods, nodegroups(env)}, nil)
		}
	}
	groups, _ := env.Option("nodegroups").(*data.Map)
	e, err := match.Compile(t.Pattern, t.Kind, "", match.Options{Nodegroups: groups,
		Own: Of(ctx, env)})
	if err != nil {
		return false, err
	}
	return e.Check(m)
}
