// Package salt is Salt's state salt: it runs jobs on minions and functions on the master, and waits
// for events. Orchestrations consist of these states (salt/states/saltmod.py).
//
// state.go runs states on minions, function.go a function, and target.go is shared by both;
// control.go calls runners and wheel functions, parallel.go several runners concurrently, and
// wait.go waits for events. Minions are reached with saltutil.cmd, the functions of the master with
// saltutil.runner and saltutil.wheel. On a minion with file_client: local, salt.state runs the
// states on the minion itself.
//
// Oddities kept from Salt: salt.function only considers minions that do not return if
// expect_minions is set. In test mode, the result of salt.wheel is True.
//
// Differences from Salt: minions are listed in the order of their returns, not at random. With
// batch, minions that did not respond to its ping are reported as missing, whereas Salt ignores
// them, and return codes are considered, which Salt does not do in this case. salt.parallel_runners
// detects that a runner was aborted, or that an orchestration failed, where Salt looks for a return
// code in the wrong place. It also accepts results that are not dictionaries.
package salt

import (
	"github.com/brineproject/brine/loader"
)

// Plugin returns the state salt.
func Plugin() loader.Plugin { return loader.Plugin{Name: "salt", File: "saltmod", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("state", m.state),
		loader.F("function", m.function),
		loader.F("runner", m.runner),
		loader.F("parallel_runners", m.parallelRunners),
		loader.F("wheel", m.wheel),
		loader.F("wait_for_event", m.waitForEvent),
	}}, nil
}
