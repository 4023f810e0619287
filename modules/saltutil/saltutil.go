// Package saltutil is Salt's module saltutil: it controls the minion itself
// (salt/modules/saltutil.py).
//
// jobs.go and signal.go list and end the jobs of the minion. proc.go reads the files in
// CACHEDIR/proc, through which the programs of a host share their jobs. refresh.go fires the events
// that make the minion reload something. sync.go and fetch.go fetch modules from the file server,
// cache.go clears caches, keys.go manages the minion's key, and master.go sends commands to a
// master on this host.
//
// The module works in a minion and in salt-call. In a minion it uses the daemon through
// loader.Host. salt-call finds the minion of its host by the files in proc and the sockets of its
// event bus, whether the minion is ours or Salt's. Without a minion the refresh functions return
// False, like in Salt.
//
// The jobs of our minion are not processes. Their files say so (multiprocessing: False, which is
// not shown), and salt-call ends one by an event to the minion. Differences from Salt: damaged
// files in proc do not break saltutil.running; saltutil.clear_cache keeps the files that the minion
// works with (files of running jobs, the list of finished jobs, returns that the master has yet to
// get); saltutil.list_extmods is empty if nothing was ever fetched, where Salt fails.
package saltutil

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module saltutil.
func Plugin() loader.Plugin { return loader.Plugin{Name: "saltutil", New: newModule} }

// The parts of the module.
type (
	jobs      struct{ env *loader.Env } // finds jobs
	signals   struct{ jobs }            // sends signals to jobs
	refreshes struct{ env *loader.Env } // has the minion load things again
	modules   struct{ env *loader.Env } // fetches modules from the file server
	syncs     struct{ modules }         // fetches modules and has the minion load them
	caches    struct{ env *loader.Env } // clears what the minion has cached
	keys      struct{ env *loader.Env } // replaces and revokes the minion's key
	orders    struct{ env *loader.Env } // sends commands to minions
	masters   struct{ env *loader.Env } // calls runners and wheel functions
	functions struct{ env *loader.Env } // calls functions of the minion
)

func newModule(env *loader.Env) (*loader.Module, error) {
	j, r, x := jobs{env}, refreshes{env}, modules{env}
	s, y := signals{j}, syncs{x}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("clear_cache", caches{env}.clearCache),
		loader.F("clear_job_cache", caches{env}.clearJobCache),
		loader.F("cmd", orders{env}.cmd),
		loader.F("cmd_iter", orders{env}.cmdIter),
		loader.F("find_cached_job", j.findCachedJob),
		loader.F("find_job", j.findJob),
		loader.F("is_running", j.isRunning),
		loader.F("kill_all_jobs", s.killAllJobs),
		loader.F("kill_job", s.killJob),
		loader.F("list_extmods", x.listExtmods),
		loader.F("mmodule", functions{env}.mmodule),
		loader.F("refresh_beacons", r.refreshBeacons),
		loader.F("refresh_grains", r.refreshGrains),
		loader.F("refresh_matchers", r.refreshMatchers),
		loader.F("refresh_modules", r.refreshModules),
		loader.F("refresh_pillar", r.refreshPillar),
		loader.F("refresh_pillar", r.refreshPillar).Alias("pillar_refresh"),
		loader.F("regen_keys", keys{env}.regenKeys),
		loader.F("revoke_auth", keys{env}.revokeAuth),
		loader.F("runner", masters{env}.runner),
		loader.F("running", j.running),
		loader.F("signal_job", s.signalJob),
		loader.F("sync_all", y.syncAll),
		loader.F("sync_beacons", y.syncBeacons),
		loader.F("sync_clouds", y.syncClouds),
		loader.F("sync_engines", y.syncEngines),
		loader.F("sync_executors", y.syncExecutors),
		loader.F("sync_grains", y.syncGrains),
		loader.F("sync_log_handlers", y.syncLogHandlers),
		loader.F("sync_matchers", y.syncMatchers),
		loader.F("sync_modules", y.syncModules),
		loader.F("sync_output", y.syncOutput),
		loader.F("sync_output", y.syncOutput).Alias("sync_outputters"),
		loader.F("sync_pillar", y.syncPillar),
		loader.F("sync_proxymodules", y.syncProxymodules),
		loader.F("sync_renderers", y.syncRenderers),
		loader.F("sync_returners", y.syncReturners),
		loader.F("sync_sdb", y.syncSDB),
		loader.F("sync_serializers", y.syncSerializers),
		loader.F("sync_states", y.syncStates),
		loader.F("sync_thorium", y.syncThorium),
		loader.F("sync_utils", y.syncUtils),
		loader.F("term_all_jobs", s.termAllJobs),
		loader.F("term_job", s.termJob),
		loader.F("update", update),
		loader.F("wheel", masters{env}.wheel),
	}}, nil
}

type updateArgs struct {
	Version any `default:"None"`
}

// update would update a minion that was installed as an Esky build. This minion is not one, and the
// result says so.
//
// CLI Example:
//
//	salt '*' saltutil.update
//	salt '*' saltutil.update 0.10.3
func update(context.Context, updateArgs) (any, error) {
	return data.NewMap("_error", "Esky not available as import"), nil
}
