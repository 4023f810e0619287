package mount

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
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

// unmounted unmounts a directory.
//
// device
//
//	The device that the line in the fstab must have to be removed.
//
// persist
//
//	True: also do not mount it at boot.
//
// config, user
//
//	The path of the fstab, and the user that unmounts it.
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
			answer, err := change.Ask[any](ctx, m.env, "mount.umount", []any{a.Name}, words)
			if text, failed := answer.(string); failed {
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

// purge removes the directory's line from the fstab.
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
				//nolint:staticcheck // Salt's text
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

// swap activates swap space, now and at boot.
//
// persist, config
//
//	False: not at boot. The path of the fstab.
//
//	/root/swapfile:
//	  mount.swap
func (m *module) swap(ctx context.Context, a swapArgs) (change.Result, error) {
	device, err := m.swapDevice(ctx, a.Name)
	if err != nil {
		return change.Result{}, err
	}
	var on *data.Map // active swap
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

// swapDevice returns the device that a link points to.
func (m *module) swapDevice(ctx context.Context, name string) (string, error) {
	link, err := calls.IsLink(ctx, m.env, name)
	if err != nil || !link {
		return name, err
	}
	target, err := calls.Readlink(ctx, m.env, name)
	if strings.HasPrefix(target, "/") {
		return target, err
	}
	return "/dev/" + filepath.Base(target), err
}

// persistSwap adds the swap space to the fstab. The options of an existing line do not matter.
func (m *module) persistSwap(ctx context.Context, a swapArgs) (change.Result, error) {
	var did string
	texts := map[string]string{
		"new": ". Added new entry to the fstab.", "change": ". Updated the entry in the fstab.",
	}
	return change.Thing[bool]{
		Look: func(ctx context.Context) (bool, error) {
			table, err := m.table(ctx, a.Config)
			return inTable(table, a.Name), err
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

// inTable reports whether a device is in the fstab.
func inTable(table *data.Map, name string) bool {
	for dir, line := range table.All() {
		if dir == name || line.(*data.Map).Text("device") == name {
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

// modWatch remounts a device with its options when a watched state changed something.
//
//	/mnt/sdb:
//	  mount.mounted:
//	    - device: /dev/sdb1
//	    - fstype: ext4
//	    - watch:
//	      - file: /etc/credentials
func (m *module) modWatch(ctx context.Context, a watchArgs) (any, error) {
	if sfun := a.Kwargs.Value("sfun"); sfun != "mounted" {
		return change.Unchanged(a.Name,
			"Watch not supported in "+data.Str(sfun)+" at this time"), nil
	}
	if change.Test(ctx) {
		return change.New(a.Name, nil, nil, a.Name+" would be remounted"), nil
	}
	opts := a.Kwargs.Value("opts")
	if opts == nil {
		opts = "defaults"
	}
	args := []any{a.Name, a.Kwargs.Value("device"), false, a.Kwargs.Value("fstype"), opts}
	answer, err := m.env.Call(ctx, "mount.remount", args, data.NewMap("user", a.User))
	if err != nil {
		return nil, err
	}
	if answer != true {
		return change.Failed(a.Name, a.Name+" failed to remount: "+data.Str(answer)), nil
	}
	return change.Unchanged(a.Name, a.Name+" remounted"), nil
}
