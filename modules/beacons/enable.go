package beacons

import (
	"context"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
)

// enable enables the beacons of the minion as a whole.
//
// CLI Example:
//
//	salt '*' beacons.enable
func (m *module) enable(ctx context.Context, a keywords) (any, error) {
	return m.turnAll(ctx, a.Kwargs, "enable", "Enabled", true), nil
}

// disable disables the beacons of the minion as a whole.
//
// CLI Example:
//
//	salt '*' beacons.disable
func (m *module) disable(ctx context.Context, a keywords) (any, error) {
	return m.turnAll(ctx, a.Kwargs, "disable", "Disabled", false), nil
}

func (m *module) turnAll(ctx context.Context, kwargs *data.Map, fun, did string, on bool) *data.Map {
	ret := result([]any{}, true)
	if isTest(kwargs) {
		return set(ret, true, "Beacons would be "+fun+"d.")
	}
	return m.change(ctx, ret, kwargs, "s_"+fun+"d_complete", fun+"d complete", func(beacons *data.Map) {
		set(ret, false, "Failed to "+fun+" beacons on minion.")
		if v, ok := beacons.Get("enabled"); ok && data.Truth(v) == on {
			set(ret, true, did+" beacons on minion.")
		}
	}, "func", fun)
}

// enableBeacon enables one beacon.
//
// CLI Example:
//
//	salt '*' beacons.enable_beacon ps
func (m *module) enableBeacon(ctx context.Context, a nameArgs) (any, error) {
	name := data.Str(a.Name)
	return m.turnOne(ctx, a, turn{"enable_beacon", "enabled", "Beacon " + name + " would be enabled.",
		"Enabled beacon " + name + " on minion.", "Failed to enable beacon " + name + " on minion.", true}), nil
}

// disableBeacon disables one beacon.
//
// CLI Example:
//
//	salt '*' beacons.disable_beacon ps
func (m *module) disableBeacon(ctx context.Context, a nameArgs) (any, error) {
	return m.turnOne(ctx, a, turn{"disable_beacon", "disabled", "Beacons would be disabled.",
		"Disabled beacon " + data.Str(a.Name) + " on minion.", "Failed to disable beacon on minion.", false}), nil
}

// A turn enables or disables a beacon.
type turn struct {
	fun, answer         string
	would, did, failure string
	on                  bool
}

func (m *module) turnOne(ctx context.Context, a nameArgs, t turn) *data.Map {
	ret := result([]any{}, true)
	switch {
	case !data.Truth(a.Name):
		return failed(ret, "Beacon name is required.")
	case isTest(a.Kwargs):
		return set(ret, true, t.would)
	case !has(m.all(ctx, a.Kwargs), a.Name):
		return failed(ret, "Beacon "+data.Str(a.Name)+" is not currently configured.")
	}
	return m.change(ctx, ret, a.Kwargs, "_"+t.answer+"_complete", t.answer+" complete", func(all *data.Map) {
		set(ret, false, t.failure)
		if v, ok := beacons.Merge(all.Value(a.Name)).Get("enabled"); ok && data.Truth(v) == t.on {
			set(ret, true, t.did)
		}
	}, "func", t.fun, "name", a.Name)
}
