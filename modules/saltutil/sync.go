package saltutil

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A kind is one kind of module on the file server.
type kind struct {
	name   string // key in the result of sync_all
	form   string // in the directories salt://_FORM and extmods/FORM
	reload reload
}

// reload says what to reload after fetching a kind.
type reload int

const (
	reloadModules reload = iota
	reloadPillar
	reloadBeacons
	reloadNothing
)

// kinds returns the kinds that sync_all fetches, in the order of its result.
func kinds() []kind {
	return []kind{
		{"clouds", "clouds", reloadModules},
		{"beacons", "beacons", reloadBeacons},
		{"modules", "modules", reloadModules},
		{"states", "states", reloadModules},
		{"sdb", "sdb", reloadNothing},
		{"grains", "grains", reloadPillar},
		{"renderers", "renderers", reloadModules},
		{"returners", "returners", reloadModules},
		{"output", "output", reloadModules},
		{"utils", "utils", reloadModules},
		{"log_handlers", "log_handlers", reloadModules},
		{"executors", "executors", reloadModules},
		{"proxymodules", "proxy", reloadModules},
		{"engines", "engines", reloadModules},
		{"thorium", "thorium", reloadModules},
		{"serializers", "serializers", reloadModules},
		{"matchers", "matchers", reloadModules},
	}
}

// syncArgs are the arguments of most sync functions.
type syncArgs struct {
	Saltenv         any  `default:"None"`
	Refresh         bool `default:"True"`
	ExtmodWhitelist any  `default:"None"`
	ExtmodBlacklist any  `default:"None"`
}

// pillarArgs are the arguments of the sync functions that reload the pillar.
type pillarArgs struct {
	Saltenv          any  `default:"None"`
	Refresh          bool `default:"True"`
	ExtmodWhitelist  any  `default:"None"`
	ExtmodBlacklist  any  `default:"None"`
	CleanPillarCache any  `default:"False"`
}

// files returns the arguments that decide what is fetched.
func (a pillarArgs) files() syncArgs {
	return syncArgs{a.Saltenv, a.Refresh, a.ExtmodWhitelist, a.ExtmodBlacklist}
}

// noReloadArgs are the arguments of the functions that reload nothing by default.
type noReloadArgs struct {
	Saltenv         any  `default:"None"`
	Refresh         bool `default:"False"`
	ExtmodWhitelist any  `default:"None"`
	ExtmodBlacklist any  `default:"None"`
}

type syncSDBArgs struct {
	Saltenv         any `default:"None"`
	ExtmodWhitelist any `default:"None"`
	ExtmodBlacklist any `default:"None"`
}

// sync fetches one kind of modules and makes the minion reload what depends on them.
func (m syncs) sync(ctx context.Context, k kind, a syncArgs) (any, error) {
	names, err := m.fetch(ctx, k.form, a)
	if err != nil {
		return nil, err
	}
	if a.Refresh {
		m.refreshFor(ctx, k.reload)
	}
	return names, nil
}

// syncWithPillar is sync for the kinds that decide on the pillar.
func (m syncs) syncWithPillar(ctx context.Context, form string, a pillarArgs) (any, error) {
	names, err := m.fetch(ctx, form, a.files())
	if err != nil {
		return nil, err
	}
	if a.Refresh {
		reloadMinion(ctx, m.env, true, a.CleanPillarCache)
	}
	return names, nil
}

func (m syncs) refreshFor(ctx context.Context, what reload) {
	switch what {
	case reloadBeacons:
		m.env.Fired(ctx, "beacons_refresh", data.NewMap())
	case reloadModules:
		reloadMinion(ctx, m.env, false, nil)
	}
}

// syncClouds fetches cloud modules from salt://_clouds and returns the names of those that are new
// or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : True
//
//	Reload the minion's modules afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_clouds
//	salt '*' saltutil.sync_clouds saltenv=base,dev
func (m syncs) syncClouds(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"clouds", "clouds", reloadModules}, a)
}

// syncBeacons fetches beacons from salt://_beacons and returns the names of those that are new or
// changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : True
//
//	Reload the beacons afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_beacons
//	salt '*' saltutil.sync_beacons saltenv=base,dev
func (m syncs) syncBeacons(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"beacons", "beacons", reloadBeacons}, a)
}

// syncModules fetches execution modules from salt://_modules and returns the names of those that
// are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : True
//
//	Reload the minion's modules afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_modules
//	salt '*' saltutil.sync_modules saltenv=base,dev
func (m syncs) syncModules(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"modules", "modules", reloadModules}, a)
}

// syncStates fetches state modules from salt://_states and returns the names of those that are new
// or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : True
//
//	Reload the minion's modules afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_states
//	salt '*' saltutil.sync_states saltenv=base,dev
func (m syncs) syncStates(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"states", "states", reloadModules}, a)
}

// syncGrains fetches grains modules from salt://_grains and returns the names of those that are new
// or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : True
//
//	Reload the grains, the modules and the pillar afterwards, whether or not something was
//	fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// clean_pillar_cache : False
//
//	Do not use the pillar in the master's cache, if pillar_cache is on.
//
// CLI Example:
//
//	salt '*' saltutil.sync_grains
//	salt '*' saltutil.sync_grains saltenv=base,dev
func (m syncs) syncGrains(ctx context.Context, a pillarArgs) (any, error) {
	return m.syncWithPillar(ctx, "grains", a)
}

// syncRenderers fetches renderers from salt://_renderers and returns the names of those that are
// new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : True
//
//	Reload the minion's modules afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_renderers
//	salt '*' saltutil.sync_renderers saltenv=base,dev
func (m syncs) syncRenderers(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"renderers", "renderers", reloadModules}, a)
}

// syncReturners fetches returners from salt://_returners and returns the names of those that are
// new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : True
//
//	Reload the minion's modules afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_returners
//	salt '*' saltutil.sync_returners saltenv=base,dev
func (m syncs) syncReturners(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"returners", "returners", reloadModules}, a)
}

// syncOutput fetches outputters from salt://_output and returns the names of those that are new or
// changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : True
//
//	Reload the minion's modules afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_output
//	salt '*' saltutil.sync_output saltenv=base,dev
func (m syncs) syncOutput(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"output", "output", reloadModules}, a)
}

// syncUtils fetches utility modules from salt://_utils and returns the names of those that are new
// or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : True
//
//	Reload the minion's modules afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_utils
//	salt '*' saltutil.sync_utils saltenv=base,dev
func (m syncs) syncUtils(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"utils", "utils", reloadModules}, a)
}

// syncLogHandlers fetches log handlers from salt://_log_handlers and returns the names of those
// that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : True
//
//	Reload the minion's modules afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_log_handlers
//	salt '*' saltutil.sync_log_handlers saltenv=base,dev
func (m syncs) syncLogHandlers(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"log_handlers", "log_handlers", reloadModules}, a)
}

// syncExecutors fetches executors from salt://_executors and returns the names of those that are
// new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : True
//
//	Reload the minion's modules afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_executors
//	salt '*' saltutil.sync_executors saltenv=base,dev
func (m syncs) syncExecutors(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"executors", "executors", reloadModules}, a)
}

// syncProxymodules fetches proxy modules from salt://_proxy and returns the names of those that are
// new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : False
//
//	Reload the minion's modules afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_proxymodules
//	salt '*' saltutil.sync_proxymodules saltenv=base,dev
func (m syncs) syncProxymodules(ctx context.Context, a noReloadArgs) (any, error) {
	return m.sync(ctx, kind{"proxymodules", "proxy", reloadModules}, syncArgs(a))
}

// syncEngines fetches engines from salt://_engines and returns the names of those that are new or
// changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : False
//
//	Reload the minion's modules afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_engines
//	salt '*' saltutil.sync_engines saltenv=base,dev
func (m syncs) syncEngines(ctx context.Context, a noReloadArgs) (any, error) {
	return m.sync(ctx, kind{"engines", "engines", reloadModules}, syncArgs(a))
}

// syncThorium fetches Thorium modules from salt://_thorium and returns the names of those that are
// new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : False
//
//	Reload the minion's modules afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_thorium
//	salt '*' saltutil.sync_thorium saltenv=base,dev
func (m syncs) syncThorium(ctx context.Context, a noReloadArgs) (any, error) {
	return m.sync(ctx, kind{"thorium", "thorium", reloadModules}, syncArgs(a))
}

// syncSerializers fetches serializers from salt://_serializers and returns the names of those that
// are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : True
//
//	Reload the minion's modules afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_serializers
//	salt '*' saltutil.sync_serializers saltenv=base,dev
func (m syncs) syncSerializers(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"serializers", "serializers", reloadModules}, a)
}

// syncMatchers fetches matchers from salt://_matchers and returns the names of those that are new
// or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : False
//
//	Reload the minion's modules afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_matchers
//	salt '*' saltutil.sync_matchers saltenv=base,dev
func (m syncs) syncMatchers(ctx context.Context, a noReloadArgs) (any, error) {
	return m.sync(ctx, kind{"matchers", "matchers", reloadModules}, syncArgs(a))
}

// syncSDB fetches sdb modules from salt://_sdb and returns the names of those that are new or
// changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_sdb
//	salt '*' saltutil.sync_sdb saltenv=base,dev
func (m syncs) syncSDB(ctx context.Context, a syncSDBArgs) (any, error) {
	return m.fetch(ctx, "sdb", syncArgs{a.Saltenv, false, a.ExtmodWhitelist, a.ExtmodBlacklist})
}

// syncPillar fetches pillar modules from salt://_pillar and returns the names of those that are new
// or changed. Only a minion without a master (file_client: local) uses such modules; on other
// minions this is an error.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : True
//
//	Reload the modules and the pillar afterwards.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to skip, separated by commas. Default: the options of
//	these names.
//
// clean_pillar_cache : False
//
//	Do not use the pillar in the master's cache, if pillar_cache is on.
//
// CLI Example:
//
//	salt '*' saltutil.sync_pillar
//	salt '*' saltutil.sync_pillar saltenv=dev
func (m syncs) syncPillar(ctx context.Context, a pillarArgs) (any, error) {
	if m.env.Option("file_client") != "local" {
		return nil, loader.Execution("Pillar modules can only be synced to masterless minions")
	}
	return m.syncWithPillar(ctx, "pillar", a)
}

// syncAll fetches the modules of all kinds from the file server and returns the names of new and
// changed ones by kind. That includes pillar modules on a minion without a master.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the
//	top file, or else base.
//
// refresh : True
//
//	Reload the grains, the modules and the pillar afterwards, whether or not something was
//	fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	Dictionaries by kind of the only modules to fetch, or of those to skip.
//
// clean_pillar_cache : False
//
//	Do not use the pillar in the master's cache, if pillar_cache is on.
//
// CLI Example:
//
//	salt '*' saltutil.sync_all
//	salt '*' saltutil.sync_all saltenv=base,dev
//	salt '*' saltutil.sync_all extmod_whitelist="{'modules': ['custom_module']}"
func (m syncs) syncAll(ctx context.Context, a pillarArgs) (any, error) {
	all, list := data.NewMap(), kinds()
	if m.env.Option("file_client") == "local" {
		list = append(list, kind{"pillar", "pillar", reloadPillar})
	}
	for _, k := range list {
		names, err := m.fetch(ctx, k.form, a.files())
		if err != nil {
			return nil, err
		}
		all.Set(k.name, names)
	}
	if a.Refresh {
		reloadMinion(ctx, m.env, true, a.CleanPillarCache)
	}
	return all, nil
}
