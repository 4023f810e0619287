package lvm

import (
	"context"

	"github.com/brineproject/brine/data"
)

const incomplete = "Error: vgname and device(s) are both required"

type vgcreateArgs struct {
	Vgname  string
	Devices any
	Force   any       `default:"False"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// vgcreate creates a volume group. It returns what vgdisplay tells of the group, and the outcome as
// "Output from vgcreate".
//
// devices
//
//	The group's physical volumes: a list, or a text in which commas separate them.
//
// Further arguments become options of the program: addtag, alloc, autobackup, clustered,
// maxlogicalvolumes, maxphysicalvolumes, metadatatype, vgmetadatacopies, metadatacopies,
// physicalextentsize, zero.
//
// CLI Example:
//
//	salt mymachine lvm.vgcreate my_vg /dev/sdb1,/dev/sdb2
//	salt mymachine lvm.vgcreate my_vg /dev/sdb1 clustered=y
func (m *module) vgcreate(ctx context.Context, a vgcreateArgs) (any, error) {
	if a.Vgname == "" || !data.Truth(a.Devices) {
		return incomplete, nil
	}
	names, err := groupWith(a.Vgname, a.Devices)
	if err != nil {
		return nil, err
	}
	more, err := options(a.Kwargs, "addtag", "alloc", "autobackup", "clustered",
		"maxlogicalvolumes", "maxphysicalvolumes", "metadatatype", "vgmetadatacopies",
		"metadatacopies", "physicalextentsize", "zero")
	if err != nil {
		return nil, err
	}
	argv := append(append([]string{"vgcreate"}, names...), consent(a.Force, "--yes"))
	out, err := m.act(ctx, `Volume group "`+a.Vgname+`" successfully created`,
		append(argv, more...)...)
	if err != nil {
		return nil, err
	}
	info, err := m.vgdisplay(ctx, vgdisplayArgs{Vgname: a.Vgname})
	info.Set("Output from vgcreate", out)
	return info, err
}

// groupWith returns the name of a group and its devices as operands.
func groupWith(vgname string, devices any) ([]string, error) {
	list, err := devicesOf(devices)
	if err != nil {
		return nil, err
	}
	names := append([]string{vgname}, list...)
	return names, plain(names...)
}

type vgextendArgs struct {
	Vgname  string
	Devices any
	Force   any `default:"False"`
}

// vgextend adds physical volumes to a volume group. It returns the outcome as "Output from
// vgextend".
//
// CLI Example:
//
//	salt mymachine lvm.vgextend my_vg /dev/sdb1,/dev/sdb2
//	salt mymachine lvm.vgextend my_vg /dev/sdb1
func (m *module) vgextend(ctx context.Context, a vgextendArgs) (any, error) {
	if a.Vgname == "" || !data.Truth(a.Devices) {
		return incomplete, nil
	}
	names, err := groupWith(a.Vgname, a.Devices)
	if err != nil {
		return nil, err
	}
	argv := append([]string{"vgextend", a.Vgname, consent(a.Force, "--yes")}, names[1:]...)
	out, err := m.act(ctx, `Volume group "`+a.Vgname+`" successfully extended`, argv...)
	return data.NewMap("Output from vgextend", out), err
}

type vgremoveArgs struct {
	Vgname string
	Force  any `default:"True"`
}

// vgremove removes a volume group, and returns the outcome.
//
// CLI Example:
//
//	salt mymachine lvm.vgremove vgname
//	salt mymachine lvm.vgremove vgname force=True
func (m *module) vgremove(ctx context.Context, a vgremoveArgs) (any, error) {
	if err := plain(a.Vgname); err != nil {
		return nil, err
	}
	return m.act(ctx, `Volume group "`+a.Vgname+`" successfully removed`,
		"vgremove", a.Vgname, consent(a.Force, "--yes"))
}
