package saltutil

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A kind is one sort of modules that are fetched from the file server.
type kind struct {
	name   string // in the result of sync_all
	form   string // of the directories salt://_FORM and extmods/FORM
	reload reload
}

// reload is what has to be loaded anew for a kind.
type reload int

const (
	reloadModules reload = iota
	reloadPillar
	reloadBeacons
	reloadNothing
)

// kinds returns what sync_all fetches, in the order of its result.
func kinds() []kind {
	return []kind{
		{"clouds", "clouds", reloadModules}, {"beacons", "beacons", reloadBeacons}, {"modules", "modules", reloadModules},
		{"states", "states", reloadModules}, {"sdb", "sdb", reloadNothing}, {"grains", "grains", reloadPillar},
		{"renderers", "renderers", reloadModules}, {"returners", "returners", reloadModules}, {"output", "output", reloadModules},
		{"utils", "utils", reloadModules}, {"log_handlers", "log_handlers", reloadModules}, {"executors", "executors", reloadModules},
		{"proxymodules", "proxy", reloadModules}, {"engines", "engines", reloadModules}, {"thorium", "thorium", reloadModules},
		{"serializers", "serializers", reloadModules}, {"matchers", "matchers", reloadModules},
	}
}

func (m *module) syncFuncs() []loader.Func {
	output := loader.F("sync_output", m.syncOutput)
	return []loader.Func{
		output, output.Alias("sync_outputters"),
		loader.F("sync_sdb", m.syncSDB),
		loader.F("sync_pillar", m.syncPillar),
		loader.F("sync_all", m.syncAll),
		loader.F("list_extmods", m.listExtmods),
		loader.F("sync_clouds", m.syncClouds),
		loader.F("sync_beacons", m.syncBeacons),
		loader.F("sync_modules", m.syncModules),
		loader.F("sync_states", m.syncStates),
		loader.F("sync_grains", m.syncGrains),
		loader.F("sync_renderers", m.syncRenderers),
		loader.F("sync_returners", m.syncReturners),
		loader.F("sync_utils", m.syncUtils),
		loader.F("sync_log_handlers", m.syncLogHandlers),
		loader.F("sync_executors", m.syncExecutors),
		loader.F("sync_proxymodules", m.syncProxymodules),
		loader.F("sync_engines", m.syncEngines),
		loader.F("sync_thorium", m.syncThorium),
		loader.F("sync_serializers", m.syncSerializers),
		loader.F("sync_matchers", m.syncMatchers),
	}
}

// syncArgs are the arguments of most functions here.
type syncArgs struct {
	Saltenv         any  `default:"None"`
	Refresh         bool `default:"True"`
	ExtmodWhitelist any  `default:"None"`
	ExtmodBlacklist any  `default:"None"`
}

// stillArgs are those of the functions that load nothing anew by themselves.
type stillArgs struct {
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

// sync fetches one kind of modules and has the minion load what depends on them.
func (m *module) sync(ctx context.Context, k kind, a syncArgs) (any, error) {
	names, err := m.fetch(ctx, k.form, a)
	if err != nil {
		return nil, err
	}
	if a.Refresh {
		m.refreshFor(ctx, k.reload)
	}
	return names, nil
}

func (m *module) refreshFor(ctx context.Context, what reload) {
	switch what {
	case reloadBeacons:
		m.env.Fired(ctx, "beacons_refresh", data.NewMap())
	case reloadModules, reloadPillar:
		m.reload(ctx, what == reloadPillar, true)
	}
}

// syncClouds fetches cloud modules from salt://_clouds and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : True
//
//	Load the minion's modules anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_clouds
//	salt '*' saltutil.sync_clouds saltenv=base,dev
func (m *module) syncClouds(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"clouds", "clouds", reloadModules}, a)
}

// syncBeacons fetches beacons from salt://_beacons and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : True
//
//	Load the beacons anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_beacons
//	salt '*' saltutil.sync_beacons saltenv=base,dev
func (m *module) syncBeacons(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"beacons", "beacons", reloadBeacons}, a)
}

// syncModules fetches execution modules from salt://_modules and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : True
//
//	Load the minion's modules anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_modules
//	salt '*' saltutil.sync_modules saltenv=base,dev
func (m *module) syncModules(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"modules", "modules", reloadModules}, a)
}

// syncStates fetches state modules from salt://_states and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : True
//
//	Load the minion's modules anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_states
//	salt '*' saltutil.sync_states saltenv=base,dev
func (m *module) syncStates(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"states", "states", reloadModules}, a)
}

// syncGrains fetches grains modules from salt://_grains and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : True
//
//	Load the grains, the modules and the pillar anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_grains
//	salt '*' saltutil.sync_grains saltenv=base,dev
func (m *module) syncGrains(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"grains", "grains", reloadPillar}, a)
}

// syncRenderers fetches renderers from salt://_renderers and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : True
//
//	Load the minion's modules anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_renderers
//	salt '*' saltutil.sync_renderers saltenv=base,dev
func (m *module) syncRenderers(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"renderers", "renderers", reloadModules}, a)
}

// syncReturners fetches returners from salt://_returners and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : True
//
//	Load the minion's modules anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_returners
//	salt '*' saltutil.sync_returners saltenv=base,dev
func (m *module) syncReturners(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"returners", "returners", reloadModules}, a)
}

// syncOutput fetches outputters from salt://_output and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : True
//
//	Load the minion's modules anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_output
//	salt '*' saltutil.sync_output saltenv=base,dev
func (m *module) syncOutput(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"output", "output", reloadModules}, a)
}

// syncUtils fetches utility modules from salt://_utils and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : True
//
//	Load the minion's modules anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_utils
//	salt '*' saltutil.sync_utils saltenv=base,dev
func (m *module) syncUtils(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"utils", "utils", reloadModules}, a)
}

// syncLogHandlers fetches log handlers from salt://_log_handlers and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : True
//
//	Load the minion's modules anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_log_handlers
//	salt '*' saltutil.sync_log_handlers saltenv=base,dev
func (m *module) syncLogHandlers(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"log_handlers", "log_handlers", reloadModules}, a)
}

// syncExecutors fetches executors from salt://_executors and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : True
//
//	Load the minion's modules anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_executors
//	salt '*' saltutil.sync_executors saltenv=base,dev
func (m *module) syncExecutors(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"executors", "executors", reloadModules}, a)
}

// syncProxymodules fetches proxy modules from salt://_proxy and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : False
//
//	Load the minion's modules anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_proxymodules
//	salt '*' saltutil.sync_proxymodules saltenv=base,dev
func (m *module) syncProxymodules(ctx context.Context, a stillArgs) (any, error) {
	return m.sync(ctx, kind{"proxymodules", "proxy", reloadModules}, syncArgs(a))
}

// syncEngines fetches engines from salt://_engines and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : False
//
//	Load the minion's modules anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_engines
//	salt '*' saltutil.sync_engines saltenv=base,dev
func (m *module) syncEngines(ctx context.Context, a stillArgs) (any, error) {
	return m.sync(ctx, kind{"engines", "engines", reloadModules}, syncArgs(a))
}

// syncThorium fetches Thorium modules from salt://_thorium and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : False
//
//	Load the minion's modules anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_thorium
//	salt '*' saltutil.sync_thorium saltenv=base,dev
func (m *module) syncThorium(ctx context.Context, a stillArgs) (any, error) {
	return m.sync(ctx, kind{"thorium", "thorium", reloadModules}, syncArgs(a))
}

// syncSerializers fetches serializers from salt://_serializers and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : True
//
//	Load the minion's modules anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_serializers
//	salt '*' saltutil.sync_serializers saltenv=base,dev
func (m *module) syncSerializers(ctx context.Context, a syncArgs) (any, error) {
	return m.sync(ctx, kind{"serializers", "serializers", reloadModules}, a)
}

// syncMatchers fetches matchers from salt://_matchers and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : False
//
//	Load the minion's modules anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_matchers
//	salt '*' saltutil.sync_matchers saltenv=base,dev
func (m *module) syncMatchers(ctx context.Context, a stillArgs) (any, error) {
	return m.sync(ctx, kind{"matchers", "matchers", reloadModules}, syncArgs(a))
}

// syncSDB fetches sdb modules from salt://_sdb and returns the names of those that are new or changed.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_sdb
//	salt '*' saltutil.sync_sdb saltenv=base,dev
func (m *module) syncSDB(ctx context.Context, a syncSDBArgs) (any, error) {
	return m.fetch(ctx, "sdb", syncArgs{a.Saltenv, false, a.ExtmodWhitelist, a.ExtmodBlacklist})
}

// syncPillar fetches pillar modules from salt://_pillar and returns the names of those that are new or changed. Only a minion
// without a master (file_client: local) takes such modules; on others this is an error.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : True
//
//	Load the modules and the pillar anew afterwards.
//
// extmod_whitelist, extmod_blacklist : None
//
//	The only modules to fetch, or those to leave out, separated by commas. Default: the options of these names.
//
// CLI Example:
//
//	salt '*' saltutil.sync_pillar
//	salt '*' saltutil.sync_pillar saltenv=dev
func (m *module) syncPillar(ctx context.Context, a syncArgs) (any, error) {
	if m.env.Option("file_client") != "local" {
		return nil, loader.Execution("Pillar modules can only be synced to masterless minions")
	}
	return m.sync(ctx, kind{"pillar", "pillar", reloadPillar}, a)
}

// syncAll fetches the modules of all kinds from the file server, and returns by kind the names of those that are new or changed.
// Pillar modules are among them on a minion without a master.
//
// saltenv
//
//	The environments of the file server to fetch from, separated by commas. Default: those of the top file, or else base.
//
// refresh : True
//
//	Load the grains, the modules and the pillar anew afterwards, whether or not something was fetched.
//
// extmod_whitelist, extmod_blacklist : None
//
//	Dictionaries by kind of the only modules to fetch, or of those to leave out.
//
// CLI Example:
//
//	salt '*' saltutil.sync_all
//	salt '*' saltutil.sync_all saltenv=base,dev
//	salt '*' saltutil.sync_all extmod_whitelist="{'modules': ['custom_module']}"
func (m *module) syncAll(ctx context.Context, a syncArgs) (any, error) {
	all, list := data.NewMap(), kinds()
	if m.env.Option("file_client") == "local" {
		list = append(list, kind{"pillar", "pillar", reloadPillar})
	}
	for _, k := range list {
		names, err := m.fetch(ctx, k.form, a)
		if err != nil {
			return nil, err
		}
		all.Set(k.name, names)
	}
	if a.Refresh {
		m.reload(ctx, true, true)
	}
	return all, nil
}
