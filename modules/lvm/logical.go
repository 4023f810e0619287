package lvm

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
)

type lvcreateArgs struct {
	Lvname     string
	Vgname     string
	Size       any       `default:"None"`
	Extents    any       `default:"None"`
	Snapshot   any       `default:"None"`
	Pv         any       `default:"None"`
	Thinvolume any       `default:"False"`
	Thinpool   any       `default:"False"`
	Force      any       `default:"False"`
	Kwargs     *data.Map `kwargs:"kwargs"`
}

// lvcreate creates a logical volume. It returns what lvdisplay tells of the volume, and the outcome
// as "Output from lvcreate", or a text for arguments that do not fit together.
//
// size, extents
//
//	The size of the volume, such as 10G, or the number of its extents. One of them is needed.
//
// snapshot
//
//	The volume of which the new one is a snapshot.
//
// pv
//
//	The physical volume to use.
//
// thinvolume, thinpool
//
//	True: create a thin volume, with vgname as group/pool, or a thin pool.
//
// Further arguments become options of the program: activate, chunksize, contiguous, discards,
// stripes, stripesize, minor, persistent, mirrors, nosync, noudevsync, monitor, ignoremonitoring,
// permission, poolmetadatasize, readahead, regionsize, type, virtualsize, zero, thin.
//
// CLI Example:
//
//	salt '*' lvm.lvcreate new_volume_name     vg_name size=10G
//	salt '*' lvm.lvcreate new_volume_name     vg_name extents=100 pv=/dev/sdb
//	salt '*' lvm.lvcreate new_snapshot        vg_name snapshot=volume_name size=3G
//	salt '*' lvm.lvcreate new_thinpool_name   vg_name               size=20G thinpool=True
//	salt '*' lvm.lvcreate new_thinvolume_name vg_name/thinpool_name size=10G thinvolume=True
func (m *module) lvcreate(ctx context.Context, a lvcreateArgs) (any, error) {
	if complaint := a.complaint(); complaint != "" {
		return complaint, nil
	}
	argv, err := a.argv()
	if err != nil {
		return nil, err
	}
	out, err := m.act(ctx, `Logical volume "`+a.Lvname+`" created.`, argv...)
	if err != nil {
		return nil, err
	}
	info, err := m.lvdisplay(ctx, lvdisplayArgs{Lvname: "/dev/" + a.Vgname + "/" + a.Lvname})
	if err != nil { // the outcome says more
		info = data.NewMap()
	}
	info.Set("Output from lvcreate", out)
	return info, nil
}

// complaint returns why the arguments do not fit together, "" if they do.
func (a lvcreateArgs) complaint() string {
	size, extents := data.Truth(a.Size), data.Truth(a.Extents)
	switch thin := data.Truth(a.Thinvolume); {
	case size && extents:
		return "Error: Please specify only one of size or extents"
	case thin && data.Truth(a.Thinpool):
		return "Error: Please set only one of thinvolume or thinpool to True"
	case extents && thin:
		return "Error: Thin volume size cannot be specified as extents"
	case !size && !extents:
		return "Error: Either size or extents must be specified"
	}
	return ""
}

func (a lvcreateArgs) argv() ([]string, error) {
	argv := []string{"lvcreate"}
	switch {
	case data.Truth(a.Thinvolume):
		argv = append(argv, "--thin", "-n", a.Lvname)
	case data.Truth(a.Thinpool):
		argv = append(argv, "--thinpool", a.Lvname)
	default:
		argv = append(argv, "-n", a.Lvname)
	}
	if data.Truth(a.Snapshot) {
		argv = append(argv, "-s", a.Vgname+"/"+data.Str(a.Snapshot))
	} else {
		argv = append(argv, a.Vgname)
	}
	switch {
	case data.Truth(a.Size) && data.Truth(a.Thinvolume):
		argv = append(argv, "-V", data.Str(a.Size))
	case data.Truth(a.Size):
		argv = append(argv, "-L", data.Str(a.Size))
	default:
		argv = append(argv, "-l", data.Str(a.Extents))
	}
	operands := []string{a.Lvname, a.Vgname}
	if data.Truth(a.Pv) {
		argv, operands = append(argv, data.Str(a.Pv)), append(operands, data.Str(a.Pv))
	}
	if err := plain(operands...); err != nil {
		return nil, err
	}
	argv = append(append(argv, a.more()...), consent(a.Force, "--yes"))
	return argv, oneLine(argv...)
}

// more returns the keyword arguments as options.
func (a lvcreateArgs) more() []string {
	bare := []string{"nosync", "noudevsync", "ignoremonitoring", "thin"}
	valued := []string{"activate", "chunksize", "contiguous", "discards", "stripes", "stripesize",
		"minor", "persistent", "mirrors", "monitor", "permission", "poolmetadatasize", "readahead",
		"regionsize", "type", "virtualsize", "zero"}
	var argv []string
	for key, v := range a.Kwargs.All() {
		switch name := data.Str(key); {
		case slices.Contains(bare, name): // whatever the value, as in Salt
			argv = append(argv, "--"+name)
		case slices.Contains(valued, name):
			argv = append(argv, "--"+name, data.Str(v))
		}
	}
	return argv
}

type lvremoveArgs struct {
	Lvname string
	Vgname string
	Force  any `default:"True"`
}

// lvremove removes a logical volume from a volume group, and returns the outcome.
//
// CLI Example:
//
//	salt '*' lvm.lvremove lvname vgname force=True
func (m *module) lvremove(ctx context.Context, a lvremoveArgs) (any, error) {
	path := a.Vgname + "/" + a.Lvname
	if err := plain(path); err != nil {
		return nil, err
	}
	return m.act(ctx, `Logical volume "`+a.Lvname+`" successfully removed`,
		"lvremove", path, consent(a.Force, "--yes"))
}

type resizeArgs struct {
	Size     any `default:"None"`
	Lvpath   any `default:"None"`
	Extents  any `default:"None"`
	Force    any `default:"False"`
	Resizefs any `default:"False"`
}

// lvresize resizes a logical volume. It returns the outcome as "Output from lvresize", or an empty
// dictionary without either size or extents.
//
// size, extents
//
//	The new size or number of extents; with + or - by how much it changes.
//
// resizefs
//
//	True: resize the file system too.
//
// CLI Example:
//
//	salt '*' lvm.lvresize +12M /dev/mapper/vg1-test
//	salt '*' lvm.lvresize lvpath=/dev/mapper/vg1-test extents=+100%FREE
func (m *module) lvresize(ctx context.Context, a resizeArgs) (any, error) {
	return m.resize(ctx, "lvresize", "--force", "resized", a)
}

// lvextend enlarges a logical volume. It returns the outcome as "Output from lvextend", or an empty
// dictionary without either size or extents. The arguments are those of lvresize.
//
// CLI Example:
//
//	salt '*' lvm.lvextend +12M /dev/mapper/vg1-test
//	salt '*' lvm.lvextend lvpath=/dev/mapper/vg1-test extents=+100%FREE
func (m *module) lvextend(ctx context.Context, a resizeArgs) (any, error) {
	return m.resize(ctx, "lvextend", "--yes", "extended", a)
}

func (m *module) resize(ctx context.Context, program, force, done string, a resizeArgs) (any, error) {
	size, extents := data.Truth(a.Size), data.Truth(a.Extents)
	argv, path := []string{program, consent(a.Force, force)}, data.Str(a.Lvpath)
	if data.Truth(a.Resizefs) {
		argv = append(argv, "--resizefs")
	}
	switch {
	case size && extents:
		m.env.Log.Errorf("Error: Please specify only one of size or extents")
		return data.NewMap(), nil
	case size:
		argv = append(argv, "-L", data.Str(a.Size))
	case extents:
		argv = append(argv, "-l", data.Str(a.Extents))
	default:
		m.env.Log.Errorf("Error: Either size or extents must be specified")
		return data.NewMap(), nil
	}
	if err := plain(path); err != nil {
		return nil, err
	}
	argv = append(argv, path)
	if err := oneLine(argv...); err != nil {
		return nil, err
	}
	out, err := m.act(ctx, `Logical volume "`+path+`" successfully `+done+".", argv...)
	return data.NewMap("Output from "+program, out), err
}
