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

// Engines returns what makes the engines of a program's compilations: templates see the modules as salt, under the options,
// grains and pillar of the minion, and the rest of env as it is. A module is built when a template calls it first. Renderers are
// shared, and with them the templates that were parsed.
func Engines(env loader.Env, modules []loader.Plugin, renderers []render.Renderer) func(Scope) (*render.Engine, error) {
	all, fault := loader.NewRegistry(&env, modules)
	return func(s Scope) (*render.Engine, error) {
		if fault != nil {
			return nil, fmt.Errorf("functions of a pillar: %w", fault)
		}
		own := env
		own.Opts, own.Functions, own.Call = s.Opts, nil, nil
		own.Grains, own.Pillar = func() *data.Map { return s.Grains }, func() *data.Map { return s.Pillar }
		lent := all.With(&own).Env()
		lent.Call = telling(lent.Call)
		return render.New(render.Options{Env: lent, Files: s.Files, Renderers: renderers})
	}
}

// caller is what calls functions by name; see loader.Env.
type caller = func(ctx context.Context, fun string, args []any, kwargs *data.Map) (any, error)

// telling tells who watches a rendering of each call whose result may be another the next time.
func telling(call caller) caller {
	return func(ctx context.Context, fun string, args []any, kwargs *data.Map) (any, error) {
		if !settled(fun) {
			render.Touch(ctx, "function "+fun)
		}
		return call(ctx, fun, args, kwargs)
	}
}

// settled reports whether a function takes all that it answers from its arguments and the grains, pillar and options of the minion.
func settled(fun string) bool {
	return strings.HasPrefix(fun, "match.") || slices.Contains([]string{
		"grains.get", "grains.has_value", "grains.filter_by", "grains.item", "grains.items", "grains.ls", "grains.equals", "grains.fetch",
		"slsutil.merge", "slsutil.merge_all", "slsutil.update",
	}, fun)
}
