package mount

import (
	"context"
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
func (m *module) unmounted(ctx context.Context, a unmountedArgs) (any, error) {
	r := newReport(a.Name)
	if a.Name == "" {
		r.says(false, "Must provide name to mount.unmounted")
		return r.ret(), nil
	}
	active, err := m.active(ctx)
	if err != nil {
		return nil, err
	}
	done := false
	if active.Has(shown(a.Name)) {
		done, err = m.umount(ctx, r, a)
	} else {
		r.comment = "Target was already unmounted"
	}
	if err == nil && !done && a.Persist {
		err = m.purge(ctx, r, a)
	}
	if err != nil {
		return nil, err
	}
	return r.ret(), nil
}

func (m *module) umount(ctx context.Context, r *report, a unmountedArgs) (done bool, err error) {
	if change.Test(ctx) {
		return r.says(nil, "Mount point "+a.Name+" is mounted but should not be"), nil
	}
	said, err := m.env.Call(ctx, "mount.umount", []any{a.Name}, data.NewMap("user", a.User))
	if err != nil {
		return false, err
	}
	if text, failed := said.(string); failed {
		r.says(false, text)
		return false, nil
	}
	active, err := m.active(ctx)
	if err != nil {
		return false, err
	}
	if active.Has(shown(a.Name)) {
		r.says(false, "Something else is still mounted at "+a.Name)
		return true, nil
	}
	r.comment = "Target was successfully unmounted"
	r.changes.Set("umount", true)
	_, err = m.env.Call(ctx, "mount.delete_mount_cache", []any{a.Name}, nil)
	return false, err
}

// purge takes the directory's line out of the fstab.
func (m *module) purge(ctx context.Context, r *report, a unmountedArgs) error {
	table, err := m.table(ctx, a.Config)
	if err != nil {
		return err
	}
	line, _ := table.Value(shown(a.Name)).(*data.Map)
	switch {
	case line == nil:
		r.comment += ". fstab entry not found"
		return nil
	case data.Truth(a.Device) && line.Text("device") != shown(data.Str(a.Device)):
		r.comment += ". fstab entry for device " + data.Str(a.Device) + " not found"
		return nil
	case change.Test(ctx):
		r.says(nil, "Mount point "+a.Name+" is unmounted but needs to be purged from "+m.config(a.Config)+" to be made persistent")
		return nil
	}
	ok, err := m.remove(ctx, a.Name, a.Device, a.Config)
	if err != nil {
		return err
	}
	if !ok {
		r.says(false, r.comment+". Failed to persist purge")
		return nil
	}
	r.comment += ". Removed target from fstab"
	r.changes.Set("persist", "purged")
	return nil
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
func (m *module) swap(ctx context.Context, a swapArgs) (any, error) {
	r := newReport(a.Name)
	device, err := m.swapDevice(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	on, err := m.swaps(ctx)
	switch {
	case err != nil:
	case on.Has(device):
		r.comment = "Swap " + a.Name + " already active"
	case change.Test(ctx):
		r.says(nil, "Swap "+a.Name+" is set to be activated")
	default:
		on, err = m.swapon(ctx, r, device)
	}
	if err == nil && a.Persist && r.result != false {
		err = m.persistSwap(ctx, r, a, on)
	}
	if err != nil {
		return nil, err
	}
	return r.ret(), nil
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

func (m *module) swaps(ctx context.Context) (*data.Map, error) {
	v, err := m.env.Call(ctx, "mount.swaps", nil, nil)
	on, _ := v.(*data.Map)
	return on, err
}

func (m *module) swapon(ctx context.Context, r *report, device string) (*data.Map, error) {
	if _, err := m.env.Call(ctx, "mount.swapon", []any{device}, nil); err != nil {
		return nil, err
	}
	on, err := m.swaps(ctx)
	if stats, ok := on.Value(device).(*data.Map); ok {
		r.comment = "Swap " + r.name + " activated"
		r.changes = stats.Clone()
	} else {
		r.says(false, "Swap "+r.name+" failed to activate")
	}
	return on, err
}

// persistSwap has swap stand in the fstab.
func (m *module) persistSwap(ctx context.Context, r *report, a swapArgs, on *data.Map) error {
	table, err := m.table(ctx, a.Config)
	if err != nil {
		return err
	}
	if change.Test(ctx) {
		if stands(table, a.Name) {
			return nil
		}
		if r.result = nil; on.Has(a.Name) {
			r.comment = "Swap " + a.Name + " is set to be added to the fstab and to be activated"
		}
		return nil
	}
	if none, _ := table.Value("none").(*data.Map); none.Text("device") == a.Name && none.Text("fstype") != "swap" {
		return nil
	}
	if stands(table, a.Name) { // whatever its options are
		return nil
	}
	did, err := m.set(ctx, entry{"none", a.Name, "swap", []any{"defaults"}, int64(0), int64(0), a.Config, "auto", false}, false)
	switch did {
	case "new":
		r.changes.Set("persist", "new")
		r.comment += ". Added new entry to the fstab."
	case "change":
		r.changes.Set("persist", "update")
		r.comment += ". Updated the entry in the fstab."
	}
	return err
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
