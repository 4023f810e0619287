package file

import (
	"context"
	"fmt"
	"runtime"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type mknodArgs struct {
	Name  string
	Ntype any
	Major int64 `default:"0"`
	Minor int64 `default:"0"`
	User  any   `default:"None"`
	Group any   `default:"None"`
	Mode  any   `default:"'0600'"`
}

// mknod creates a device or a named pipe.
//
// ntype
//
//	c for a character device, b for a block device, p for a pipe.
//
// major, minor
//
//	The numbers of a device. An existing device with other numbers is not replaced.
//
//	/dev/fifo:
//	  file.mknod:
//	    - ntype: p
//	    - mode: "0660"
func (m *module) mknod(ctx context.Context, a mknodArgs) (any, error) {
	a.Name = home(a.Name)
	if a.Name == "" {
		return change.Failed(a.Name, "Must provide name to file.mknod"), nil
	}
	kind, ok := map[any][3]string{
		"c": {"Character device", "character device", "file.is_chrdev"},
		"b": {"Block device", "block device", "file.is_blkdev"},
		"p": {"Fifo pipe", "fifo pipe", "file.is_fifo"},
	}[a.Ntype]
	if !ok {
		return change.Failed(a.Name, "Node type unavailable: '"+data.Str(a.Ntype)+
			"'. Available node types are character ('c'), block ('b'), and pipe ('p')"), nil
	}
	if paths.IsFile(a.Name) {
		return change.Failed(a.Name, "File "+a.Name+" exists and is not a "+kind[1]+
			". Refusing to continue"), nil
	}
	is, err := loader.CallAs[bool](ctx, m.env, kind[2], []any{a.Name}, nil)
	switch {
	case err != nil:
		return nil, err
	case is:
		return m.nodeThere(ctx, a, kind[0])
	case change.Test(ctx):
		return change.Would(a.Name, nil, kind[0]+" "+a.Name+" is set to be created"), nil
	}
	return m.call(ctx, "file.mknod", nil, a.Name, a.Ntype, a.Major, a.Minor, a.User,
		a.Group, a.Mode)
}

// nodeThere checks the numbers, owner and mode of an existing node.
func (m *module) nodeThere(ctx context.Context, a mknodArgs, kind string) (any, error) {
	if a.Ntype != "p" {
		major, minor, err := calls.GetDevMM(ctx, m.env, a.Name)
		if err != nil {
			return nil, err
		}
		if major != any(a.Major) || minor != any(a.Minor) {
			return change.Failed(a.Name, fmt.Sprintf(
				"%s %s exists and has a different major/minor %s/%s. Refusing to continue",
				kind, a.Name, data.Str(major), data.Str(minor))), nil
		}
	}
	ret, _, err := calls.CheckPerms(ctx, m.env, calls.Permissions{
		Path: a.Name, User: a.User, Group: a.Group, Mode: a.Mode,
	})
	if err != nil {
		return nil, err
	}
	if changes, _ := ret.Value("changes").(*data.Map); changes.Len() == 0 {
		ret.Set("comment", kind+" "+a.Name+" is in the correct state")
	}
	return ret, nil
}

type shortcutArgs struct {
	Name         any
	Target       any
	Arguments    any       `default:"None"`
	WorkingDir   any       `default:"None"`
	Description  any       `default:"None"`
	IconLocation any       `default:"None"`
	Force        bool      `default:"False"`
	Backupname   any       `default:"None"`
	Makedirs     bool      `default:"False"`
	User         any       `default:"None"`
	Kwargs       *data.Map `kwargs:"kwargs"`
}

// shortcut creates Windows shortcuts. It fails on other systems and is not implemented on Windows
// yet either.
//
//	C:\Users\Public\Desktop\notes.lnk:
//	  file.shortcut:
//	    - target: C:\notes.txt
func (m *module) shortcut(_ context.Context, a shortcutArgs) (any, error) {
	if runtime.GOOS == "windows" {
		return change.Failed(a.Name, "Shortcuts are not supported by this minion"), nil
	}
	return change.Failed(a.Name, "Shortcuts are only supported on Windows"), nil
}

type modBeaconArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// modBeacon adds a beacon that watches the path of a file.managed or file.directory with the
// argument beacon.
//
//	/etc/motd:
//	  file.managed:
//	    - contents: Be nice.
//	    - beacon: True
func (m *module) modBeacon(ctx context.Context, a modBeaconArgs) (any, error) {
	fun := a.Kwargs.Value("sfun")
	switch {
	case fun != "managed" && fun != "directory":
		return change.Failed(a.Name, "file."+data.Str(fun)+
			" does not work with the beacon state function"), nil
	case !data.Truth(a.Kwargs.Value("beacon")):
		return change.Unchanged(a.Name, "Not adding beacon."), nil
	}
	asked, _ := a.Kwargs.Value("beacon_data").(*data.Map)
	or := func(key string, v any) any {
		if given, ok := asked.Get(key); ok {
			return given
		}
		return v
	}
	watch := data.NewMap("mask", or("mask", []any{"create", "delete", "modify"}))
	if fun == "directory" {
		watch.Set("auto_add", or("auto_add", true))
		watch.Set("recurse", or("recurse", true))
		watch.Set("exclude", or("exclude", []any{}))
	}
	states := m.env.Registry("states")
	if states == nil {
		return nil, loader.Execution("add a beacon for %s: states are not available",
			data.Str(a.Name))
	}
	return states.Invoke(ctx, "beacon.present", nil,
		data.NewMap("name", "beacon_inotify_"+data.Str(a.Name), "files", data.NewMap(a.Name, watch),
			"interval", or("interval", int64(60)), "coalesce", or("coalesce", false),
			"beacon_module", "inotify"))
}
