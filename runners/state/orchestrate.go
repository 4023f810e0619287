package state

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
	"github.com/brineproject/brine/state"
)

// noDictionary is the error text for an invalid pillar.
const noDictionary = "Pillar data must be formatted as a dictionary"

// checkPillar rejects a pillar that is not a dictionary.
func checkPillar(v any) error {
	if _, ok := v.(*data.Map); !ok && v != nil {
		return loader.Invocation(noDictionary)
	}
	return nil
}

type orchestrateArgs struct {
	Mods             any
	Saltenv          any `default:"'base'"`
	Test             any `default:"None"`
	Exclude          any `default:"None"`
	Pillar           any `default:"None"`
	Pillarenv        any `default:"None"`
	PillarEnc        any `default:"None"`
	OrchestrationJID any `name:"orchestration_jid" default:"None"`
}

// orchestrate runs states on the master, mainly those of the module salt, which submit orders to
// minions. The result is a state run of the master's id.
//
// mods
//
//	The SLS to run: a list, or comma-separated names.
//
// saltenv, pillarenv
//
//	The environments of files and of pillar.
//
// test
//
//	True changes nothing and reports what would change.
//
// exclude
//
//	IDs and SLS to leave out.
//
// pillar, pillar_enc
//
//	A dictionary that overrides the pillar, and the renderer that decrypts it.
//
// CLI Example:
//
//	salt-run state.orchestrate webserver
//	salt-run state.orchestrate webserver saltenv=dev test=True
//	salt-run state.orchestrate webserver pillar='{version: 7}'
func (m *module) orchestrate(ctx context.Context, a orchestrateArgs) (any, error) {
	if err := checkPillar(a.Pillar); err != nil {
		return nil, err
	}
	jid := a.OrchestrationJID
	if jid == nil {
		jid = string(job.NewID(time.Now()))
	}
	words := data.NewMap("pillar", a.Pillar, "saltenv", orElse(a.Saltenv, m.env.Option("saltenv")),
		"pillarenv", orElse(a.Pillarenv, m.env.Option("pillarenv")),
		"pillar_enc", a.PillarEnc, "__pub_jid", jid, "orchestration_jid", jid)
	v, err := m.invoke(ctx, "state.sls", []any{a.Mods, a.Test, a.Exclude}, words)
	if err != nil {
		return nil, err
	}
	results := m.mine(v)
	code := int64(1)
	if state.Succeeded(results, false) {
		code = 0
	}
	return data.NewMap("data", results, "outputter", "highstate", "retcode", code), nil
}

func orElse(v, otherwise any) any {
	if v == nil {
		return otherwise
	}
	return v
}

type singleArgs struct {
	Fun    any
	Name   any
	Test   any       `default:"None"`
	Queue  any       `default:"False"`
	Pillar any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// orchestrateSingle runs one state on the master. Further arguments are passed to it.
//
// fun
//
//	The state function.
//
// CLI Example:
//
//	salt-run state.orchestrate_single fun=salt.wheel name=key.list_all
func (m *module) orchestrateSingle(ctx context.Context, a singleArgs) (any, error) {
	if err := checkPillar(a.Pillar); err != nil {
		return nil, err
	}
	words := runners.Words(a.Kwargs)
	if a.Pillar != nil {
		words.Set("pillar", a.Pillar)
	}
	words.Update(data.NewMap("test", nil, "queue", false))
	return m.progress(ctx, "state.single", []any{a.Fun, a.Name}, words)
}

type highArgs struct {
	Data   any
	Test   any       `default:"None"`
	Queue  any       `default:"False"`
	Pillar any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// orchestrateHigh runs high data on the master.
//
// CLI Example:
//
//	salt-run state.orchestrate_high '{stage_one: {salt.state: [{tgt: "db*"}, {sls: postgres_setup}]}}'
func (m *module) orchestrateHigh(ctx context.Context, a highArgs) (any, error) {
	if err := checkPillar(a.Pillar); err != nil {
		return nil, err
	}
	words := runners.Words(a.Kwargs)
	words.Update(data.NewMap("test", nil, "queue", false, "pillar", a.Pillar))
	return m.progress(ctx, "state.high", []any{a.Data}, words)
}

// progress calls a function, reports the result to the caller, and returns it.
func (m *module) progress(
	ctx context.Context, fun string, args []any, words *data.Map,
) (any, error) {
	v, err := m.invoke(ctx, fun, args, words)
	if err != nil {
		return nil, err
	}
	ret := m.mine(v)
	if err := runners.RunOf(ctx).Fire(ctx,
		"progress", data.NewMap("data", ret, "outputter", "highstate")); err != nil {
		m.env.Log.Debugf("report the result of %s: %v", fun, err)
	}
	return ret, nil
}

type showArgs struct {
	Mods      any
	Saltenv   any `default:"'base'"`
	Test      any `default:"None"`
	Queue     any `default:"False"`
	Pillar    any `default:"None"`
	Pillarenv any `default:"None"`
	PillarEnc any `default:"None"`
}

// orchestrateShowSLS returns the high data of SLS files as the master compiles them for an
// orchestration.
//
// CLI Example:
//
//	salt-run state.orch_show_sls my-orch-formula.my-orch-state 'pillar={ nodegroup: ng1 }'
func (m *module) orchestrateShowSLS(ctx context.Context, a showArgs) (any, error) {
	if err := checkPillar(a.Pillar); err != nil {
		return nil, err
	}
	words := data.NewMap("pillar", a.Pillar, "pillarenv", a.Pillarenv, "pillar_enc", a.PillarEnc,
		"saltenv", a.Saltenv)
	v, err := m.invoke(ctx, "state.show_sls", []any{a.Mods, a.Test, a.Queue}, words)
	if err != nil {
		return nil, err
	}
	return m.mine(v), nil
}
