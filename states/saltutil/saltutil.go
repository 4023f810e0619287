// Package saltutil is Salt's state saltutil: the functions saltutil.sync_* as states that report
// what they synced (salt/states/saltutil.py).
package saltutil

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state saltutil.
func Plugin() loader.Plugin { return loader.Plugin{Name: "saltutil", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("sync_all", m.syncAll),
		loader.F("sync_beacons", m.syncBeacons),
		loader.F("sync_clouds", m.syncClouds),
		loader.F("sync_engines", m.syncEngines),
		loader.F("sync_grains", m.syncGrains),
		loader.F("sync_executors", m.syncExecutors),
		loader.F("sync_log_handlers", m.syncLogHandlers),
		loader.F("sync_modules", m.syncModules),
		loader.F("sync_output", m.syncOutput),
		loader.F("sync_outputters", m.syncOutputters),
		loader.F("sync_pillar", m.syncPillar),
		loader.F("sync_proxymodules", m.syncProxymodules),
		loader.F("sync_matchers", m.syncMatchers),
		loader.F("sync_renderers", m.syncRenderers),
		loader.F("sync_returners", m.syncReturners),
		loader.F("sync_sdb", m.syncSDB),
		loader.F("sync_states", m.syncStates),
		loader.F("sync_thorium", m.syncThorium),
		loader.F("sync_utils", m.syncUtils),
		loader.F("sync_serializers", m.syncSerializers),
	}}, nil
}

type syncArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// syncAll syncs modules of all kinds from the file server with saltutil.sync_all. Further arguments
// are passed to that function.
//
//	sync_everything:
//	  saltutil.sync_all:
//	    - refresh: True
func (m *module) syncAll(ctx context.Context, a syncArgs) (any, error) {
	return m.run(ctx, a, "all", func(v any) (*data.Map, string) {
		changes := &data.Map{}
		if kinds, ok := v.(*data.Map); ok {
			for kind, names := range kinds.All() {
				if data.Truth(names) {
					changes.Set(kind, names)
				}
			}
		}
		return changes, "Sync performed"
	})
}

// one runs the sync function of one kind of module.
func (m *module) one(ctx context.Context, a syncArgs, kind string) (any, error) {
	return m.run(ctx, a, kind, func(v any) (*data.Map, string) {
		changes := &data.Map{}
		if data.Truth(v) {
			changes.Set(kind, v)
		}
		return changes, "Updated " + kind + "."
	})
}

// run runs a function of saltutil. read converts its result to the changes and the comment.
func (m *module) run(
	ctx context.Context, a syncArgs, kind string, read func(v any) (*data.Map, string),
) (any, error) {
	if change.Test(ctx) {
		return change.Would(a.Name, nil, "saltutil.sync_"+kind+" would have been run"), nil
	}
	v, err := m.env.Call(ctx, "saltutil.sync_"+kind, nil, arguments(a.Kwargs))
	if err != nil {
		return change.Failed(a.Name, fmt.Sprintf("Failed to run sync_%s: %v", kind, err)), nil
	}
	changes, comment := read(v)
	if changes.Len() == 0 {
		comment = "No updates to sync"
	}
	return change.New(a.Name, true, changes, comment), nil
}

// arguments returns the arguments for the function, without those that the runner adds.
func arguments(words *data.Map) *data.Map {
	given := words.Clone()
	for _, key := range []string{"__reqs__", "sfun"} {
		given.Delete(key)
	}
	return given
}

// syncBeacons syncs beacons from the file server with
// saltutil.sync_beacons. Further arguments are passed to that function.
//
//	sync_beacons:
//	  saltutil.sync_beacons:
//	    - refresh: True
func (m *module) syncBeacons(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "beacons")
}

// syncClouds syncs clouds from the file server with
// saltutil.sync_clouds. Further arguments are passed to that function.
//
//	sync_clouds:
//	  saltutil.sync_clouds:
//	    - refresh: True
func (m *module) syncClouds(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "clouds")
}

// syncEngines syncs engines from the file server with
// saltutil.sync_engines. Further arguments are passed to that function.
//
//	sync_engines:
//	  saltutil.sync_engines:
//	    - refresh: True
func (m *module) syncEngines(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "engines")
}

// syncGrains syncs grains from the file server with
// saltutil.sync_grains. Further arguments are passed to that function.
//
//	sync_grains:
//	  saltutil.sync_grains:
//	    - refresh: True
func (m *module) syncGrains(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "grains")
}

// syncExecutors syncs executors from the file server with
// saltutil.sync_executors. Further arguments are passed to that function.
//
//	sync_executors:
//	  saltutil.sync_executors:
//	    - refresh: True
func (m *module) syncExecutors(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "executors")
}

// syncLogHandlers syncs log handlers from the file server with
// saltutil.sync_log_handlers. Further arguments are passed to that function.
//
//	sync_log_handlers:
//	  saltutil.sync_log_handlers:
//	    - refresh: True
func (m *module) syncLogHandlers(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "log_handlers")
}

// syncModules syncs execution modules from the file server with
// saltutil.sync_modules. Further arguments are passed to that function.
//
//	sync_modules:
//	  saltutil.sync_modules:
//	    - refresh: True
func (m *module) syncModules(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "modules")
}

// syncOutput syncs outputters from the file server with
// saltutil.sync_output. Further arguments are passed to that function.
//
//	sync_output:
//	  saltutil.sync_output:
//	    - refresh: True
func (m *module) syncOutput(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "output")
}

// syncOutputters syncs outputters from the file server with
// saltutil.sync_outputters. Further arguments are passed to that function.
//
//	sync_outputters:
//	  saltutil.sync_outputters:
//	    - refresh: True
func (m *module) syncOutputters(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "outputters")
}

// syncPillar syncs external pillars from the file server with
// saltutil.sync_pillar. Further arguments are passed to that function.
//
//	sync_pillar:
//	  saltutil.sync_pillar:
//	    - refresh: True
func (m *module) syncPillar(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "pillar")
}

// syncProxymodules syncs proxy modules from the file server with
// saltutil.sync_proxymodules. Further arguments are passed to that function.
//
//	sync_proxymodules:
//	  saltutil.sync_proxymodules:
//	    - refresh: True
func (m *module) syncProxymodules(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "proxymodules")
}

// syncMatchers syncs matchers from the file server with
// saltutil.sync_matchers. Further arguments are passed to that function.
//
//	sync_matchers:
//	  saltutil.sync_matchers:
//	    - refresh: True
func (m *module) syncMatchers(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "matchers")
}

// syncRenderers syncs renderers from the file server with
// saltutil.sync_renderers. Further arguments are passed to that function.
//
//	sync_renderers:
//	  saltutil.sync_renderers:
//	    - refresh: True
func (m *module) syncRenderers(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "renderers")
}

// syncReturners syncs returners from the file server with
// saltutil.sync_returners. Further arguments are passed to that function.
//
//	sync_returners:
//	  saltutil.sync_returners:
//	    - refresh: True
func (m *module) syncReturners(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "returners")
}

// syncSDB syncs sdb drivers from the file server with
// saltutil.sync_sdb. Further arguments are passed to that function.
//
//	sync_sdb:
//	  saltutil.sync_sdb:
//	    - refresh: True
func (m *module) syncSDB(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "sdb")
}

// syncStates syncs states from the file server with
// saltutil.sync_states. Further arguments are passed to that function.
//
//	sync_states:
//	  saltutil.sync_states:
//	    - refresh: True
func (m *module) syncStates(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "states")
}

// syncThorium syncs thorium modules from the file server with
// saltutil.sync_thorium. Further arguments are passed to that function.
//
//	sync_thorium:
//	  saltutil.sync_thorium:
//	    - refresh: True
func (m *module) syncThorium(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "thorium")
}

// syncUtils syncs utility modules from the file server with
// saltutil.sync_utils. Further arguments are passed to that function.
//
//	sync_utils:
//	  saltutil.sync_utils:
//	    - refresh: True
func (m *module) syncUtils(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "utils")
}

// syncSerializers syncs serializers from the file server with
// saltutil.sync_serializers. Further arguments are passed to that function.
//
//	sync_serializers:
//	  saltutil.sync_serializers:
//	    - refresh: True
func (m *module) syncSerializers(ctx context.Context, a syncArgs) (any, error) {
	return m.one(ctx, a, "serializers")
}
