package mount

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

type presentArgs struct {
	Name      string
	FsFile    string
	FsVfstype string
	FsMntops  any    `default:"'defaults'"`
	FsFreq    any    `default:"0"`
	FsPassno  any    `default:"0"`
	MountBy   any    `default:"None"`
	Config    string `default:"'/etc/fstab'"`
	Mount     bool   `default:"True"`
	MatchOn   any    `default:"'auto'"`
	NotChange any    `default:"False"`
	FsMount   any    `default:"True"`
}

// spec returns how the fstab is to name a device: as it stands, or by the property by; "" where that cannot be told.
func (m *module) spec(ctx context.Context, device string, by any) (string, error) {
	want := data.Str(by)
	if !data.Truth(by) || want == "device" && strings.HasPrefix(device, "/") || strings.HasPrefix(device, strings.ToUpper(want)+"=") {
		return device, nil
	}
	words := []any{"blkid", "-o", "export", device}
	if !strings.HasPrefix(device, "/") {
		words = []any{"blkid", "-o", "export", "-t", device}
	}
	v, err := m.env.Call(ctx, "cmd.run_all", []any{words}, data.NewMap("python_shell", false, "ignore_retcode", true))
	if err != nil {
		return "", err
	}
	all, _ := v.(*data.Map)
	return property(all.Text("stdout"), want), nil
}

// property returns a property of the only device in the output of blkid -o export, in the form of the fstab.
func property(text, want string) string {
	found := map[string]string{}
	devices := 0
	for line := range strings.SplitSeq(text, "\n") {
		key, value, _ := strings.Cut(line, "=")
		if key == "DEVNAME" {
			devices++
		}
		found[key] = value
	}
	key := strings.ToUpper(want)
	switch {
	case devices != 1:
		return ""
	case want == "device":
		return found["DEVNAME"]
	case found[key] == "":
		return ""
	}
	return key + "=" + found[key]
}

// said returns the result of a state whose comment is a list.
func said(name string, result any, changes *data.Map, comments ...string) *data.Map {
	return change.New(name, result, changes, data.Values(comments))
}

// fstabPresent has a file system stand in the fstab.
//
// fs_file, fs_vfstype, fs_mntops, fs_freq, fs_passno
//
//	The directory, the type of the file system, the options, and the last fields of the fstab.
//
// mount_by
//
//	How the fstab names the device: device, label, uuid, partlabel or partuuid. Default: as the name says.
//
// config, match_on
//
//	The fstab, and the fields, one or a list, by which a line of it is known.
//
// mount
//
//	False: do not mount it when its line is new.
//
// not_change
//
//	True: a line that is there stays as it is.
//
//	/dev/sdb1:
//	  mount.fstab_present:
//	    - fs_file: /mnt/sdb
//	    - fs_vfstype: ext4
func (m *module) fstabPresent(ctx context.Context, a presentArgs) (any, error) {
	if a.FsMntops == "defaults" && m.mac() {
		a.FsMntops = "noowners"
	}
	folder, config := trimmed(a.FsFile), m.config(a.Config)
	spec, err := m.spec(ctx, a.Name, a.MountBy)
	if err != nil {
		return nil, err
	}
	if spec == "" {
		return said(a.Name, false, nil, "Device "+a.Name+" cannot be converted to "+data.Str(a.MountBy)), nil
	}
	e := entry{folder, spec, a.FsVfstype, a.FsMntops, a.FsFreq, a.FsPassno, config, a.MatchOn, a.NotChange}
	did, err := m.set(ctx, e, change.Test(ctx))
	switch {
	case err != nil:
		return nil, err
	case change.Test(ctx):
		return wouldStand(a, did, folder, config), nil
	case did == "present":
		return said(a.Name, true, nil, folder+" entry was already in "+config+"."), nil
	case did == "change":
		return said(a.Name, true, data.NewMap("persist", did), folder+" entry updated in "+config+"."), nil
	case did == "new" && a.Mount:
		return m.mountNew(ctx, a, folder, config)
	case did == "new":
		return said(a.Name, true, data.NewMap("persist", did), folder+" entry added in "+config+"."), nil
	}
	return said(a.Name, false, nil, folder+" entry cannot be changed in "+config+": "+did+"."), nil
}

// wouldStand says what test mode finds.
func wouldStand(a presentArgs, did, folder, config string) *data.Map {
	switch {
	case did == "present":
		return said(a.Name, true, nil, folder+" entry is already in "+config+".")
	case did == "change":
		return said(a.Name, nil, nil, folder+" entry will be updated in "+config+".")
	case did == "new" && a.Mount:
		return said(a.Name, nil, nil, folder+" entry will be written in "+config+".", "Will mount "+a.Name+" on "+folder)
	case did == "new":
		return said(a.Name, nil, nil, folder+" entry will be written in "+config+".")
	}
	return said(a.Name, false, nil, folder+" entry cannot be created in "+config+": "+did+".")
}

// mountNew mounts what is new in the fstab.
func (m *module) mountNew(ctx context.Context, a presentArgs, folder, config string) (any, error) {
	out, err := m.env.Call(ctx, "mount.mount", []any{folder}, nil)
	if err != nil {
		return nil, err
	}
	added, changes := folder+" entry added in "+config+".", data.NewMap("persist", "new")
	if text, failed := out.(string); failed {
		if _, why, ok := strings.Cut(text, ":"); ok {
			text = why
		}
		return said(a.Name, false, changes, added, "Error while mounting "+text), nil
	}
	return said(a.Name, true, changes, added, "Mounted "+a.Name+" on "+folder), nil
}

type absentArgs struct {
	Name    string
	FsFile  string
	MountBy any    `default:"None"`
	Config  string `default:"'/etc/fstab'"`
}

// fstabAbsent has a file system not stand in the fstab.
//
// fs_file
//
//	The directory.
//
// mount_by
//
//	How the fstab names the device: device, label, uuid, partlabel or partuuid. Default: as the name says.
//
// config
//
//	The fstab.
//
//	/dev/sdb1:
//	  mount.fstab_absent:
//	    - fs_file: /mnt/sdb
func (m *module) fstabAbsent(ctx context.Context, a absentArgs) (any, error) {
	folder, config := trimmed(a.FsFile), m.config(a.Config)
	spec, err := m.spec(ctx, a.Name, a.MountBy)
	if err != nil {
		return nil, err
	}
	table, err := m.table(ctx, config)
	switch {
	case err != nil:
		return nil, err
	case !table.Has(shown(folder)):
		return said(a.Name, true, nil, folder+" entry is already missing in "+config+"."), nil
	case change.Test(ctx):
		return said(a.Name, nil, nil, folder+" entry will be removed from "+config+"."), nil
	}
	ok, err := m.remove(ctx, folder, spec, config)
	if err != nil {
		return nil, err
	}
	if table, err = m.table(ctx, config); err != nil {
		return nil, err
	}
	if !ok || table.Has(shown(folder)) {
		return said(a.Name, false, nil, folder+" entry failed when removing from "+config+"."), nil
	}
	return said(a.Name, true, data.NewMap("persist", "removed"), folder+" entry removed from "+config+"."), nil
}
