package beacons

import (
	"fmt"

	"github.com/brineproject/brine/data"
)

// settings are the keys of a configured beacon that the engine uses.
type settings struct {
	module   string  // the plug-in, beacon_module or the name
	enabled  bool    // default: true
	once     bool    // run_once
	yields   bool    // disable_during_state_run: makes way for state runs
	interval float64 // seconds; 0 means each turn
	config   any     // what the beacon gets
}

// parse reads the configuration of a beacon: a list of small dictionaries, or one dictionary.
func parse(name string, given any) (settings, error) {
	all := Merge(given)
	set := settings{module: name, enabled: true, once: data.Truth(all.Value("run_once")),
		yields: data.Truth(all.Value("disable_during_state_run"))}
	if on, ok := all.Get("enabled"); ok {
		set.enabled = data.Truth(on)
	}
	if module := all.Value("beacon_module"); data.Truth(module) {
		set.module = data.Str(module)
	}
	set.config = shown(name, given)
	switch n := all.Value("interval").(type) {
	case int64:
		set.interval = float64(n)
	case float64:
		set.interval = n
	case nil, bool:
	default:
		return set, fmt.Errorf("interval: expected seconds, got %s", data.Repr(n))
	}
	return set, nil
}

// shown returns the configuration as the beacon gets it: without the keys of the engine, and with
// its name as _beacon_name.
func shown(name string, given any) any {
	switch given := given.(type) {
	case []any:
		list := []any{}
		for _, item := range given {
			part, ok := item.(*data.Map)
			if !ok {
				list = append(list, item)
				continue
			}
			if rest := without(part); rest.Len() > 0 || part.Len() == 0 {
				list = append(list, rest)
			}
		}
		return append(list, data.NewMap("_beacon_name", name))
	case *data.Map:
		rest := without(given)
		rest.Set("_beacon_name", name)
		return rest
	}
	return given
}

// without returns a copy of a dictionary without the keys of the engine.
func without(m *data.Map) *data.Map {
	rest, _ := data.Clone(m).(*data.Map)
	for _, key := range []string{"enabled", "interval", "disable_during_state_run"} {
		rest.Delete(key)
	}
	return rest
}

// Merge returns the small dictionaries of a configuration as one, which the caller may change at its
// top level; items that are no dictionaries are left out (salt/utils/beacons.py, list_to_dict).
func Merge(config any) *data.Map {
	switch config := config.(type) {
	case *data.Map:
		return config.Clone()
	case []any:
		all := data.NewMap()
		for _, item := range config {
			if part, ok := item.(*data.Map); ok {
				all.Update(part)
			}
		}
		return all
	}
	return data.NewMap()
}

// Items returns the items of a configuration that are dictionaries, without the keys that only the
// engine uses: those with an underscore, beacon_module and run_once
// (salt/utils/beacons.py, remove_hidden_options).
func Items(config any) []*data.Map {
	var items []*data.Map
	list, _ := config.([]any)
	for _, item := range list {
		part, ok := item.(*data.Map)
		if !ok {
			continue
		}
		rest := part.Clone()
		for key := range part.All() {
			name, isText := key.(string)
			if isText && (name == "beacon_module" || name == "run_once" || len(name) > 0 && name[0] == '_') {
				rest.Delete(key)
			}
		}
		if rest.Len() > 0 {
			items = append(items, rest)
		}
	}
	return items
}
