package state

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state"
)

type orchestrateArgs struct {
	Mods      any
	Saltenv   any `default:"'base'"`
	Test      any `default:"None"`
	Exclude   any `default:"None"`
	Pillar    any `default:"None"`
	Pillarenv any `default:"None"`
}

// orchestrate runs some SLS on this host, as the runner state.orchestrate does. Its arguments are
// those of state.sls.
//
// CLI Example:
//
//	salt-call --local state.orchestrate webserver
//	salt-call --local state.orchestrate webserver saltenv=dev test=True
func (m *module) orchestrate(ctx context.Context, a orchestrateArgs) (any, error) {
	if _, ok := a.Pillar.(*data.Map); !ok && a.Pillar != nil {
		return nil, loader.Invocation("Pillar data must be formatted as a dictionary")
	}
	pillarenv := a.Pillarenv
	if pillarenv == nil {
		pillarenv = m.env.Option("pillarenv")
	}
	jid := string(job.NewID(time.Now()))
	words := data.NewMap("pillar", a.Pillar, "saltenv", a.Saltenv, "pillarenv", pillarenv,
		"__pub_jid", jid, "orchestration_jid", jid, "concurrent", true)
	v, err := m.env.Call(ctx, "state.sls", []any{a.Mods, a.Test, a.Exclude}, words)
	if err != nil {
		return nil, err
	}
	results, code := data.NewMap(m.env.Option("id"), v), int64(1)
	if state.Succeeded(results, false) {
		code = 0
	}
	return data.NewMap("data", results, "outputter", "highstate", "retcode", code), nil
}
