// Package state is Salt's runner state: it runs orchestrations, which are states of the master
// itself, and lets shell scripts watch the bus (salt/runners/state.py).
//
// orchestrate.go runs and shows orchestrations. minion.go builds their environment: the execution
// modules and states of the master, with its file roots and pillar, under its own id. pause.go
// controls a running orchestration, and event.go prints events.
package state

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
)

// A Compiler compiles pillars.
type Compiler interface {
	Compile(ctx context.Context, r pillar.Request) (*data.Map, error)
}

// Plugin returns the runner state. Without a compiler orchestrations only have the pillar that
// their callers pass.
func Plugin(c Compiler) loader.Plugin {
	return loader.Plugin{Name: "state",
		New: func(env *loader.Env) (*loader.Module, error) { return newModule(env, c) }}
}

type module struct {
	env      *loader.Env
	compiler Compiler
}

func newModule(env *loader.Env, c Compiler) (*loader.Module, error) {
	m := &module{env, c}
	orchestrate := loader.F("orchestrate", m.orchestrate)
	show := loader.F("orchestrate_show_sls", m.orchestrateShowSLS).Ordered()
	pause, resume := loader.F("pause", m.pause), loader.F("resume", m.resume)
	return &loader.Module{Funcs: []loader.Func{
		loader.F("event", m.event),
		orchestrate, orchestrate.Alias("orch"), orchestrate.Alias("sls"),
		loader.F("orchestrate_high", m.orchestrateHigh),
		loader.F("orchestrate_single", m.orchestrateSingle),
		show, show.Alias("orch_show_sls"),
		pause, pause.Alias("set_pause"),
		resume, resume.Alias("rm_pause"),
		loader.F("soft_kill", m.softKill),
	}}, nil
}
