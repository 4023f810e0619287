// Package saltutil is Salt's module saltutil: it steers the minion itself (salt/modules/saltutil.py).
//
// jobs.go and signal.go know and end the jobs of the minion, proc.go reads the files in CACHEDIR/proc by which the programs of
// one host show their jobs to one another, refresh.go fires the events that make the minion load something anew, sync.go fetches
// modules from the file server, cache.go removes what is cached, keys.go is about the minion's key, and master.go gives orders to
// a master on this host.
//
// A module works inside of a minion and in salt-call. In a minion the daemon lends what is needed (loader.Host); salt-call finds the
// minion of its host by the files in proc and the sockets of its event bus, be it ours or Salt's, and without one the refreshing
// functions return False, as in Salt.
//
// What is odd: the jobs of our minion are no processes. Their files say so (multiprocessing: False, which is not shown), and
// to end one from salt-call means to ask the minion by an event. What differs from Salt: damaged files in proc do not break
// saltutil.running; saltutil.clear_cache leaves what the minion works with (files of running jobs, the list of jobs that it has done,
// returns that the master has yet to get); saltutil.list_extmods is empty where nothing was ever fetched, over which Salt fails.
package saltutil

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module saltutil.
func Plugin() loader.Plugin { return loader.Plugin{Name: "saltutil", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	var funcs []loader.Func
	for _, part := range [][]loader.Func{m.jobFuncs(), m.refreshFuncs(), m.syncFuncs(), m.cacheFuncs(), m.keyFuncs(), m.masterFuncs()} {
		funcs = append(funcs, part...)
	}
	return &loader.Module{Funcs: append(funcs, loader.F("update", m.update))}, nil
}

type updateArgs struct {
	Version any `default:"None"`
}

// update would update a minion that was installed as an Esky build. This minion is none, which the result says.
//
// CLI Example:
//
//	salt '*' saltutil.update
//	salt '*' saltutil.update 0.10.3
func (m *module) update(context.Context, updateArgs) (any, error) {
	return data.NewMap("_error", "Esky not available as import"), nil
}
