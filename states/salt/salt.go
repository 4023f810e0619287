// Package salt is Salt's state salt: it gives orders to minions and to the master, and waits for events. Orchestrations are made of it
// (salt/states/saltmod.py).
//
// state.go runs states on minions, function.go a function, and target.go is what both share; control.go calls runners and wheel functions,
// parallel.go several runners at once, and wait.go waits for events. Minions are reached by way of saltutil.cmd, the functions of the
// master by saltutil.runner and saltutil.wheel. On a minion with file_client: local, salt.state runs the states there.
//
// What is odd, and as in Salt: minions that do not answer count for salt.function only with expect_minions; salt.wheel in test mode
// has the result True.
//
// What differs: minions are named in the order in which they answered, and not at random. With batch, minions that did not answer its
// ping are missing, where Salt forgets them, and return codes count, which Salt does not look at then. salt.parallel_runners sees that a runner broke off, or that an orchestration failed, where
// Salt looks for a return code in the wrong place, and takes results that are no dictionaries.
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
