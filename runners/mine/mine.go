// Package mine is Salt's runner mine: it reads minions' mine data, and makes minions refresh it
// (salt/runners/mine.py).
package mine

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Get returns the mine data under the names in fun for a target's minions, as in the master's reply
// to a minion.
type Get func(ctx context.Context, tgt any, tgtType string, fun any) (any, error)

// Plugin returns the runner mine.
func Plugin(get Get) loader.Plugin {
	return loader.Plugin{Name: "mine", New: func(env *loader.Env) (*loader.Module, error) {
		if get == nil {
			return nil, errors.New("no mine is configured")
		}
		m := &module{env, get}
		return &loader.Module{Funcs: []loader.Func{loader.F("get", m.find),
			loader.F("update", m.update)}}, nil
	}}
}

type module struct {
	env *loader.Env
	get Get
}

type findArgs struct {
	Tgt     any
	Fun     any
	TgtType string `default:"'glob'"`
}

// find returns the mine data under a name, by minion.
//
// CLI Example:
//
//	salt-run mine.get '*' network.interfaces
func (m *module) find(ctx context.Context, a findArgs) (any, error) {
	return m.get(ctx, a.Tgt, a.TgtType, a.Fun)
}

type updateArgs struct {
	Tgt           any
	TgtType       any  `default:"'glob'"`
	Clear         bool `default:"False"`
	MineFunctions any  `default:"None"`
}

// update makes minions refresh their mine data, and returns the result of each.
//
// clear
//
//	True deletes the present mine data first.
//
// mine_functions
//
//	Only these functions, as in the option of that name.
//
// CLI Example:
//
//	salt-run mine.update '*'
//	salt-run mine.update 'juniper-edges' tgt_type='nodegroup'
func (m *module) update(ctx context.Context, a updateArgs) (any, error) {
	words := &data.Map{}
	if a.Clear {
		words.Set("clear", true)
	}
	if a.MineFunctions != nil {
		words.Set("mine_functions", a.MineFunctions)
	}
	answers, err := runners.Collect(ctx, m.env,
		data.NewMap("tgt", a.Tgt, "tgt_type", a.TgtType, "fun", "mine.update",
			"arg", loader.ConditionInput(nil, words), "timeout", m.env.Option("timeout")))
	if err != nil {
		m.env.Log.Errorf("Error while executing mine.update on %s: %v", data.Str(a.Tgt), err)
		return data.NewMap(), nil
	}
	for id, answer := range answers.All() {
		answers.Set(id, answer.(*data.Map).Value("ret"))
	}
	return answers, nil
}
