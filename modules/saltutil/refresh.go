package saltutil

import (
	"context"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Tags of the events after a finished refresh (salt/defaults/events.py).
const (
	pillarRefreshed  = "/salt/minion/minion_pillar_refresh_complete"
	modulesRefreshed = "/salt/minion/minion_mod_refresh_complete"
)

const modulesTimeout = 30 * time.Second // of refresh_modules

// refreshBeacons makes the minion reload its beacons.
//
// CLI Example:
//
//	salt '*' saltutil.refresh_beacons
func (m refreshes) refreshBeacons(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.env.Fired(ctx, "beacons_refresh", data.NewMap()), nil
}

// refreshMatchers makes the minion reload its matchers.
//
// CLI Example:
//
//	salt '*' saltutil.refresh_matchers
func (m refreshes) refreshMatchers(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.env.Fired(ctx, "matchers_refresh", data.NewMap()), nil
}

type refreshPillarArgs struct {
	Wait       bool `default:"False"`
	Timeout    any  `default:"30"`
	CleanCache any  `default:"True"`
}

// refreshPillar makes the minion fetch its pillar again. The result says whether the request
// reached the minion.
//
// wait : False
//
//	Wait until the pillar is refreshed.
//
// timeout : 30
//
//	The maximum time to wait, in seconds.
//
// clean_cache : True
//
//	Do not use the pillar in the master's cache, if pillar_cache is on.
//
// CLI Example:
//
//	salt '*' saltutil.refresh_pillar
//	salt '*' saltutil.refresh_pillar wait=True timeout=60
func (m refreshes) refreshPillar(ctx context.Context, a refreshPillarArgs) (any, error) {
	body := data.NewMap("clean_cache", a.CleanCache)
	if !a.Wait {
		return m.env.Fired(ctx, "pillar_refresh", body), nil
	}
	seconds, err := loader.Float(a.Timeout)
	if err != nil {
		return nil, err
	}
	fired, done := fireAndWait(ctx, m.env, "pillar_refresh", body, pillarRefreshed,
		time.Duration(min(seconds, 1e9)*float64(time.Second)))
	if complete, ok := done.Get("complete"); !ok || complete == false {
		m.env.Log.Warnf("Pillar refresh did not complete within timeout %s", data.Str(a.Timeout))
	}
	return fired, nil
}

// fireAndWait fires an event and waits for its answer. done is empty if no answer came within
// limit.
func fireAndWait(
	ctx context.Context, env *loader.Env, tag string, body *data.Map, answer string,
	limit time.Duration,
) (fired bool, done *data.Map) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done, err := env.Await(ctx, answer, func() error {
		err := env.Fire(ctx, tag, body)
		fired = err == nil
		return err
	})
	if err != nil {
		env.Log.WithError(err).Debugf("wait for event %s", answer)
	}
	return fired, done
}

type keywords struct {
	Options *data.Map `kwargs:"kwargs"`
}

// refreshGrains makes the minion collect its grains again. The modules are reloaded as well, since
// grains decide which of them work, and so is the pillar.
//
// refresh_pillar : True
//
//	Set to False to keep the pillar.
//
// clean_pillar_cache : False
//
//	Do not use the pillar in the master's cache, if pillar_cache is on.
//
// CLI Example:
//
//	salt '*' saltutil.refresh_grains
func (m refreshes) refreshGrains(ctx context.Context, a keywords) (any, error) {
	withPillar, clean := true, any(false)
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
	reloadMinion(ctx, m.env, withPillar, clean)
	return true, nil
}

// reloadMinion makes the minion reload the pillar together with the modules, or only the modules.
// With cleanCache the master does not use its pillar cache.
func reloadMinion(ctx context.Context, env *loader.Env, withPillar bool, cleanCache any) {
	if withPillar {
		env.Fired(ctx, "pillar_refresh", data.NewMap("clean_cache", cleanCache))
		return
	}
	env.Fired(ctx, "module_refresh", data.NewMap())
}

// refreshModules makes the minion reload its modules and grains. It waits for that only with
// async=False.
//
// CLI Example:
//
//	salt '*' saltutil.refresh_modules
func (m refreshes) refreshModules(ctx context.Context, a keywords) (any, error) {
	if wait, ok := a.Options.Get("async"); !ok || data.Truth(wait) {
		return m.env.Fired(ctx, "module_refresh", data.NewMap()), nil
	}
	fired, _ := fireAndWait(ctx, m.env, "module_refresh", data.NewMap("notify", true),
		modulesRefreshed, modulesTimeout)
	return fired, nil
}
