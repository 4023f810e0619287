package config

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type getArgs struct {
	Key        any
	Default    any  `default:"''"`
	Delimiter  any  `default:"':'"`
	Merge      any  `default:"None"`
	OmitOpts   bool `default:"False"`
	OmitPillar bool `default:"False"`
	OmitMaster bool `default:"False"`
	OmitGrains bool `default:"False"`
}

// get returns a setting. Colons descend into dictionaries and lists: pkg:apache is the key apache
// of the dictionary pkg. These places are searched in order, and the first that has the setting
// wins:
//
// - the minion's options
// - its grains
// - its pillar
// - the master's options, where the master has pillar_opts set
// - the defaults that config.option knows
//
// So a setting that is the same for most minions can be in the master's configuration and be
// overridden for some. Settings that are Salt options are always in the minion's options, and
// grains or pillar cannot override them.
//
// default
//
//	The result if nothing is found. Default: an empty string.
//
// delimiter
//
//	Separates the keys instead of the colon.
//
// merge
//
//	Merge all places into one dictionary before the search; the minion's options take precedence.
//	recurse merges dictionaries at all depths; overwrite replaces the whole value of a key. The omit
//	parameters have no effect then.
//
// omit_opts, omit_grains, omit_pillar, omit_master : False
//
//	Skip one of the places.
//
// CLI Example:
//
//	salt '*' config.get pkg:apache
//	salt '*' config.get lxc.container_profile:centos merge=recurse
func (m *module) get(ctx context.Context, a getArgs) (any, error) {
	if a.Delimiter == "" {
		return nil, loader.Exception("ValueError", "empty separator")
	}
	from := append(m.list(places{a.OmitOpts, a.OmitGrains, a.OmitPillar, a.OmitMaster}), defaults())
	if a.Merge != nil {
		from = []*data.Map{m.merged(a.Merge)}
	}
	for _, in := range from {
		if v, ok := lookup(in, a.Key, data.Str(a.Delimiter)); ok {
			return m.resolve(ctx, v)
		}
	}
	return a.Default, nil
}

// lookup follows a path, or a list of keys.
func lookup(v any, key any, delimiter string) (any, bool) {
	keys, ok := elements(key)
	if !ok {
		return data.Lookup(v, data.Str(key), delimiter)
	}
	for _, k := range keys {
		if v, ok = data.Lookup(v, data.Str(k), ""); !ok {
			return nil, false
		}
	}
	return v, true
}

// merged returns all places merged into one map by a strategy (salt/utils/dictupdate.py, merge).
func (m *module) merged(strategy any) *data.Map {
	if strategy != "recurse" && strategy != "overwrite" {
		m.env.Log.Warnf("Unsupported merge strategy '%s'. Falling back to 'recurse'.",
			data.Str(strategy))
		strategy = "recurse"
	}
	all, lists := defaults(), strategy == "recurse" && m.mergesLists()
	for _, from := range []*data.Map{m.master(), m.env.PillarNow(), m.env.GrainsNow(), m.opts()} {
		if strategy == "overwrite" {
			all.Update(from)
		} else {
			update(all, from, lists)
		}
	}
	return all
}

// mergesLists returns the option pillar_merge_lists of the master's configuration file in its
// default location, as Salt does.
func (m *module) mergesLists() bool {
	cfg, _, err := config.LoadMaster(filepath.Join("/", m.env.Root, "etc/salt"),
		func(string) string { return "" })
	return err == nil && data.Truth(cfg.Map().Value("pillar_merge_lists"))
}

// update copies the values of from into m. It merges dictionaries that are in both, and lists if
// lists is true. It does not modify the values of from.
func update(m, from *data.Map, lists bool) {
	for k, v := range from.All() {
		old, _ := m.Get(k)
		switch v := v.(type) {
		case *data.Map:
			if sub, ok := old.(*data.Map); ok {
				sub = sub.Clone()
				update(sub, v, lists)
				m.Set(k, sub)
				continue
			}
		case []any:
			if list, ok := old.([]any); ok && lists {
				m.Set(k, united(list, v))
				continue
			}
		}
		m.Set(k, v)
	}
}

// united returns a with the elements of b that are missing in a.
func united(a, b []any) []any {
	all := slices.Clone(a)
	for _, e := range b {
		if !slices.ContainsFunc(all, func(have any) bool { return data.Equal(have, e) }) {
			all = append(all, e)
		}
	}
	return all
}

// resolve looks up a value sdb://profile/key in its database, and returns other values unchanged
// (salt/utils/sdb.py, sdb_get).
func (m *module) resolve(ctx context.Context, v any) (any, error) {
	text, _ := v.(string)
	rest, ok := strings.CutPrefix(text, "sdb://")
	name, key, found := strings.Cut(rest, "/")
	if !ok || !found || key == "" {
		return v, nil
	}
	profile, _ := m.env.Opts.Value(name).(*data.Map)
	if profile.Len() == 0 {
		profile, _ = m.env.PillarNow().Value(name).(*data.Map)
	}
	if !profile.Has("driver") {
		return v, nil
	}
	fun := profile.Text("driver") + ".get"
	switch {
	case m.env.Registry("sdb").Has(fun):
	case m.env.Functions.Has("sdb.get"):
		return m.env.Call(ctx, "sdb.get", []any{text}, nil)
	default:
		return nil, loader.Execution("cannot look up %s: sdb has no driver %s here", text,
			data.Str(profile.Value("driver")))
	}
	return m.env.Registry("sdb").With(m.env).Invoke(ctx, fun, []any{key}, data.NewMap("profile", profile))
}
