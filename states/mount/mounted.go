package mount

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

type mountedArgs struct {
	Name                       string
	Device                     string
	Fstype                     string
	Mkmnt                      any       `default:"False"`
	Opts                       any       `default:"'defaults'"`
	Dump                       any       `default:"0"`
	PassNum                    any       `default:"0"`
	Config                     string    `default:"'/etc/fstab'"`
	Persist                    bool      `default:"True"`
	Mount                      bool      `default:"True"`
	User                       any       `default:"None"`
	MatchOn                    any       `default:"'auto'"`
	DeviceNameRegex            any       `default:"None"`
	ExtraMountInvisibleOptions any       `default:"None"`
	ExtraMountInvisibleKeys    any       `default:"None"`
	ExtraMountIgnoreFsKeys     *data.Map `default:"None"`
	ExtraMountTranslateOptions *data.Map `default:"None"`
	HiddenOpts                 any       `default:"None"`
	BindMountCopyActiveOpts    bool      `default:"True"`
	Kwargs                     *data.Map `kwargs:"kwargs"`
}

// A wish is one call of mounted.
type wish struct {
	mountedArgs
	*report
	folder string // where it is to be mounted, without a slash at its end
	opts   []string
	real   string // directory without links
	active *data.Map
	noted  bool // the options are to be noted
}

// now returns what is mounted at the directory, nil where nothing is.
func (w *wish) now() *data.Map {
	at, _ := w.active.Value(shown(w.real)).(*data.Map)
	return at
}

// mounted has a device be mounted at a directory, now and at boot.
//
// device, fstype, opts
//
//	The device (also UUID= or LABEL=), the type of the file system and the options: a list, or a text with commas.
//
// mkmnt
//
//	True: make the directory where it is missing.
//
// dump, pass_num
//
//	The last fields of the fstab.
//
// persist, mount
//
//	False: do not keep it in the fstab; do not mount it now.
//
// config, match_on
//
//	The fstab, and the fields, one or a list, by which a line of it is known.
//
// user
//
//	Who mounts it.
//
// device_name_regex
//
//	Names of devices, one or a list of regular expressions, that may be mounted in place of the device.
//
// hidden_opts, extra_mount_invisible_options, extra_mount_invisible_keys, extra_mount_ignore_fs_keys, extra_mount_translate_options
//
//	Options that the kernel does not show, or shows otherwise, and that are no reason to mount anew.
//
// bind_mount_copy_active_opts
//
//	False: do not ask of a bind mount that it has the options of what it shows.
//
//	/mnt/sdb:
//	  mount.mounted:
//	    - device: /dev/sdb1
//	    - fstype: ext4
//	    - mkmnt: True
//	    - opts:
//	      - defaults
func (m *module) mounted(ctx context.Context, a mountedArgs) (any, error) {
	w := &wish{mountedArgs: a, report: newReport(a.Name), folder: trimmed(a.Name)}
	for _, need := range [][2]string{{"name", a.Name}, {"device", a.Device}, {"fstype", a.Fstype}} {
		if need[1] == "" {
			w.says(false, "Must provide "+need[0]+" to mount.mounted")
			return w.ret(), nil
		}
	}
	if a.Opts == "defaults" && m.mac() {
		w.Opts = "noowners"
	}
	w.opts, w.real = list(w.Opts), m.real(w.folder)
	for _, step := range []func(context.Context, *wish) (bool, error){m.settle, m.bring, m.persist} {
		if done, err := step(ctx, w); err != nil {
			return nil, err
		} else if done {
			break
		}
	}
	return w.ret(), nil
}

// settle looks at what is mounted at the directory: the options are made right, another device is unmounted.
func (m *module) settle(ctx context.Context, w *wish) (done bool, err error) {
	if w.active, err = m.active(ctx); err != nil {
		return false, err
	}
	if w.now() == nil || !w.Mount {
		return false, nil
	}
	if done, err := m.settleOptions(ctx, w); done || err != nil {
		return done, err
	}
	return m.settleDevice(ctx, w)
}

// devices returns the names that what is mounted at the directory goes by.
func (m *module) devices(now *data.Map) []string {
	device := now.Text("device")
	names := []string{device, m.real(device)}
	if !strings.HasPrefix(device, "/") {
		names = names[:1]
	}
	for _, key := range []string{"alt_device", "device_uuid", "device_label"} {
		if v := now.Value(key); data.Truth(v) && !slices.Contains(names, data.Str(v)) {
			names = append(names, data.Str(v))
		}
	}
	return names
}

// volume is the name of a logical volume that is not the one which the kernel tells.
var volume = regexp.MustCompile(`^/dev/([^/]+)/([^/]+)$`)

// fuse is a device with the program that mounts it before.
var fuse = regexp.MustCompile(`^\w+#(.+)`)

// wanted returns the names that the device may have once it is mounted.
func (m *module) wanted(ctx context.Context, w *wish) (names []string, failure string, err error) {
	upper := strings.ToUpper(w.Device)
	_, value, _ := strings.Cut(w.Device, "=")
	switch match := volume.FindStringSubmatch(w.Device); {
	case match != nil && m.exists(mapper(match)):
		return []string{mapper(match)}, "", nil
	case fuse.MatchString(w.Device):
		return fuse.FindStringSubmatch(w.Device)[1:], "", nil
	case strings.HasPrefix(w.Device, "/") && slices.Contains(w.opts, "bind"):
		return []string{m.bound(w)}, "", nil
	case strings.HasPrefix(w.Device, "/"):
		return []string{m.real(w.Device)}, "", nil
	case strings.HasPrefix(upper, "UUID="):
		return []string{strings.ToLower(strings.Trim(value, `"`))}, "", nil
	case strings.HasPrefix(upper, "LABEL="):
		return m.labelled(ctx, strings.Trim(value, `"`))
	}
	return []string{w.Device}, "", nil
}

func mapper(match []string) string {
	double := func(s string) string { return strings.ReplaceAll(s, "-", "--") }
	return "/dev/mapper/" + double(match[1]) + "-" + double(match[2])
}

// bound returns the device that a bind mount shows.
func (m *module) bound(w *wish) string {
	if !strings.HasPrefix(w.now().Text("device"), "/") {
		return w.now().Text("device") // of a file system without a device its name says nothing
	}
	return w.shownBy(m).Text("device")
}

// shownBy returns the file system of the directory that a bind mount shows.
func (w *wish) shownBy(m *module) *data.Map {
	for path := m.real(w.Device); ; path = filepath.Dir(path) {
		if at, ok := w.active.Value(shown(path)).(*data.Map); ok {
			return at
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}

// labelled returns the devices with a label.
func (m *module) labelled(ctx context.Context, label string) (names []string, failure string, err error) {
	v, err := m.env.Call(ctx, "cmd.run_all", []any{[]any{"blkid", "-t", "LABEL=" + label}}, data.NewMap("python_shell", false, "ignore_retcode", true))
	if err != nil {
		return nil, "", err
	}
	all, _ := v.(*data.Map)
	if data.Truth(all.Value("retcode")) {
		return nil, "Unable to find device with label " + label + ".", nil
	}
	for line := range strings.Lines(all.Text("stdout")) {
		device, _, _ := strings.Cut(line, ":")
		names = append(names, device, m.real(device))
	}
	return names, "", nil
}

// settleDevice unmounts what is mounted at the directory where it is another device.
func (m *module) settleDevice(ctx context.Context, w *wish) (bool, error) {
	wanted, failure, err := m.wanted(ctx, w)
	if err != nil || failure != "" {
		return w.says(false, failure), err
	}
	now := m.devices(w.now())
	if slices.ContainsFunc(wanted, func(name string) bool { return slices.Contains(now, name) }) {
		w.comment = "Target was already mounted"
		return false, nil
	}
	if name, ok := ignored(list(w.DeviceNameRegex), now); ok {
		w.says(true, "An umount will not be forced because device matched device_name_regex: "+name)
		return false, nil
	}
	if change.Test(ctx) {
		w.says(nil, "An umount would have been forced because devices do not match.  Watched: "+w.Device)
		return false, nil
	}
	return m.replace(ctx, w, wanted[0], now)
}

// ignored returns the first name that one of the regular expressions fits at its beginning.
func ignored(patterns, names []string) (string, bool) {
	for _, pattern := range patterns {
		re, err := regexp.Compile(`^(?:` + pattern + `)`)
		if err != nil {
			continue
		}
		if i := slices.IndexFunc(names, re.MatchString); i >= 0 {
			return names[i], true
		}
	}
	return "", false
}

// replace unmounts another device.
func (m *module) replace(ctx context.Context, w *wish, wanted string, now []string) (bool, error) {
	text := "Forced unmount because devices don't match. Wanted: " + w.Device
	if wanted != w.Device {
		text += " (" + wanted + ")"
	}
	if _, err := m.env.Call(ctx, "mount.umount", []any{w.real}, data.NewMap("user", w.User)); err != nil {
		return false, err
	}
	active, err := m.active(ctx)
	if err != nil {
		return false, err
	}
	if w.active = active; w.now() != nil {
		return w.says(false, "Unable to unmount"), nil
	}
	w.changes.Set("umount", text+", current: "+strings.Join(now, ", "))
	w.noted = true
	return false, nil
}

// bring mounts the device where nothing is mounted.
func (m *module) bring(ctx context.Context, w *wish) (bool, error) {
	there := m.exists(w.folder)
	switch {
	case w.now() != nil:
		return false, nil
	case !w.Mount:
		return false, m.folderAlone(ctx, w, there)
	case change.Test(ctx) && there:
		return w.says(nil, w.folder+" would be mounted"), nil
	case change.Test(ctx) && data.Truth(w.Mkmnt):
		return w.says(nil, w.folder+" would be created and mounted"), nil
	case change.Test(ctx):
		return w.says(nil, w.folder+" does not exist and would not be created"), nil
	case !there && !data.Truth(w.Mkmnt):
		return w.says(false, "Mount directory is not present"), nil
	}
	said, err := m.env.Call(ctx, "mount.mount", []any{w.folder, w.Device, w.Mkmnt, w.Fstype, data.Values(w.opts)}, data.NewMap("user", w.User))
	if err != nil {
		return false, err
	}
	if text, failed := said.(string); failed {
		return w.says(false, text), nil
	}
	w.real = m.real(w.folder)
	if w.active, err = m.active(ctx); err != nil {
		return false, err
	}
	if w.now() == nil {
		return w.says(false, "Target is not mounted, although mount succeeded"), nil
	}
	w.noted, w.comment = true, "Target was successfully mounted"
	w.changes.Set("mount", true)
	return false, nil
}

// folderAlone makes the directory of what is not to be mounted now.
func (m *module) folderAlone(ctx context.Context, w *wish, there bool) error {
	test, make := change.Test(ctx), data.Truth(w.Mkmnt)
	switch {
	case there && test:
		w.comment = w.folder + " would not be mounted"
	case there:
		w.comment = w.folder + " not mounted"
	case test && make:
		w.says(nil, w.folder+" would be created, but not mounted")
	case test:
		w.says(nil, w.folder+" does not exist and would neither be created nor mounted")
	case make:
		w.comment = w.folder + " was created, not mounted"
		_, err := m.env.Call(ctx, "file.mkdir", []any{w.folder}, data.NewMap("user", w.User))
		return err
	default:
		w.comment = w.folder + " not present and not mounted"
	}
	return nil
}

// persist has the device stand in the fstab.
func (m *module) persist(ctx context.Context, w *wish) (bool, error) {
	if !w.Persist {
		return true, nil
	}
	did, err := m.set(ctx, entry{w.folder, w.Device, w.Fstype, data.Values(w.opts), w.Dump, w.PassNum, w.Config, w.MatchOn, false}, change.Test(ctx))
	if err != nil {
		return true, err
	}
	if change.Test(ctx) {
		w.wouldPersist(did)
		return true, nil
	}
	if w.noted {
		kwargs := data.NewMap("mkmnt", w.Mkmnt, "fstype", w.Fstype, "mount_opts", data.Values(w.opts))
		if _, err := m.env.Call(ctx, "mount.write_mount_cache", []any{w.real, w.Device}, kwargs); err != nil {
			return true, err
		}
	}
	switch did {
	case "present":
		w.comment += ". Entry already exists in the fstab."
	case "new":
		w.changes.Set("persist", "new")
		w.comment += ". Added new entry to the fstab."
	case "change":
		w.changes.Set("persist", "update")
		w.comment += ". Updated the entry in the fstab."
	}
	return true, nil
}

// wouldPersist says what test mode finds in the fstab.
func (w *wish) wouldPersist(did string) {
	var text string
	switch {
	case did == "present":
		return
	case did == "new" && w.Mount:
		text = w.folder + " is mounted, but needs to be written to the fstab in order to be made persistent."
	case did == "new":
		text = w.folder + " needs to be written to the fstab in order to be made persistent."
	case w.Mount:
		text = w.folder + " is mounted, but its fstab entry must be updated."
	default:
		text = "The " + w.folder + " fstab entry must be updated."
	}
	w.says(nil, w.comment+". "+text)
}
