package mount

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
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

// spec returns the device field for the fstab: the device as it is, or the property named by. It
// returns "" if that cannot be determined.
func (m *module) spec(ctx context.Context, device string, by any) (string, error) {
	want := data.Str(by)
	if !data.Truth(by) || want == "device" && strings.HasPrefix(device, "/") ||
		strings.HasPrefix(device, strings.ToUpper(want)+"=") {
		return device, nil
	}
	words := []string{"blkid", "-o", "export", device}
	if !strings.HasPrefix(device, "/") {
		words = []string{"blkid", "-o", "export", "-t", device}
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: words, IgnoreRetcode: true})
	if err != nil {
		return "", err
	}
	return property(ran.Stdout, want), nil
}

// property returns a property from the output of blkid -o export in fstab form, if the output has
// exactly one device.
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

// fstabPresent adds a file system to the fstab.
//
// fs_file, fs_vfstype, fs_mntops, fs_freq, fs_passno
//
//	The mount point, the type of the file system, the options, and the last two fields of the
//	fstab.
//
// mount_by
//
//	How the fstab identifies the device: device, label, uuid, partlabel or partuuid. Default: the
//	name as it is.
//
// config, match_on
//
//	The path of the fstab, and the field or list of fields that identify a line.
//
// mount
//
//	False: do not mount the file system when its line is added.
//
// not_change
//
//	True: do not change an existing line.
//
//	/dev/sdb1:
//	  mount.fstab_present:
//	    - fs_file: /mnt/sdb
//	    - fs_vfstype: ext4
func (m *module) fstabPresent(ctx context.Context, a presentArgs) (change.Result, error) {
	if a.FsMntops == "defaults" && m.mac() {
		a.FsMntops = "noowners"
	}
	dir, config := trimmed(a.FsFile), m.config(a.Config)
	spec, err := m.spec(ctx, a.Name, a.MountBy)
	if err != nil {
		return change.Result{}, err
	}
	if spec == "" {
		text := "Device " + a.Name + " cannot be converted to " + data.Str(a.MountBy)
		return change.Refuse(a.Name, []any{text})
	}
	e := entry{dir, spec, a.FsVfstype, a.FsMntops, a.FsFreq, a.FsPassno, config,
		a.MatchOn, a.NotChange}
	set := func(ctx context.Context, test bool, word string) (string, error) {
		did, err := m.set(ctx, e, test)
		if err == nil && did != "present" && did != "new" && did != "change" {
			err = errors.New(dir + " entry cannot be " + word + " in " + config + ": " + did + ".")
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
			return m.mountNew(ctx, dir)
		},
		Changed: func(_, l *line) *data.Map {
			return change.When(l.did == "new" || l.did == "change", data.NewMap("persist", l.did))
		},
		Say: func(o change.Outcome[*line]) any {
			return data.Values(a.comment(o, dir, config))
		},
		Silent: true,
		Trust:  true, // the fields that identify a line may differ from those that were set
	}.Ensure(ctx)
}

// A line describes the change to a line of the fstab, planned and done: present, new or change.
type line struct{ would, did string }

// mountNew mounts a file system that was added to the fstab.
func (m *module) mountNew(ctx context.Context, dir string) error {
	out, err := change.Ask[any](ctx, m.env, "mount.mount", []any{dir}, nil)
	text, failed := out.(string)
	if _, why, ok := strings.Cut(text, ":"); ok {
		text = why
	}
	if failed {
		return errors.New(text)
	}
	return err
}

// comment returns the lines of the comment.
func (a presentArgs) comment(o change.Outcome[*line], dir, config string) []string {
	entry, l := dir+" entry ", o.Before
	added, onto := entry+"added in "+config+".", a.Name+" on "+dir
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

// fstabAbsent removes a file system from the fstab.
//
// fs_file
//
//	The mount point.
//
// mount_by
//
//	How the fstab identifies the device: device, label, uuid, partlabel or partuuid. Default: the
//	name as it is.
//
// config
//
//	The path of the fstab.
//
//	/dev/sdb1:
//	  mount.fstab_absent:
//	    - fs_file: /mnt/sdb
func (m *module) fstabAbsent(ctx context.Context, a absentArgs) (change.Result, error) {
	dir, config := trimmed(a.FsFile), m.config(a.Config)
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
			return table.Has(shown(dir)), err
		},
		Wants: func(stands bool) *data.Map {
			return change.When(stands, data.NewMap("persist", "removed"))
		},
		Apply: func(ctx context.Context, _ bool) error {
			_, err := m.remove(ctx, dir, spec, config)
			return err
		},
		Say: func(o change.Outcome[bool]) any {
			return []any{dir + " entry " + texts[o.Stage] + " " + config + "."}
		},
		Silent: true,
	}.Ensure(ctx)
}
