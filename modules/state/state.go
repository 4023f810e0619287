// Package state is Salt's module state: it runs states, and shows what SLS and top files compile to
// (salt/modules/state.py).
//
// apply.go, highstate.go and template.go run states through run.go; outcome.go and errors.go judge
// the results. show.go shows high data, low chunks and top files. compile.go creates the compiler
// of one call with its own options and pillar, which options.go and pillar.go collect. queue.go
// keeps calls from running beside other states. disable.go, pause.go and request.go store what runs
// must observe. The top-level package state compiles, and state/runner runs.
//
// Some behaviour is odd but the same as Salt's. state.show_lowstate reports errors without a return
// code. state.show_low_sls does not apply extend and requisites, and does not decrypt pillar=.
// state.show_state_usage does not accept saltenv and ignores errors of the pillar. state.id_exists
// raises an error for a wrong call if the SLS do not compile. One thing differs: functions that
// templates call never change the return code, whatever renderer runs.
package state

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// Return codes (salt/defaults/exitcodes.py).
const (
	codeOK       = 0
	codeCompiler = 1 // the SLS or top files do not compile
	codeFailure  = 2 // a state failed
)

// Plugin returns the module state, which renders and fetches files with the parts in b.
func Plugin(b render.Brought) loader.Plugin {
	return loader.Plugin{Name: "state",
		New: func(env *loader.Env) (*loader.Module, error) { return newModule(env, b) }}
}

type module struct {
	env     *loader.Env
	brought render.Brought
}

func newModule(env *loader.Env, b render.Brought) (*loader.Module, error) {
	m := &module{env: env, brought: b}
	return &loader.Module{Funcs: append([]loader.Func{
		loader.F("check_request", m.checkRequest).Out("highstate"),
		loader.F("clear_cache", m.clearCache),
		loader.F("clear_request", m.clearRequest),
		loader.F("disable", m.disable),
		loader.F("enable", m.enable),
		loader.F("event", m.event),
		loader.F("get_pauses", m.getPauses),
		loader.F("id_exists", m.idExists),
		loader.F("list_disabled", m.listDisabled),
		loader.F("pause", m.pause),
		loader.F("resume", m.resume),
		loader.F("running", m.running),
		loader.F("show_highstate", m.showHighstate).Ordered(),
		loader.F("show_low_sls", m.showLowSLS),
		loader.F("show_lowstate", m.showLowstate),
		loader.F("show_sls", m.showSLS).Ordered(),
		loader.F("show_state_usage", m.showStateUsage),
		loader.F("show_states", m.showStates),
		loader.F("show_top", m.showTop).Ordered(),
		loader.F("sls_exists", m.slsExists),
		loader.F("soft_kill", m.softKill),
	}, m.runFuncs()...)}, nil
}

// runFuncs returns the functions that run states.
func (m *module) runFuncs() []loader.Func {
	return []loader.Func{
		loader.F("apply", m.apply).Def("apply_").Out("highstate"),
		loader.F("high", m.high),
		loader.F("highstate", m.highstate).Out("highstate"),
		loader.F("low", m.low),
		loader.F("orchestrate", m.orchestrate),
		loader.F("pkg", m.pkg).Out("highstate"),
		loader.F("request", m.request).Out("highstate"),
		loader.F("run_request", m.runRequest).Out("highstate"),
		loader.F("single", m.single).Out("highstate"),
		loader.F("sls", m.sls).Out("highstate"),
		loader.F("sls_id", m.slsID).Out("highstate"),
		loader.F("template", m.template).Out("highstate"),
		loader.F("template_str", m.templateStr).Out("highstate"),
		loader.F("test", m.test).Out("highstate"),
		loader.F("top", m.top).Out("highstate"),
	}
}
