package saltutil

import (
	"context"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Tags of the events that tell of a refresh that is done (salt/defaults/events.py).
const (
	pillarRefreshed  = "/salt/minion/minion_pillar_refresh_complete"
	modulesRefreshed = "/salt/minion/minion_mod_refresh_complete"
)

const modulesTimeout = 30 * time.Second // how long refresh_modules waits

func (m *module) refreshFuncs() []loader.Func {
	pillar := loader.F("refresh_pillar", m.refreshPillar)
	return []loader.Func{
		pillar, pillar.Alias("pillar_refresh"),
		loader.F("refresh_grains", m.refreshGrains),
		loader.F("refresh_modules", m.refreshModules),
		loader.F("refresh_beacons", m.refreshBeacons),
		loader.F("refresh_matchers", m.refreshMatchers),
	}
}

// refreshBeacons makes the minion load its beacons anew.
//
// CLI Example:
//
//	salt '*' saltutil.refresh_beacons
func (m *module) refreshBeacons(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.env.Fired(ctx, "beacons_refresh", data.NewMap()), nil
}

// refreshMatchers makes the minion load its matchers anew.
//
// CLI Example:
//
//	salt '*' saltutil.refresh_matchers
func (m *module) refreshMatchers(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.env.Fired(ctx, "matchers_refresh", data.NewMap()), nil
}

type refreshPillarArgs struct {
	Wait       bool `default:"False"`
	Timeout    any  `default:"30"`
	CleanCache any  `default:"True"`
}

// refreshPillar makes the minion ask its masters for a new pillar. The result tells whether the minion was told so.
//
// wait : False
//
//	Wait until the pillar is there.
//
// timeout : 30
//
//	How many seconds to wait at most.
//
// clean_cache : True
//
//	Do not take the pillar from the master's cache, where pillar_cache is on.
//
// CLI Example:
//
//	salt '*' saltutil.refresh_pillar
//	salt '*' saltutil.refresh_pillar wait=True timeout=60
func (m *module) refreshPillar(ctx context.Context, a refreshPillarArgs) (any, error) {
	body := data.NewMap("clean_cache", a.CleanCache)
	if !a.Wait {
		return m.env.Fired(ctx, "pillar_refresh", body), nil
	}
	seconds, err := loader.Float(a.Timeout)
	if err != nil {
		return nil, err
	}
	fired, done := m.fireAndWait(ctx, "pillar_refresh", body, pillarRefreshed, time.Duration(min(seconds, 1e9)*float64(time.Second)))
	if complete, ok := done.Get("complete"); !ok || complete == false {
		m.env.Log.Warnf("Pillar refresh did not complete within timeout %s", data.Str(a.Timeout))
	}
	return fired, nil
}

// fireAndWait fires an event and waits for the one that answers it, which is empty when it did not come in time.
func (m *module) fireAndWait(ctx context.Context, tag string, body *data.Map, answer string, limit time.Duration) (fired bool, done *data.Map) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done, err := m.env.Await(ctx, answer, func() error {
		err := m.env.Fire(ctx, tag, body)
		fired = err == nil
		return err
	})
	if err != nil {
		m.env.Log.WithError(err).Debugf("wait for event %s", answer)
	}
	return fired, done
}

type keywords struct {
	Options *data.Map `kwargs:"kwargs"`
}

// refreshGrains makes the minion collect its grains anew. Its modules are loaded anew as well, since grains decide which of
// them work, and so is the pillar.
//
// refresh_pillar : True
//
//	Set to False to leave the pillar as it is.
//
// clean_pillar_cache : True
//
//	Do not take the pillar from the master's cache, where pillar_cache is on.
//
// CLI Example:
//
//	salt '*' saltutil.refresh_grains
func (m *module) refreshGrains(ctx context.Context, a keywords) (any, error) {
	withPillar, clean := true, any(true)
	invalid := &data.Map{}
	for k, v := range a.Options.All() {
		switch name := data.Str(k); {
		case strings.HasPrefix(name, "__"):
		case name == "refresh_pillar":
			withPillar = data.Truth(v)
		case name == "clean_pillar_cache":
			clean = v
		default:
			invalid.Set(k, v)
		}
	}
	if err := loader.Unknown(invalid); err != nil {
		return nil, err
	}
	m.reload(ctx, withPillar, clean)
	return true, nil
}

// reload makes the minion load the pillar, and with it the modules, or the modules alone. cleanCache says whether the master
// may take the pillar from its cache.
func (m *module) reload(ctx context.Context, withPillar bool, cleanCache any) {
	if withPillar {
		m.env.Fired(ctx, "pillar_refresh", data.NewMap("clean_cache", cleanCache))
		return
	}
	m.env.Fired(ctx, "module_refresh", data.NewMap())
}

// refreshModules makes the minion load its modules and grains anew. It does not wait for that, unless async=False is given.
//
// CLI Example:
//
//	salt '*' saltutil.refresh_modules
func (m *module) refreshModules(ctx context.Context, a keywords) (any, error) {
	if wait, ok := a.Options.Get("async"); !ok || data.Truth(wait) {
		return m.env.Fired(ctx, "module_refresh", data.NewMap()), nil
	}
	fired, _ := m.fireAndWait(ctx, "module_refresh", data.NewMap("notify", true), modulesRefreshed, modulesTimeout)
	return fired, nil
}
