package file

import (
	"context"
	"runtime"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
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

// mknod makes a device or a named pipe.
//
// ntype
//
//	c for a character device, b for a block device, p for a pipe.
//
// major, minor
//
//	The numbers of a device. One with other numbers is not replaced.
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
		return change.Failed(a.Name, "Node type unavailable: '"+data.Str(a.Ntype)+"'. Available node types are character ('c'), block ('b'), and pipe ('p')"), nil
	}
	if paths.IsFile(a.Name) {
		return change.Failed(a.Name, "File "+a.Name+" exists and is not a "+kind[1]+". Refusing to continue"), nil
	}
	is, err := m.call(ctx, kind[2], nil, a.Name)
	switch {
	case err != nil:
		return nil, err
	case data.Truth(is):
		return m.nodeThere(ctx, a, kind[0])
	case change.Test(ctx):
		return change.Would(a.Name, nil, kind[0]+" "+a.Name+" is set to be created"), nil
	}
	return m.call(ctx, "file.mknod", nil, a.Name, a.Ntype, a.Major, a.Minor, a.User, a.Group, a.Mode)
}

// nodeThere sees to the numbers, the owners and the mode of a node.
func (m *module) nodeThere(ctx context.Context, a mknodArgs, kind string) (any, error) {
	if a.Ntype != "p" {
		v, err := m.call(ctx, "file.get_devmm", nil, a.Name)
		if err != nil {
			return nil, err
		}
		if has, ok := v.(data.Tuple); !ok || len(has) != 2 || has[0] != any(a.Major) || has[1] != any(a.Minor) {
			numbers := texts(v)
			return change.Failed(a.Name, kind+" "+a.Name+" exists and has a different major/minor "+numbers[0]+"/"+numbers[len(numbers)-1]+". Refusing to continue"), nil
		}
	}
	v, err := m.call(ctx, "file.check_perms", nil, a.Name, nil, a.User, a.Group, a.Mode)
	if err != nil {
		return nil, err
	}
	ret, ok := firstOf(v).(*data.Map)
	if !ok {
		return nil, loader.Execution("file.check_perms returned no result: %s", data.Str(v))
	}
	if changes, _ := ret.Value("changes").(*data.Map); changes.Len() == 0 {
		ret.Set("comment", kind+" "+a.Name+" is in the correct state")
	}
	return ret, nil
}

func firstOf(v any) any {
	if list, ok := v.([]any); ok && len(list) > 0 {
		return list[0]
	}
	return nil
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

// shortcut is about links of Windows, which other systems do not have: there it fails. It is not made on Windows yet, either.
//
//	C:\Users\Public\Desktop\notes.lnk:
//	  file.shortcut:
//	    - target: C:\notes.txt
func (m *module) shortcut(_ context.Context, a shortcutArgs) (any, error) {
	if runtime.GOOS == "windows" {
		return change.Failed(a.Name, "Shortcuts are not made by this minion"), nil
	}
	return change.Failed(a.Name, "Shortcuts are only supported on Windows"), nil
}

type modBeaconArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// modBeacon has a beacon watch what file.managed or file.directory keeps, where their argument beacon asks for it.
//
//	/etc/motd:
//	  file.managed:
//	    - contents: Be nice.
//	    - beacon: True
func (m *module) modBeacon(ctx context.Context, a modBeaconArgs) (any, error) {
	fun := a.Kwargs.Value("sfun")
	switch {
	case fun != "managed" && fun != "directory":
		return change.Failed(a.Name, "file."+data.Str(fun)+" does not work with the beacon state function"), nil
	case !data.Truth(a.Kwargs.Value("beacon")):
		return change.Done(a.Name, "Not adding beacon."), nil
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
	states := m.env.Shelf("states")
	if states == nil {
		return nil, loader.Execution("watch %s by a beacon: there are no states here", data.Str(a.Name))
	}
	return states.Invoke(ctx, "beacon.present", nil, data.NewMap("name", "beacon_inotify_"+data.Str(a.Name), "files", data.NewMap(a.Name, watch),
		"interval", or("interval", int64(60)), "coalesce", or("coalesce", false), "beacon_module", "inotify"))
}
