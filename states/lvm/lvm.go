// Package lvm is Salt's state lvm: physical volumes, volume groups and logical volumes
// (salt/states/lvm.py). It uses the module lvm.
//
// Differences from Salt: test mode extends no group. A group that exists needs no devices. The size
// of a logical volume is rounded up to whole extents and stripes, as lvcreate does, so a second run
// finds nothing to resize. Extents may be a text.
package lvm

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state lvm. It loads only on hosts with the program lvm.
func Plugin() loader.Plugin { return loader.Plugin{Name: "lvm", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("lvm") == "" {
		return nil, errors.New("lvm command not found")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("lv_absent", m.lvAbsent),
		loader.F("lv_present", m.lvPresent),
		loader.F("pv_absent", m.pvAbsent),
		loader.F("pv_present", m.pvPresent),
		loader.F("vg_absent", m.vgAbsent),
		loader.F("vg_present", m.vgPresent),
	}}, nil
}

// display returns what a function such as lvm.pvdisplay returns for a name: an empty dictionary if it
// does not exist. A name that cannot be looked up fails the state.
func (m *module) display(ctx context.Context, fun, name string) (*data.Map, error) {
	v, err := loader.CallAs[*data.Map](ctx, m.env, "lvm."+fun, []any{name}, data.NewMap("quiet", true))
	return v, change.Except(err, loader.KindExecution)
}

// A volume is a volume or a group that is there or not.
type volume struct {
	name    string
	display string // the function that returns it
	path    string // its argument
	wanted  bool
	act     func(context.Context) (any, error)
	texts   change.Texts
}

// keep creates or removes a volume. The change is what the function returned that did it.
func (m *module) keep(ctx context.Context, v volume) (change.Result, error) {
	key, output := "removed", any(nil)
	if v.wanted {
		key = "created"
	}
	return change.Thing[bool]{
		Name: v.name,
		Look: func(ctx context.Context) (bool, error) {
			info, err := m.display(ctx, v.display, v.path)
			return info.Len() > 0, err
		},
		Wants: func(there bool) *data.Map {
			return change.When(there != v.wanted, data.NewMap(key, v.path))
		},
		Apply: func(ctx context.Context, _ bool) (err error) {
			output, err = v.act(ctx)
			return err
		},
		Changed: func(_, there bool) *data.Map {
			return change.When(there == v.wanted, data.NewMap(key, output))
		},
		Silent: true,
		Texts:  v.texts,
	}.Ensure(ctx)
}

func (m *module) call(fun string, kwargs *data.Map, args ...any) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		return change.Ask[any](ctx, m.env, "lvm."+fun, args, kwargs)
	}
}

type presentArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// pvPresent makes a device a physical volume. Further arguments are those of lvm.pvcreate.
//
//	/dev/sda:
//	  lvm.pv_present
func (m *module) pvPresent(ctx context.Context, a presentArgs) (change.Result, error) {
	of := "Physical Volume " + a.Name
	return m.keep(ctx, volume{a.Name, "pvdisplay", a.Name, true,
		m.call("pvcreate", a.Kwargs, a.Name), change.Texts{
			Same:   of + " already present",
			Would:  of + " is set to be created",
			Done:   "Created " + of,
			Failed: "Failed to create " + of,
		}})
}

type nameArgs struct{ Name string }

// pvAbsent removes the LVM label from a device.
//
//	/dev/sda:
//	  lvm.pv_absent
func (m *module) pvAbsent(ctx context.Context, a nameArgs) (change.Result, error) {
	of := "Physical Volume " + a.Name
	return m.keep(ctx, volume{a.Name, "pvdisplay", a.Name, false,
		m.call("pvremove", nil, a.Name), change.Texts{
			Same:   of + " does not exist",
			Would:  of + " is set to be removed",
			Done:   "Removed " + of,
			Failed: "Failed to remove " + of,
		}})
}

// vgAbsent removes a volume group.
//
//	my_vg:
//	  lvm.vg_absent
func (m *module) vgAbsent(ctx context.Context, a nameArgs) (change.Result, error) {
	of := "Volume Group " + a.Name
	return m.keep(ctx, volume{a.Name, "vgdisplay", a.Name, false,
		m.call("vgremove", nil, a.Name), change.Texts{
			Same:   of + " already absent",
			Would:  of + " is set to be removed",
			Done:   "Removed " + of,
			Failed: "Failed to remove " + of,
		}})
}

type lvAbsentArgs struct {
	Name   string
	Vgname any `default:"None"`
}

// lvAbsent removes a logical volume from a volume group.
//
//	lvroot:
//	  lvm.lv_absent:
//	    - vgname: my_vg
func (m *module) lvAbsent(ctx context.Context, a lvAbsentArgs) (change.Result, error) {
	of := "Logical Volume " + a.Name
	path := "/dev/" + data.Str(a.Vgname) + "/" + a.Name
	return m.keep(ctx, volume{a.Name, "lvdisplay", path, false,
		m.call("lvremove", nil, a.Name, a.Vgname), change.Texts{
			Same:   of + " already absent",
			Would:  of + " is set to be removed",
			Done:   "Removed " + of,
			Failed: "Failed to remove " + of,
		}})
}
