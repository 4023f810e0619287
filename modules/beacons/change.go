package beacons

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/difflib"
)

// add adds a beacon to the minion. It fails for a configuration that is not valid.
//
// name
//
//	The name of the beacon.
//
// beacon_data
//
//	Its configuration, a list of dictionaries.
//
// CLI Example:
//
//	salt '*' beacons.add ps "[{'processes': {'salt-master': 'stopped', 'apache2': 'stopped'}}]"
func (m *module) add(ctx context.Context, a dataArgs) (any, error) {
	name := data.Str(a.Name)
	ret := result("Failed to add beacon "+name+".", false)
	beacons := m.all(ctx, a.Kwargs)
	switch {
	case beacons == nil:
		return ret, nil
	case has(beacons, a.Name):
		return set(ret, true, "Beacon "+name+" is already configured."), nil
	}
	if kind := moduleOf(a); !m.isAvailable(ctx, a.Kwargs, kind) {
		return failed(ret, fmt.Sprintf("Beacon \"%s\" is not available.", data.Str(kind))), nil
	}
	if isTest(a.Kwargs) {
		return set(ret, true, "Beacon: "+name+" would be added."), nil
	}
	if !m.validate(ctx, a, ret, "adding", "add complete") {
		return ret, nil
	}
	return m.change(ctx, ret, a.Kwargs, "_add_complete", "add complete", func(beacons *data.Map) {
		if holds(beacons.Value(a.Name), a.BeaconData) {
			set(ret, true, "Added beacon: "+name+".")
		}
	}, "name", a.Name, "beacon_data", a.BeaconData, "func", "add"), nil
}

// moduleOf returns the kind of a beacon: beacon_module, or the name.
func moduleOf(a dataArgs) any {
	for _, item := range parts(a.BeaconData) {
		if kind, ok := item.Get("beacon_module"); ok {
			return kind
		}
	}
	return a.Name
}

// parts returns the dictionaries of a configuration.
func parts(v any) []*data.Map {
	if m, ok := v.(*data.Map); ok {
		return []*data.Map{m}
	}
	var all []*data.Map
	for _, item := range data.ListOf(v) {
		if m, ok := item.(*data.Map); ok {
			all = append(all, m)
		}
	}
	return all
}

// holds reports whether a configuration has all parts of another.
func holds(now, wanted any) bool {
	for _, item := range parts(wanted) {
		found := false
		for _, there := range parts(now) {
			found = found || data.Equal(there, item)
		}
		if !found {
			return false
		}
	}
	return now != nil
}

// validate asks the minion whether a configuration is valid; if not, it writes that into ret.
func (m *module) validate(ctx context.Context, a dataArgs, ret *data.Map, doing, what string) bool {
	body := m.ask(ctx, a.Kwargs, "_validation_complete", "name", a.Name, "beacon_data", a.BeaconData,
		"func", "validate_beacon")
	switch {
	case body == nil:
		failed(ret, fmt.Sprintf("Did not receive the beacon %s event before the timeout of %ss", what,
			data.Str(shownTimeout(a.Kwargs))))
		return false
	case !data.Truth(body.Value("valid")):
		failed(ret, fmt.Sprintf("Beacon %s configuration invalid, not %s.\n%s", data.Str(a.Name), doing,
			data.Str(body.Value("vcomment"))))
		return false
	}
	return true
}

// modify replaces the configuration of a beacon.
//
// name
//
//	The name of the beacon.
//
// beacon_data
//
//	Its new configuration, a list of dictionaries.
//
// CLI Example:
//
//	salt '*' beacons.modify ps "[{'salt-master': 'stopped'}, {'apache2': 'stopped'}]"
func (m *module) modify(ctx context.Context, a dataArgs) (any, error) {
	name := data.Str(a.Name)
	ret := result("", true)
	beacons := m.all(ctx, a.Kwargs)
	switch {
	case beacons == nil:
		return failed(ret, "Event module not available. Beacon modify failed."), nil
	case !has(beacons, a.Name):
		return set(ret, true, "Beacon "+name+" is not configured."), nil
	case isTest(a.Kwargs):
		return set(ret, true, "Beacon: "+name+" would be modified."), nil
	case !m.validate(ctx, a, ret, "modifying", "modify complete "):
		return ret, nil
	}
	now := beacons.Value(a.Name)
	if data.Equal(now, a.BeaconData) {
		return set(ret, true, "Job "+name+" in correct state"), nil
	}
	ret.Set("changes", data.NewMap("diff", difflib.Text(lines(now), lines(a.BeaconData))))
	return m.change(ctx, ret, a.Kwargs, "_modify_complete", "modify complete ", func(beacons *data.Map) {
		if data.Equal(beacons.Value(a.Name), a.BeaconData) {
			set(ret, true, "Modified beacon: "+name+".")
		}
	}, "name", a.Name, "beacon_data", a.BeaconData, "func", "modify"), nil
}

// lines returns a configuration as lines, to compare two.
func lines(v any) []string {
	var all []string
	for _, item := range parts(v) {
		for key, value := range item.All() {
			all = append(all, data.Str(key)+":"+data.Str(value)+"\n")
		}
	}
	return all
}

// delete removes a beacon from the minion.
//
// CLI Example:
//
//	salt '*' beacons.delete ps
func (m *module) delete(ctx context.Context, a nameArgs) (any, error) {
	name := data.Str(a.Name)
	ret := result("Failed to delete beacon "+name+".", false)
	if isTest(a.Kwargs) {
		return set(ret, true, "Beacon: "+name+" would be deleted."), nil
	}
	return m.change(ctx, ret, a.Kwargs, "_delete_complete", "delete complete", func(beacons *data.Map) {
		if !has(beacons, a.Name) {
			set(ret, true, "Deleted beacon: "+name+".")
		}
	}, "name", a.Name, "func", "delete"), nil
}

// reset removes all beacons that are not in the pillar.
//
// CLI Example:
//
//	salt '*' beacons.reset
func (m *module) reset(ctx context.Context, a keywords) (any, error) {
	ret := result([]any{}, true)
	if isTest(a.Kwargs) {
		return set(ret, true, "Beacons would be reset."), nil
	}
	body := m.ask(ctx, a.Kwargs, "_reset_complete", "func", "reset")
	if body == nil {
		return failed(ret, fmt.Sprintf("Did not receive the beacon reset event before the timeout of %ss",
			data.Str(shownTimeout(a.Kwargs)))), nil
	}
	return set(ret, true, "Beacon configuration reset."), nil
}
