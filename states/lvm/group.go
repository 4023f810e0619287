package lvm

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type vgPresentArgs struct {
	Name    string
	Devices any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// vgPresent creates a volume group, or adds physical volumes to it.
//
// devices
//
//	The physical volumes: a list, or a text in which commas separate them.
//
// Further arguments are those of lvm.vgcreate.
//
//	my_vg:
//	  lvm.vg_present:
//	    - devices: /dev/sda
func (m *module) vgPresent(ctx context.Context, a vgPresentArgs) (change.Result, error) {
	of := "Volume Group " + a.Name
	var devices []any
	switch v := a.Devices.(type) {
	case nil:
	case string:
		devices = data.Values(strings.Split(v, ","))
	case []any:
		devices = v
	default:
		return change.Result{}, loader.TypeError("'%s' object is not iterable", loader.TypeName(v))
	}
	info, err := m.display(ctx, "vgdisplay", a.Name)
	if err != nil {
		return change.Refuse(a.Name, err.Error())
	}
	whole, err := m.keep(ctx, volume{a.Name, "vgdisplay", a.Name, true,
		m.call("vgcreate", a.Kwargs, a.Name, devices), change.Texts{
			Same:   of + " already present",
			Would:  of + " is set to be created",
			Done:   "Created " + of,
			Failed: "Failed to create " + of,
		}})
	if err != nil || info.Len() == 0 {
		return whole, err
	}
	parts := []change.Result{whole}
	for _, device := range devices {
		part, err := m.member(ctx, a.Name, data.Str(device))
		if err != nil {
			return change.Result{}, err
		}
		parts = append(parts, part)
	}
	return change.Join(a.Name, parts...), nil
}

// member adds a physical volume to a group if it belongs to none.
func (m *module) member(ctx context.Context, group, device string) (change.Result, error) {
	return change.Thing[string]{
		Name: device,
		Look: func(ctx context.Context) (string, error) {
			its, there, err := m.groupOf(ctx, device)
			switch {
			case err != nil:
				return "", err
			case !there:
				return "", change.Reason("pv " + device + " is not present")
			case its != group && its != "" && its != "#orphans_lvm2":
				return "", change.Reason(device + " is part of " + its)
			}
			return its, nil
		},
		Wants: func(its string) *data.Map {
			return change.When(its != group, data.NewMap(device, "added to "+group))
		},
		Apply: func(ctx context.Context, _ string) error {
			_, err := m.call("vgextend", nil, group, device)(ctx)
			return err
		},
		Silent: true,
		Texts: change.Texts{
			Same:   device + " is part of Volume Group",
			Would:  device + " is set to be added to " + group,
			Failed: device + " could not be added",
		},
	}.Ensure(ctx)
}

// groupOf returns the volume group of a device, and whether the device is a physical volume.
func (m *module) groupOf(ctx context.Context, device string) (group string, there bool, err error) {
	device, err = filepath.Abs(device)
	if err != nil {
		return "", false, loader.OSError(err)
	}
	if followed, err := filepath.EvalSymlinks(device); err == nil {
		device = followed
	}
	all, err := loader.CallAs[*data.Map](ctx, m.env, "lvm.pvdisplay", []any{device},
		data.NewMap("real", true))
	info, there := all.Value(device).(*data.Map)
	return info.Text("Volume Group Name"), there, change.Except(err, loader.KindExecution)
}
