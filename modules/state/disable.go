package state

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

const disabledGrain = "state_runs_disabled" // the list of what is not to run

type statesArgs struct{ States any }

// disable keeps states from being run on the minion.
//
// states
//
//	A list, or names with commas between them: SLS as state.sls is given them, highstate, or a function of this module.
//	NAME.* stands for all that begins with NAME and a dot.
//
// CLI Example:
//
//	salt '*' state.disable highstate
//	salt '*' state.disable highstate,test.succeed_without_changes
func (m *module) disable(ctx context.Context, a statesArgs) (any, error) {
	return m.change(ctx, a, func(off []any, state any) ([]any, string) {
		if contains(off, state) {
			return off, "already disabled"
		}
		return append(slices.Clip(off), state), "disabled"
	})
}

// enable lets states be run again that state.disable forbids.
//
// CLI Example:
//
//	salt '*' state.enable highstate
//	salt '*' state.enable test.succeed_without_changes
func (m *module) enable(ctx context.Context, a statesArgs) (any, error) {
	return m.change(ctx, a, func(off []any, state any) ([]any, string) {
		i := slices.IndexFunc(off, func(v any) bool { return data.Equal(v, state) })
		if i < 0 {
			return off, "already enabled"
		}
		return slices.Delete(slices.Clone(off), i, i+1), "enabled"
	})
}

// change applies a change to the list for each state and says what became of it. turn returns the list as it was when there
// is nothing to be done.
func (m *module) change(ctx context.Context, a statesArgs, turn func(off []any, state any) ([]any, string)) (any, error) {
	before, err := m.disabled(ctx)
	if err != nil {
		return nil, err
	}
	off, said := before, []string{}
	for _, state := range split(a.States) {
		var did string
		off, did = turn(off, state)
		said = append(said, fmt.Sprintf("Info: %s state %s.", data.Str(state), did))
	}
	if !data.Equal(before, off) {
		if _, err := m.env.Call(ctx, "grains.setval", []any{disabledGrain, off}, nil); err != nil {
			return nil, err
		}
	}
	if _, err := m.env.Call(ctx, "saltutil.refresh_modules", nil, nil); err != nil {
		return nil, err
	}
	return data.NewMap("res", true, "msg", strings.Join(said, "\n")), nil
}

// listDisabled returns what state.disable forbids.
//
// CLI Example:
//
//	salt '*' state.list_disabled
func (m *module) listDisabled(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.env.Call(ctx, "grains.get", []any{disabledGrain}, nil)
}

func (m *module) disabled(ctx context.Context) ([]any, error) {
	v, err := m.env.Call(ctx, "grains.get", []any{disabledGrain}, nil)
	list, ok := v.([]any)
	if !ok {
		list = []any{}
	}
	return list, err
}

func contains(list []any, v any) bool {
	return slices.ContainsFunc(list, func(have any) bool { return data.Equal(have, v) })
}
