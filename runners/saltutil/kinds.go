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

// syncClouds copies cloud modules from salt://_clouds to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_clouds
func (m *module) syncClouds(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"clouds", "clouds"})
}

// syncModules copies execution modules from salt://_modules to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_modules
func (m *module) syncModules(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"modules", "modules"})
}

// syncStates copies states from salt://_states to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_states
func (m *module) syncStates(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"states", "states"})
}

// syncGrains copies grains from salt://_grains to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_grains
func (m *module) syncGrains(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"grains", "grains"})
}

// syncRenderers copies renderers from salt://_renderers to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_renderers
func (m *module) syncRenderers(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"renderers", "renderers"})
}

// syncReturners copies returners from salt://_returners to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_returners
func (m *module) syncReturners(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"returners", "returners"})
}

// syncOutput copies outputters from salt://_output to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_output
func (m *module) syncOutput(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"output", "output"})
}

// syncProxymodules copies proxy modules from salt://_proxy to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_proxymodules
func (m *module) syncProxymodules(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"proxymodules", "proxy"})
}

// syncRunners copies runners from salt://_runners to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_runners
func (m *module) syncRunners(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"runners", "runners"})
}

// syncWheel copies wheel modules from salt://_wheel to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_wheel
func (m *module) syncWheel(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"wheel", "wheel"})
}

// syncEngines copies engines from salt://_engines to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_engines
func (m *module) syncEngines(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"engines", "engines"})
}

// syncThorium copies thorium modules from salt://_thorium to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_thorium
func (m *module) syncThorium(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"thorium", "thorium"})
}

// syncQueues copies queue modules from salt://_queues to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_queues
func (m *module) syncQueues(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"queues", "queues"})
}

// syncPillar copies external pillars from salt://_pillar to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_pillar
func (m *module) syncPillar(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"pillar", "pillar"})
}

// syncUtils copies utility modules from salt://_utils to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_utils
func (m *module) syncUtils(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"utils", "utils"})
}

// syncSdb copies sdb drivers from salt://_sdb to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_sdb
func (m *module) syncSdb(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"sdb", "sdb"})
}

// syncCache copies cache drivers from salt://_cache to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_cache
func (m *module) syncCache(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"cache", "cache"})
}

// syncFileserver copies file server backends from salt://_fileserver to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_fileserver
func (m *module) syncFileserver(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"fileserver", "fileserver"})
}

// syncTops copies master tops from salt://_tops to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_tops
func (m *module) syncTops(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"tops", "tops"})
}

// syncEauthTokens copies modules for eauth tokens from salt://_tokens to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_eauth_tokens
func (m *module) syncEauthTokens(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"tokens", "tokens"})
}

// syncSerializers copies serializers from salt://_serializers to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_serializers
func (m *module) syncSerializers(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"serializers", "serializers"})
}

// syncExecutors copies executors from salt://_executors to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_executors
func (m *module) syncExecutors(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"executors", "executors"})
}

// syncRoster copies rosters from salt://_roster to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_roster
func (m *module) syncRoster(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"roster", "roster"})
}

// syncWrapper copies wrappers of salt-ssh from salt://_wrapper to the master and returns the names of new and
// changed ones.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only ones to copy, or those to leave out, comma-separated. Default: the options of these
//	names.
//
// CLI Example:
//
//	salt-run saltutil.sync_wrapper
func (m *module) syncWrapper(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, a, kind{"wrapper", "wrapper"})
}
