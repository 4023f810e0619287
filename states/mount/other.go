package mount

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

type unmountedArgs struct {
	Name    string
	Device  any       `default:"None"`
	Config  string    `default:"'/etc/fstab'"`
	Persist bool      `default:"False"`
	User    any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// unmounted has nothing be mounted at a directory.
//
// device
//
//	The device that the fstab must have for the directory for its line to go.
//
// persist
//
//	True: it is also not mounted at boot.
//
// config, user
//
//	The fstab, and who unmounts it.
//
//	/mnt/sdb:
//	  mount.unmounted:
//	    - device: /dev/sdb1
//	    - persist: True
func (m *module) unmounted(ctx context.Context, a unmountedArgs) (change.Result, error) {
	if a.Name == "" {
		return change.Refuse(a.Name, "Must provide name to mount.unmounted")
	}
	const still = "Something else is still mounted at "
	ret, err := change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			active, err := m.active(ctx)
			return active.Has(shown(a.Name)), err
		},
		Wants: func(mounted bool) *data.Map { return change.When(mounted, data.NewMap("umount", true)) },
		Apply: func(ctx context.Context, _ bool) error {
			words := data.NewMap("user", a.User)
			said, err := change.Ask[any](ctx, m.env, "mount.umount", []any{a.Name}, words)
			if text, failed := said.(string); failed {
				err = errors.New(text)
			}
			return err
		},
		Texts: change.Texts{
			Same:   "Target was already unmounted",
			Would:  "Mount point " + a.Name + " is mounted but should not be",
			Done:   "Target was successfully unmounted",
			Failed: still + a.Name,
		},
		Silent: true,
	}.Ensure(ctx)
	if err == nil && ret.Verdict == change.Success && ret.Changes.Len() > 0 {
		_, err = m.env.Call(ctx, "mount.delete_mount_cache", []any{a.Name}, nil)
	}
	if err != nil || !a.Persist || ret.Verdict == change.Pending || ret.Comment == still+a.Name {
		return ret, err
	}
	purged, err := m.purge(ctx, a)
	if purged.Verdict != change.Pending {
		purged.Comment = data.Str(ret.Comment) + ". " + data.Str(purged.Comment)
	}
	ret.Comment = ""
	return change.Join(a.Name, ret, purged), err
}

// purge takes the directory's line out of the fstab.
func (m *module) purge(ctx context.Context, a unmountedArgs) (change.Result, error) {
	return change.Thing[*data.Map]{
		Look: func(ctx context.Context) (*data.Map, error) {
			table, err := m.table(ctx, a.Config)
			line, _ := table.Value(shown(a.Name)).(*data.Map)
			return line, err
		},
		Wants: func(line *data.Map) *data.Map {
			other := data.Truth(a.Device) && line.Text("device") != shown(data.Str(a.Device))
			return change.When(line != nil && !other, data.NewMap("persist", "purged"))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			ok, err := m.remove(ctx, a.Name, a.Device, a.Config)
			if err == nil && !ok {
				err = errors.New("Failed to persist purge")
			}
			return err
		},
		Texts: change.Texts{
			Would: "Mount point " + a.Name + " is unmounted but needs to be purged from " +
				m.config(a.Config) + " to be made persistent",
			Done: "Removed target from fstab",
		},
		Say: func(o change.Outcome[*data.Map]) any {
			switch {
			case o.Stage != change.StageSame:
				return nil
			case o.Before == nil:
				return "fstab entry not found"
			}
			return "fstab entry for device " + data.Str(a.Device) + " not found"
		},
		Silent: true,
	}.Ensure(ctx)
}

type swapArgs struct {
	Name    string
	Persist bool   `default:"True"`
	Config  string `default:"'/etc/fstab'"`
}

// swap has swap be in use, now and at boot.
//
// persist, config
//
//	False: not at boot. The fstab.
//
//	/root/swapfile:
//	  mount.swap
func (m *module) swap(ctx context.Context, a swapArgs) (change.Result, error) {
	device, err := m.swapDevice(ctx, a.Name)
	if err != nil {
		return change.Result{}, err
	}
	var on *data.Map // what is in use
	ret, err := change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (_ *data.Map, err error) {
			on, err = change.Ask[*data.Map](ctx, m.env, "mount.swaps", nil, nil)
			stats, _ := on.Value(device).(*data.Map)
			return stats, err
		},
		Wants: func(*data.Map) *data.Map {
			return change.When(!on.Has(device), data.NewMap("swap", device))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			return change.Do(ctx, m.env, "mount.swapon", []any{device}, nil)
		},
		Changed: func(_, after *data.Map) *data.Map { return after.Clone() },
		Texts: change.Texts{
			Same:   "Swap " + a.Name + " already active",
			Would:  "Swap " + a.Name + " is set to be activated",
			Done:   "Swap " + a.Name + " activated",
			Failed: "Swap " + a.Name + " failed to activate",
		},
		Silent: true,
	}.Ensure(ctx)
	if err != nil || !a.Persist || ret.Failed() {
		return ret, err
	}
	kept, err := m.persistSwap(ctx, a)
	switch {
	case kept.Verdict == change.Pending && on.Has(a.Name):
		ret.Comment = "Swap " + a.Name + " is set to be added to the fstab and to be activated"
	case kept.Verdict == change.Success:
		ret.Comment = data.Str(ret.Comment) + data.Str(kept.Comment)
	}
	kept.Comment = ""
	return change.Join(a.Name, ret, kept), err
}

// swapDevice returns the device that a link leads to.
func (m *module) swapDevice(ctx context.Context, name string) (string, error) {
	link, err := m.env.Call(ctx, "file.is_link", []any{name}, nil)
	if err != nil || !data.Truth(link) {
		return name, err
	}
	target, err := m.env.Call(ctx, "file.readlink", []any{name}, nil)
	if path := data.Str(target); strings.HasPrefix(path, "/") {
		return path, err
	}
	return "/dev/" + filepath.Base(data.Str(target)), err
}

// persistSwap has swap stand in the fstab, whatever its options are.
func (m *module) persistSwap(ctx context.Context, a swapArgs) (change.Result, error) {
	var did string
	texts := map[string]string{
		"new": ". Added new entry to the fstab.", "change": ". Updated the entry in the fstab.",
	}
	return change.Thing[bool]{
		Look: func(ctx context.Context) (bool, error) {
			table, err := m.table(ctx, a.Config)
			return stands(table, a.Name), err
		},
		Wants: func(stands bool) *data.Map { return change.When(!stands, data.NewMap("persist", "new")) },
		Apply: func(ctx context.Context, _ bool) (err error) {
			opts := []any{"defaults"}
			line := entry{"none", a.Name, "swap", opts, int64(0), int64(0), a.Config, "auto", false}
			did, err = m.set(ctx, line, false)
			return err
		},
		Changed: func(_, _ bool) *data.Map {
			if did == "change" {
				return data.NewMap("persist", "update")
			}
			return change.When(did == "new", data.NewMap("persist", "new"))
		},
		Say:    func(change.Outcome[bool]) any { return texts[did] },
		Silent: true,
		Trust:  true,
	}.Ensure(ctx)
}

// stands tells whether a device is in the fstab.
func stands(table *data.Map, name string) bool {
	for folder, line := range table.All() {
		if folder == name || line.(*data.Map).Text("device") == name {
			return true
		}
	}
	return false
}

type watchArgs struct {
	Name   string
	User   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// modWatch mounts a device anew with its options when something changed that its state watches.
//
//	/mnt/sdb:
//	  mount.mounted:
//	    - device: /dev/sdb1
//	    - fstype: ext4
//	    - watch:
//	      - file: /etc/credentials
func (m *module) modWatch(ctx context.Context, a watchArgs) (any, error) {
	if sfun := a.Kwargs.Value("sfun"); sfun != "mounted" {
		return change.Done(a.Name, "Watch not supported in "+data.Str(sfun)+" at this time"), nil
	}
	if change.Test(ctx) {
		return change.New(a.Name, nil, nil, a.Name+" would be remounted"), nil
	}
	opts := a.Kwargs.Value("opts")
	if opts == nil {
		opts = "defaults"
	}
	args := []any{a.Name, a.Kwargs.Value("device"), false, a.Kwargs.Value("fstype"), opts}
	said, err := m.env.Call(ctx, "mount.remount", args, data.NewMap("user", a.User))
	if err != nil {
		return nil, err
	}
	if said != true {
		return change.Failed(a.Name, a.Name+" failed to remount: "+data.Str(said)), nil
	}
	return change.Done(a.Name, a.Name+" remounted"), nil
}
