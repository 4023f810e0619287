package saltutil

import (
	"context"

	"github.com/brineproject/brine/loader"
)

func (m *module) module() *loader.Module {
	return &loader.Module{Funcs: []loader.Func{
		loader.F("sync_all", m.syncAll),
		loader.F("sync_clouds", m.syncClouds),
		loader.F("sync_modules", m.syncModules),
		loader.F("sync_states", m.syncStates),
		loader.F("sync_grains", m.syncGrains),
		loader.F("sync_renderers", m.syncRenderers),
		loader.F("sync_returners", m.syncReturners),
		loader.F("sync_output", m.syncOutput),
		loader.F("sync_proxymodules", m.syncProxymodules),
		loader.F("sync_runners", m.syncRunners),
		loader.F("sync_wheel", m.syncWheel),
		loader.F("sync_engines", m.syncEngines),
		loader.F("sync_thorium", m.syncThorium),
		loader.F("sync_queues", m.syncQueues),
		loader.F("sync_pillar", m.syncPillar),
		loader.F("sync_utils", m.syncUtils),
		loader.F("sync_sdb", m.syncSdb),
		loader.F("sync_cache", m.syncCache),
		loader.F("sync_fileserver", m.syncFileserver),
		loader.F("sync_tops", m.syncTops),
		loader.F("sync_eauth_tokens", m.syncEauthTokens),
		loader.F("sync_serializers", m.syncSerializers),
		loader.F("sync_executors", m.syncExecutors),
		loader.F("sync_roster", m.syncRoster),
		loader.F("sync_wrapper", m.syncWrapper),
	}}
}

// syncClouds tells which files there are in salt://_clouds.
//
// CLI Example:
//
//	salt-run saltutil.sync_clouds
func (m *module) syncClouds(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"clouds", "_clouds"})
}

// syncModules tells which files there are in salt://_modules.
//
// CLI Example:
//
//	salt-run saltutil.sync_modules
func (m *module) syncModules(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"modules", "_modules"})
}

// syncStates tells which files there are in salt://_states.
//
// CLI Example:
//
//	salt-run saltutil.sync_states
func (m *module) syncStates(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"states", "_states"})
}

// syncGrains tells which files there are in salt://_grains.
//
// CLI Example:
//
//	salt-run saltutil.sync_grains
func (m *module) syncGrains(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"grains", "_grains"})
}

// syncRenderers tells which files there are in salt://_renderers.
//
// CLI Example:
//
//	salt-run saltutil.sync_renderers
func (m *module) syncRenderers(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"renderers", "_renderers"})
}

// syncReturners tells which files there are in salt://_returners.
//
// CLI Example:
//
//	salt-run saltutil.sync_returners
func (m *module) syncReturners(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"returners", "_returners"})
}

// syncOutput tells which files there are in salt://_output.
//
// CLI Example:
//
//	salt-run saltutil.sync_output
func (m *module) syncOutput(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"output", "_output"})
}

// syncProxymodules tells which files there are in salt://_proxy.
//
// CLI Example:
//
//	salt-run saltutil.sync_proxymodules
func (m *module) syncProxymodules(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"proxymodules", "_proxy"})
}

// syncRunners tells which files there are in salt://_runners.
//
// CLI Example:
//
//	salt-run saltutil.sync_runners
func (m *module) syncRunners(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"runners", "_runners"})
}

// syncWheel tells which files there are in salt://_wheel.
//
// CLI Example:
//
//	salt-run saltutil.sync_wheel
func (m *module) syncWheel(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"wheel", "_wheel"})
}

// syncEngines tells which files there are in salt://_engines.
//
// CLI Example:
//
//	salt-run saltutil.sync_engines
func (m *module) syncEngines(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"engines", "_engines"})
}

// syncThorium tells which files there are in salt://_thorium.
//
// CLI Example:
//
//	salt-run saltutil.sync_thorium
func (m *module) syncThorium(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"thorium", "_thorium"})
}

// syncQueues tells which files there are in salt://_queues.
//
// CLI Example:
//
//	salt-run saltutil.sync_queues
func (m *module) syncQueues(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"queues", "_queues"})
}

// syncPillar tells which files there are in salt://_pillar.
//
// CLI Example:
//
//	salt-run saltutil.sync_pillar
func (m *module) syncPillar(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"pillar", "_pillar"})
}

// syncUtils tells which files there are in salt://_utils.
//
// CLI Example:
//
//	salt-run saltutil.sync_utils
func (m *module) syncUtils(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"utils", "_utils"})
}

// syncSdb tells which files there are in salt://_sdb.
//
// CLI Example:
//
//	salt-run saltutil.sync_sdb
func (m *module) syncSdb(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"sdb", "_sdb"})
}

// syncCache tells which files there are in salt://_cache.
//
// CLI Example:
//
//	salt-run saltutil.sync_cache
func (m *module) syncCache(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"cache", "_cache"})
}

// syncFileserver tells which files there are in salt://_fileserver.
//
// CLI Example:
//
//	salt-run saltutil.sync_fileserver
func (m *module) syncFileserver(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"fileserver", "_fileserver"})
}

// syncTops tells which files there are in salt://_tops.
//
// CLI Example:
//
//	salt-run saltutil.sync_tops
func (m *module) syncTops(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"tops", "_tops"})
}

// syncEauthTokens tells which files there are in salt://_tokens.
//
// CLI Example:
//
//	salt-run saltutil.sync_eauth_tokens
func (m *module) syncEauthTokens(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"tokens", "_tokens"})
}

// syncSerializers tells which files there are in salt://_serializers.
//
// CLI Example:
//
//	salt-run saltutil.sync_serializers
func (m *module) syncSerializers(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"serializers", "_serializers"})
}

// syncExecutors tells which files there are in salt://_executors.
//
// CLI Example:
//
//	salt-run saltutil.sync_executors
func (m *module) syncExecutors(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"executors", "_executors"})
}

// syncRoster tells which files there are in salt://_roster.
//
// CLI Example:
//
//	salt-run saltutil.sync_roster
func (m *module) syncRoster(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"roster", "_roster"})
}

// syncWrapper tells which files there are in salt://_wrapper.
//
// CLI Example:
//
//	salt-run saltutil.sync_wrapper
func (m *module) syncWrapper(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"wrapper", "_wrapper"})
}
