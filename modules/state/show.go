package state

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state"
)

type slsArgs struct {
	Mods   any
	Test   any       `default:"None"`
	Queue  any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

type topArgs struct {
	Queue  any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// showSLS returns the high data that some SLS compile to, before extend, exclude and requisites are
// applied. If the SLS have errors, it returns a list of error texts instead.
//
// mods
//
//	The SLS: a list, or names separated by commas. Globs are allowed.
//
// test
//
//	The value of the option test that templates see.
//
// queue
//
//	True waits for states that run on the minion. A number waits only if fewer calls wait
//	already. Default: the option state_queue.
//
// Further arguments: saltenv and pillarenv name environments; pillar is a dictionary that overrides
// the pillar; pillar_enc is the renderer that decrypts it; localconfig is a file with further
// options of the minion. With concurrent the call runs beside other states, and with force it runs
// even if the pillar has errors.
//
// CLI Example:
//
//	salt '*' state.show_sls core,edit.vim saltenv=dev
func (m *module) showSLS(ctx context.Context, a slsArgs) (any, error) {
	high, stopped, err := m.slsHigh(ctx, a, overrideOf)
	if high == nil {
		return stopped, err
	}
	return high.SetClass(data.HashableOrderedDict), nil
}

// showLowSLS returns the low chunks of some SLS in the order in which they would run. It does not
// apply extend, exclude and requisites of the _in forms. Its arguments are those of state.show_sls,
// without pillar_enc.
//
// CLI Example:
//
//	salt '*' state.show_low_sls foo
//	salt '*' state.show_low_sls foo saltenv=dev
func (m *module) showLowSLS(ctx context.Context, a slsArgs) (any, error) {
	high, stopped, err := m.slsHigh(ctx, a, plainOverride)
	if high == nil {
		return stopped, err
	}
	return state.List(state.Low(high)), nil
}

// slsHigh returns the verified high data of some SLS. If the call cannot go on, it returns the
// result of the call as stopped.
func (m *module) slsHigh(
	ctx context.Context, a slsArgs, read reader,
) (high *data.Map, stopped any, err error) {
	if stopped, err = m.conflict(ctx, a.Queue, a.Kwargs); stopped != nil || err != nil {
		return nil, stopped, err
	}
	opts, err := m.options(a.Kwargs)
	if err == nil {
		err = m.withTest(ctx, opts, a.Test, a.Kwargs)
	}
	if err != nil {
		return nil, nil, err
	}
	if opts.Value("saltenv") == nil {
		opts.Set("saltenv", "base")
	}
	h, err := m.checkedHighState(ctx, opts, read, a.Kwargs)
	if err != nil {
		return nil, nil, err
	}
	high, problems, err := h.compiler.Render(rendering(ctx),
		data.NewMap(opts.Text("saltenv"), split(a.Mods)))
	if err != nil {
		return nil, nil, saltError(err)
	}
	if problems = append(problems, state.Verify(high)...); len(problems) > 0 {
		stopped, err = problemResult(ctx, problems)
		return nil, stopped, err
	}
	return high, nil, nil
}

// reader reads the pillar data that a call passes from its arguments.
type reader func(kwargs *data.Map) (override, error)

// checkedHighState is highState, but fails if the pillar has errors.
func (m *module) checkedHighState(
	ctx context.Context, opts *data.Map, read reader, kwargs *data.Map,
) (*highState, error) {
	over, err := read(kwargs)
	if err != nil {
		return nil, err
	}
	h, err := m.highState(ctx, opts, over)
	if err != nil {
		return nil, err
	}
	if errs := m.pillarErrors(h, kwargs); len(errs) > 0 {
		return nil, loader.ExecutionInfo("Pillar failed to render", errs)
	}
	return h, nil
}

// split returns a list of names. It splits a text at its commas (salt/utils/args.py, split_input).
func split(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return data.Values(loader.SplitInput(data.Str(v)))
}

// showHighstate returns the high data that the top file assigns to the minion, before extend,
// exclude and requisites are applied. If there are errors, it returns a list of error texts
// instead. Its arguments are those of state.show_sls.
//
// CLI Example:
//
//	salt '*' state.show_highstate
func (m *module) showHighstate(ctx context.Context, a topArgs) (any, error) {
	h, stopped, err := m.topState(ctx, a, overrideOf)
	if h == nil {
		return stopped, err
	}
	high, problems, err := h.compiler.HighState(rendering(ctx))
	if err != nil {
		return nil, saltError(err)
	}
	if len(problems) > 0 {
		return problemResult(ctx, problems)
	}
	judge(ctx, high)
	return high.SetClass(data.HashableOrderedDict), nil
}

// topState returns the compiler for a call that compiles the top file. If the call cannot go on, it
// returns the result of the call as stopped.
func (m *module) topState(
	ctx context.Context, a topArgs, read reader,
) (h *highState, stopped any, err error) {
	if stopped, err = m.conflict(ctx, a.Queue, a.Kwargs); stopped != nil || err != nil {
		return nil, stopped, err
	}
	opts, err := m.options(a.Kwargs)
	if err != nil {
		return nil, nil, err
	}
	h, err = m.checkedHighState(ctx, opts, read, a.Kwargs)
	return h, nil, err
}

// showLowstate returns the low chunks that the top file assigns to the minion, in the order in
// which they would run. If there are errors, it returns a list of error texts instead. Its
// arguments are those of state.show_sls, without pillar.
//
// CLI Example:
//
//	salt '*' state.show_lowstate
func (m *module) showLowstate(ctx context.Context, a topArgs) (any, error) {
	list, stopped, err := m.lowState(ctx, a)
	if list == nil {
		return stopped, err
	}
	return list, nil
}

// lowState returns chunks or problems as a list that is never nil. If the call cannot go on, it
// returns the result of the call as stopped.
func (m *module) lowState(ctx context.Context, a topArgs) (list []any, stopped any, err error) {
	h, stopped, err := m.topState(ctx, a, noOverride)
	if h == nil {
		return nil, stopped, err
	}
	chunks, problems, err := h.compiler.LowState(rendering(ctx))
	if err != nil {
		return nil, nil, saltError(err)
	}
	if len(problems) > 0 {
		return data.Values(problems), nil, nil
	}
	return state.List(chunks), nil, nil
}

// showStates returns the names of the SLS whose states the top file assigns to the minion, in the
// order in which they would run. Its arguments are those of state.show_sls, without pillar.
//
// CLI Example:
//
//	salt '*' state.show_states
func (m *module) showStates(ctx context.Context, a topArgs) (any, error) {
	list, stopped, err := m.lowState(ctx, a)
	if list == nil {
		return stopped, err
	}
	names := data.NewMap()
	for _, v := range list {
		chunk, ok := v.(*data.Map)
		if !ok {
			judge(ctx, list)
			return list, nil
		}
		names.Set(state.Chunk{Map: chunk}.SLS(), true)
	}
	return names.Keys(), nil
}

// showTop returns the SLS that top files and master_tops assign to the minion, as a list for each
// environment. If the top files have errors, it returns a list of error texts instead. Its
// arguments are those of state.show_sls, without pillar.
//
// CLI Example:
//
//	salt '*' state.show_top
func (m *module) showTop(ctx context.Context, a topArgs) (any, error) {
	h, stopped, err := m.topState(ctx, a, noOverride)
	if h == nil {
		return stopped, err
	}
	top, problems, err := h.compiler.Top(rendering(ctx))
	if err != nil {
		return nil, saltError(err)
	}
	if len(problems) > 0 {
		return problemResult(ctx, problems)
	}
	matches, err := h.compiler.Matches(rendering(ctx), top)
	if matches == nil || err != nil {
		return matches, saltError(err)
	}
	return matches.SetClass(data.DefaultOrderedDict), nil
}

// showStateUsage returns, for each environment, the SLS that the top file assigns to the minion,
// those that it does not, and their numbers. Of the arguments of state.show_sls it takes queue,
// concurrent, pillar and pillar_enc.
//
// CLI Example:
//
//	salt '*' state.show_state_usage
func (m *module) showStateUsage(ctx context.Context, a topArgs) (any, error) {
	if stopped, err := m.conflict(ctx, a.Queue, a.Kwargs); stopped != nil || err != nil {
		return stopped, err
	}
	over, err := overrideOf(a.Kwargs)
	if err != nil {
		return nil, err
	}
	h, err := m.highState(ctx, m.env.Opts, over)
	if err != nil {
		return nil, err
	}
	usage, problems, err := h.compiler.Usage(rendering(ctx))
	if err != nil {
		return nil, saltError(err)
	}
	if len(problems) > 0 {
		return problemResult(ctx, problems)
	}
	judge(ctx, usage)
	return usage, nil
}
