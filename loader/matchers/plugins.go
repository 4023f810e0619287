package matchers

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

// Plugins returns the matchers of package match as plug-ins, which users' own ones may call.
func Plugins() []loader.Plugin {
	list := []loader.Plugin{{Name: "confirm_top", New: confirmTop}}
	for _, kind := range []string{"compound", "glob", "ipcidr", "list", "pcre"} {
		list = append(list, loader.Plugin{Name: kind + "_match",
			New: func(env *loader.Env) (*loader.Module, error) { return plain(env, kind), nil }})
	}
	for _, kind := range []string{"grain", "grain_pcre", "pillar", "pillar_exact", "pillar_pcre"} {
		list = append(list, loader.Plugin{Name: kind + "_match",
			New: func(env *loader.Env) (*loader.Module, error) { return delimited(env, kind), nil }})
	}
	return append(list, loader.Plugin{Name: "nodegroup_match", New: nodegroup})
}

type targetArgs struct {
	Tgt      any
	Opts     any `default:"None"`
	MinionID any `default:"None"`
}

func plain(env *loader.Env, kind string) *loader.Module {
	return &loader.Module{Funcs: []loader.Func{loader.F("match",
		func(ctx context.Context, a targetArgs) (any, error) {
			return named(ctx, env, question{a.Tgt, kind, "", a.MinionID}), nil
		}).Document("Return whether a target matches the minion.")}}
}

type delimitedArgs struct {
	Tgt       any
	Delimiter any `default:"':'"`
	Opts      any `default:"None"`
	MinionID  any `default:"None"`
}

func delimited(env *loader.Env, kind string) *loader.Module {
	return &loader.Module{Funcs: []loader.Func{loader.F("match",
		func(ctx context.Context, a delimitedArgs) (any, error) {
			return named(ctx, env, question{a.Tgt, kind, data.Str(a.Delimiter), a.MinionID}), nil
		}).Document("Return whether a value of the minion matches a target.")}}
}

type nodegroupArgs struct {
	Tgt        any
	Nodegroups any `default:"None"`
	Opts       any `default:"None"`
	MinionID   any `default:"None"`
}

func nodegroup(env *loader.Env) (*loader.Module, error) {
	return &loader.Module{Funcs: []loader.Func{loader.F("match",
		func(ctx context.Context, a nodegroupArgs) (any, error) {
			return named(ctx, env, question{a.Tgt, "nodegroup", "", a.MinionID}), nil
		}).Document("Return whether the minion is in a node group.")}}, nil
}

// A question is a target to match against the minion, or against another id.
type question struct {
	tgt         any
	kind, delim string
	id          any
}

// named reports whether a target matches. One that cannot be evaluated matches nobody.
func named(ctx context.Context, env *loader.Env, q question) bool {
	e, err := match.Compile(q.tgt, q.kind, q.delim, match.Options{Nodegroups: nodegroups(env),
		Own: Of(ctx, env)})
	if err != nil {
		env.Log.WithError(err).Errorf("Unable to evaluate %s target %s", q.kind, data.Str(q.tgt))
		return false
	}
	m := &match.Minion{ID: env.Opts.Text("id"), Grains: env.GrainsNow(), Pillar: env.PillarNow()}
	if data.Truth(q.id) {
		m.ID = data.Str(q.id)
	}
	return e.Match(m)
}

type confirmArgs struct {
	Match      any
	Data       []any
	Nodegroups any `default:"None"`
}

func confirmTop(env *loader.Env) (*loader.Module, error) {
	return &loader.Module{Funcs: []loader.Func{loader.F("confirm_top",
		func(ctx context.Context, a confirmArgs) (any, error) {
			kind := "compound"
			for _, item := range a.Data {
				if option, ok := item.(*data.Map); ok && option.Has("match") {
					kind = data.Str(option.Value("match"))
				}
			}
			return named(ctx, env, question{a.Match, kind, "", nil}), nil
		}).Document("Return whether an entry of a top file is for the minion.")}}, nil
}
