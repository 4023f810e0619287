package state

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

const disabledGrain = "state_runs_disabled" // lists what must not run

type statesArgs struct{ States any }

// disable prevents states from running on the minion.
//
// states
//
//	The states to disable: a list, or names separated by commas. Each is an SLS as it is passed
//	to state.sls, highstate, or a function of this module. NAME.* stands for all names that
//	begin with NAME and a dot.
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

// enable allows states again that state.disable disabled.
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

// change applies edit to the list of disabled states for each state in the arguments, and reports
// what it did. edit returns the list unchanged if there is nothing to do.
func (m *module) change(
	ctx context.Context, a statesArgs, edit func(off []any, state any) ([]any, string),
) (any, error) {
	before, err := m.disabled(ctx)
	if err != nil {
		return nil, err
	}
	off, messages := before, []string{}
	for _, state := range split(a.States) {
		var outcome string
		off, outcome = edit(off, state)
		messages = append(messages, fmt.Sprintf("Info: %s state %s.", data.Str(state), outcome))
	}
	if !data.Equal(before, off) {
		if err := calls.GrainsSetVal(ctx, m.env, disabledGrain, off); err != nil {
			return nil, err
		}
	}
	if err := calls.RefreshModules(ctx, m.env); err != nil {
		return nil, err
	}
	return data.NewMap("res", true, "msg", strings.Join(messages, "\n")), nil
}

// listDisabled returns the states that state.disable disabled.
//
// CLI Example:
//
//	salt '*' state.list_disabled
func (m *module) listDisabled(ctx context.Context, _ loader.NoArgs) (any, error) {
	return calls.GrainsGet[any](ctx, m.env, disabledGrain)
}

func (m *module) disabled(ctx context.Context) ([]any, error) {
	list, err := calls.GrainsGet[[]any](ctx, m.env, disabledGrain)
	if list == nil {
		list = []any{}
	}
	return list, err
}

func contains(list []any, v any) bool {
	return slices.ContainsFunc(list, func(have any) bool { return data.Equal(have, v) })
}
