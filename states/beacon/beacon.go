// Package beacon is Salt's state beacon: it manages the beacons of the minion
// (salt/states/beacon.py). It uses the module beacons.
//
// Difference from Salt: in test mode present also reports a beacon that would be modified, where Salt
// raises an exception.
package beacon

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state beacon.
func Plugin() loader.Plugin { return loader.Plugin{Name: "beacon", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("present", m.present),
		loader.F("absent", m.absent),
		loader.F("enabled", m.enabled),
		loader.F("disabled", m.disabled),
	}}, nil
}

type saveArgs struct {
	Name   any
	Save   bool      `default:"False"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

type nameArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// beacons returns the configured beacons.
func (m *module) beacons(ctx context.Context, kwargs *data.Map) (*data.Map, error) {
	words := kwargs.Clone()
	words.Set("return_yaml", false)
	return calls.Found[*data.Map](ctx, m.env, "beacons.list", nil, words)
}

// call calls a function of the module beacons. In test mode it changes nothing.
func (m *module) call(ctx context.Context, fun string, args []any, kwargs *data.Map) (*data.Map, error) {
	words := kwargs.Clone()
	if change.Test(ctx) {
		words.Set("test", true)
	}
	return calls.Found[*data.Map](ctx, m.env, "beacons."+fun, args, words)
}

// saved saves the beacons if asked to, and returns comment with what it has done.
func (m *module) saved(ctx context.Context, a saveArgs, comment string) (string, error) {
	name := data.Str(a.Name)
	switch {
	case !a.Save:
		return comment, nil
	case change.Test(ctx):
		return comment + "\nBeacon " + name + " would be saved", nil
	}
	ret, err := m.call(ctx, "save", nil, data.NewMap())
	if err == nil && !data.Truth(ret.Value("result")) {
		err = loader.Execution("%s", ret.Text("comment"))
	}
	return comment + "\nBeacon " + name + " saved", err
}

// present configures a beacon of the minion. The further arguments are its configuration.
//
// save : False
//
//	Also write the beacons of the minion to the file beacons.conf.
//
//	ps:
//	  beacon.present:
//	    - save: True
//	    - enable: False
//	    - processes:
//	        salt-master: running
//	        apache2: stopped
func (m *module) present(ctx context.Context, a saveArgs) (any, error) {
	beacons, err := m.beacons(ctx, a.Kwargs)
	if err != nil {
		return nil, err
	}
	wanted := []any{}
	for key, value := range a.Kwargs.All() {
		wanted = append(wanted, data.NewMap(key, value))
	}
	name := data.Str(a.Name)
	comment, changes := "Job "+name+" in correct state", data.NewMap()
	if now, there := beacons.Get(a.Name); !there || !data.Equal(now, wanted) {
		fun, done := "add", "Adding "+name+" to beacons"
		if there {
			fun, done = "modify", "Modifying "+name+" in beacons"
		}
		ret, err := m.call(ctx, fun, []any{a.Name, wanted}, a.Kwargs)
		if err != nil {
			return nil, err
		}
		asked := ret.Text("comment")
		if more, ok := ret.Value("changes").(*data.Map); ok {
			changes = more
		}
		switch {
		case change.Test(ctx):
			comment = asked
		case !data.Truth(ret.Value("result")):
			return change.New(a.Name, false, nil, asked), nil
		case there && !ret.Has("changes"):
			comment = asked
		default:
			comment = done
		}
	}
	if comment, err = m.saved(ctx, a, comment); err != nil {
		return nil, err
	}
	return change.New(a.Name, true, changes, comment), nil
}

// absent removes a beacon from the minion.
//
// save : False
//
//	Also write the beacons of the minion to the file beacons.conf.
//
//	remove_beacon:
//	  beacon.absent:
//	    - name: ps
//	    - save: True
func (m *module) absent(ctx context.Context, a saveArgs) (any, error) {
	name := data.Str(a.Name)
	ret, err := m.turn(ctx, nameArgs{a.Name, a.Kwargs}, "delete",
		"Removed "+name+" from beacons", name+" not configured in beacons")
	if err != nil || ret.Value("result") == false {
		return ret, err
	}
	comment, err := m.saved(ctx, a, ret.Text("comment"))
	ret.Set("comment", comment)
	return ret, err
}

// enabled enables a beacon.
//
//	enable_beacon:
//	  beacon.enabled:
//	    - name: ps
func (m *module) enabled(ctx context.Context, a nameArgs) (any, error) {
	name := data.Str(a.Name)
	return m.turn(ctx, a, "enable_beacon", "Enabled "+name+" from beacons", name+" not a configured beacon")
}

// disabled disables a beacon.
//
//	disable_beacon:
//	  beacon.disabled:
//	    - name: ps
func (m *module) disabled(ctx context.Context, a nameArgs) (any, error) {
	name := data.Str(a.Name)
	return m.turn(ctx, a, "disable_beacon", "Disabled beacon "+name+".", "Job "+name+" is not configured.")
}

// turn calls a function of the module for a beacon that is configured.
func (m *module) turn(ctx context.Context, a nameArgs, fun, done, missing string) (*data.Map, error) {
	beacons, err := m.beacons(ctx, a.Kwargs)
	if err != nil {
		return nil, err
	}
	if !beacons.Has(a.Name) {
		return change.New(a.Name, true, nil, missing), nil
	}
	ret, err := m.call(ctx, fun, []any{a.Name}, a.Kwargs)
	switch {
	case err != nil:
		return nil, err
	case change.Test(ctx):
		return change.New(a.Name, true, nil, ret.Text("comment")), nil
	case !data.Truth(ret.Value("result")):
		return change.New(a.Name, false, nil, ret.Value("comment")), nil
	}
	return change.New(a.Name, true, nil, done), nil
}
