package pillar

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// Engines returns a factory for the engines of a program's compilations. Templates see the modules
// as salt, with the options, grains and pillar of the minion, and the rest of env unchanged. A
// module is built when a template first calls it. Renderers and their parsed templates are shared.
func Engines(
	env loader.Env, modules []loader.Plugin, renderers []render.Renderer,
) func(Scope) (*render.Engine, error) {
	all, fault := loader.NewRegistry(&env, modules)
	if fault != nil {
		return func(Scope) (*render.Engine, error) {
			return nil, fmt.Errorf("functions of a pillar: %w", fault)
		}
	}
	return EnginesOf(env, all, renderers)
}

// EnginesOf is Engines for modules that are in a registry. Templates also see the users' own
// modules, which extend it.
func EnginesOf(
	env loader.Env, all *loader.Registry, renderers []render.Renderer,
) func(Scope) (*render.Engine, error) {
	return func(s Scope) (*render.Engine, error) {
		own := env
		own.Opts, own.Functions, own.Call = s.Opts, nil, nil
		own.Grains, own.Pillar = func() *data.Map { return s.Grains },
			func() *data.Map { return s.Pillar }
		lent := all.With(&own).Env()
		lent.Call = reportingCaller(lent.Call)
		return render.New(render.Options{Env: lent, Files: s.Files, Renderers: renderers})
	}
}

// caller is the type of functions that call functions by name; see loader.Env.
type caller = func(ctx context.Context, fun string, args []any, kwargs *data.Map) (any, error)

// reportingCaller wraps call. It reports each call whose result may change between renderings to
// the watcher.
func reportingCaller(call caller) caller {
	return func(ctx context.Context, fun string, args []any, kwargs *data.Map) (any, error) {
		if !deterministic(fun) {
			render.Touch(ctx, "function "+fun)
		}
		return call(ctx, fun, args, kwargs)
	}
}

// deterministic reports whether a function's result depends only on its arguments and the grains,
// pillar and options of the minion.
func deterministic(fun string) bool {
	return strings.HasPrefix(fun, "match.") || slices.Contains([]string{
		"grains.get", "grains.has_value", "grains.filter_by", "grains.item", "grains.items",
		"grains.ls", "grains.equals", "grains.fetch", "slsutil.merge", "slsutil.merge_all",
		"slsutil.update",
	}, fun)
}
