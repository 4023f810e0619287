package mount

import (
	"context"
	"errors"
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
func (m *module) fstabPresent(ctx context.Context, a presentArgs) (change.Result, error) {
	if a.FsMntops == "defaults" && m.mac() {
		a.FsMntops = "noowners"
	}
	folder, config := trimmed(a.FsFile), m.config(a.Config)
	spec, err := m.spec(ctx, a.Name, a.MountBy)
	if err != nil {
		return change.Result{}, err
	}
	if spec == "" {
		text := "Device " + a.Name + " cannot be converted to " + data.Str(a.MountBy)
		return change.Refuse(a.Name, []any{text})
	}
	e := entry{folder, spec, a.FsVfstype, a.FsMntops, a.FsFreq, a.FsPassno, config, a.MatchOn, a.NotChange}
	set := func(ctx context.Context, test bool, word string) (string, error) {
		did, err := m.set(ctx, e, test)
		if err == nil && did != "present" && did != "new" && did != "change" {
			err = errors.New(folder + " entry cannot be " + word + " in " + config + ": " + did + ".")
		}
		return did, err
	}
	return change.Thing[*line]{
		Name: a.Name,
		Look: func(ctx context.Context) (*line, error) {
			word := "changed"
			if change.Test(ctx) {
				word = "created"
			}
			did, err := set(ctx, true, word)
			return &line{would: did}, err
		},
		Wants: func(l *line) *data.Map {
			return change.When(l.would != "present", data.NewMap("persist", l.would))
		},
		Apply: func(ctx context.Context, l *line) (err error) {
			if l.did, err = set(ctx, false, "changed"); err != nil || l.did != "new" || !a.Mount {
				return err
			}
			return m.mountNew(ctx, folder)
		},
		Changed: func(_, l *line) *data.Map {
			return change.When(l.did == "new" || l.did == "change", data.NewMap("persist", l.did))
		},
		Say: func(o change.Outcome[*line]) any {
			return data.Values(a.say(o, folder, config))
		},
		Silent: true,
		Trust:  true, // the fields by which a line is known may not be those that were set
	}.Ensure(ctx)
}

// A line says what becomes of a line of the fstab, and what became of it: present, new or change.
type line struct{ would, did string }

// mountNew mounts what is new in the fstab.
func (m *module) mountNew(ctx context.Context, folder string) error {
	out, err := change.Ask[any](ctx, m.env, "mount.mount", []any{folder}, nil)
	text, failed := out.(string)
	if _, why, ok := strings.Cut(text, ":"); ok {
		text = why
	}
	if failed {
		return errors.New(text)
	}
	return err
}

// say returns the lines of the comment.
func (a presentArgs) say(o change.Outcome[*line], folder, config string) []string {
	entry, l := folder+" entry ", o.Before
	added, onto := entry+"added in "+config+".", a.Name+" on "+folder
	switch {
	case o.Err != nil && l.did == "new":
		return []string{added, "Error while mounting " + o.Err.Error()}
	case o.Err != nil:
		return []string{o.Err.Error()}
	case l.would == "present" && o.Test:
		return []string{entry + "is already in " + config + "."}
	case l.would == "present" || l.did == "present":
		return []string{entry + "was already in " + config + "."}
	case l.did == "new" && a.Mount:
		return []string{added, "Mounted " + onto}
	case l.did == "new":
		return []string{added}
	case l.did == "change":
		return []string{entry + "updated in " + config + "."}
	case l.would == "new" && a.Mount:
		return []string{entry + "will be written in " + config + ".", "Will mount " + onto}
	case l.would == "new":
		return []string{entry + "will be written in " + config + "."}
	}
	return []string{entry + "will be updated in " + config + "."}
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
func (m *module) fstabAbsent(ctx context.Context, a absentArgs) (change.Result, error) {
	folder, config := trimmed(a.FsFile), m.config(a.Config)
	spec, err := m.spec(ctx, a.Name, a.MountBy)
	if err != nil {
		return change.Result{}, err
	}
	texts := map[change.Stage]string{
		change.StageSame:   "is already missing in",
		change.StageWould:  "will be removed from",
		change.StageDone:   "removed from",
		change.StageFailed: "failed when removing from",
	}
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			table, err := m.table(ctx, config)
			return table.Has(shown(folder)), err
		},
		Wants: func(stands bool) *data.Map {
			return change.When(stands, data.NewMap("persist", "removed"))
		},
		Apply: func(ctx context.Context, _ bool) error {
			_, err := m.remove(ctx, folder, spec, config)
			return err
		},
		Say: func(o change.Outcome[bool]) any {
			return []any{folder + " entry " + texts[o.Stage] + " " + config + "."}
		},
		Silent: true,
	}.Ensure(ctx)
}
