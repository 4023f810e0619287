package mount

import (
	"context"
	"errors"
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
	ret    change.Result // of the steps so far
	folder string        // where it is to be mounted, without a slash at its end
	opts   []string
	real   string // directory without links
	active *data.Map
	noted  bool // the options are to be noted
}

// take runs a step, a Thing that need not have a name, and adds its result to that of the state. It
// returns the verdict on the step.
func take[S any](ctx context.Context, w *wish, step change.Thing[S]) (change.Verdict, error) {
	step.Silent, step.Trust = true, true // what is mounted is read when the next step needs it
	part, err := step.Ensure(ctx)
	if err != nil {
		return part.Verdict, err
	}
	if part.Comment == "" {
		part.Comment = w.ret.Comment
	}
	comment := part.Comment
	w.ret = change.Join(w.Name, w.ret, part)
	w.ret.Comment = comment
	return part.Verdict, nil
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
func (m *module) mounted(ctx context.Context, a mountedArgs) (change.Result, error) {
	for _, need := range [][2]string{{"name", a.Name}, {"device", a.Device}, {"fstype", a.Fstype}} {
		if need[1] == "" {
			return change.Refuse(a.Name, "Must provide "+need[0]+" to mount.mounted")
		}
	}
	w := &wish{mountedArgs: a, folder: trimmed(a.Name)}
	w.ret = change.Result{Name: a.Name, Verdict: change.Success, Comment: ""}
	if a.Opts == "defaults" && m.mac() {
		w.Opts = "noowners"
	}
	w.opts, w.real = list(w.Opts), m.real(w.folder)
	for _, step := range []func(context.Context, *wish) (bool, error){m.settle, m.bring, m.persist} {
		if done, err := step(ctx, w); err != nil {
			return w.ret, err
		} else if done {
			break
		}
	}
	return w.ret, nil
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
	type look struct {
		wanted, now []string
		ignored     string // the name that device_name_regex fits
	}
	verdict, err := take(ctx, w, change.Thing[look]{
		Look: func(ctx context.Context) (l look, err error) {
			var failure string
			l.wanted, failure, err = m.wanted(ctx, w)
			if err == nil && failure != "" {
				return l, errors.New(failure)
			}
			l.now = m.devices(w.now())
			l.ignored, _ = ignored(list(w.DeviceNameRegex), l.now)
			return l, change.Raise(err)
		},
		Wants: func(l look) *data.Map {
			if same(l.wanted, l.now) {
				return nil
			}
			text := "Forced unmount because devices don't match. Wanted: " + w.Device
			if l.wanted[0] != w.Device {
				text += " (" + l.wanted[0] + ")"
			}
			text += ", current: " + strings.Join(l.now, ", ")
			return change.When(l.ignored == "", data.NewMap("umount", text))
		},
		Apply: func(ctx context.Context, _ look) (err error) {
			words := data.NewMap("user", w.User)
			if err = change.Do(ctx, m.env, "mount.umount", []any{w.real}, words); err != nil {
				return err
			}
			if w.active, err = m.active(ctx); err == nil && w.now() != nil {
				err = errors.New("Unable to unmount")
			}
			w.noted = true
			return err
		},
		Texts: change.Texts{
			Would: "An umount would have been forced because devices do not match.  Watched: " + w.Device,
		},
		Say: func(o change.Outcome[look]) any {
			switch {
			case o.Stage != change.StageSame:
				return nil
			case same(o.Before.wanted, o.Before.now):
				return "Target was already mounted"
			}
			return "An umount will not be forced because device matched device_name_regex: " +
				o.Before.ignored
		},
	})
	return verdict == change.Failure, err
}

// same reports whether two lists have a name in common.
func same(some, others []string) bool {
	return slices.ContainsFunc(some, func(name string) bool { return slices.Contains(others, name) })
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

// bring mounts the device where nothing is mounted.
func (m *module) bring(ctx context.Context, w *wish) (bool, error) {
	if w.now() != nil {
		return false, nil
	}
	there, mkmnt := m.exists(w.folder), data.Truth(w.Mkmnt)
	if !w.Mount {
		return false, m.folderAlone(ctx, w, there, mkmnt)
	}
	would := "would be mounted"
	switch {
	case !there && mkmnt:
		would = "would be created and mounted"
	case !there:
		would = "does not exist and would not be created"
	}
	verdict, err := take(ctx, w, change.Thing[bool]{
		Look:  func(context.Context) (bool, error) { return there, nil },
		Wants: func(bool) *data.Map { return data.NewMap("mount", true) },
		Apply: func(ctx context.Context, there bool) error {
			if !there && !mkmnt {
				return errors.New("Mount directory is not present")
			}
			args := []any{w.folder, w.Device, w.Mkmnt, w.Fstype, data.Values(w.opts)}
			said, err := change.Ask[any](ctx, m.env, "mount.mount", args, data.NewMap("user", w.User))
			if text, failed := said.(string); failed {
				err = errors.New(text)
			}
			if err != nil {
				return err
			}
			w.real = m.real(w.folder)
			if w.active, err = m.active(ctx); err == nil && w.now() == nil {
				err = errors.New("Target is not mounted, although mount succeeded")
			}
			w.noted = true
			return err
		},
		Texts: change.Texts{Would: w.folder + " " + would, Done: "Target was successfully mounted"},
	})
	return verdict != change.Success, err
}

// folderAlone makes the directory of what is not to be mounted now.
func (m *module) folderAlone(ctx context.Context, w *wish, there, mkmnt bool) error {
	texts := change.Texts{
		Same:  " not mounted",
		Would: " does not exist and would neither be created nor mounted",
		Done:  " not present and not mounted",
	}
	if mkmnt {
		texts.Would, texts.Done = " would be created, but not mounted", " was created, not mounted"
	}
	_, err := take(ctx, w, change.Thing[bool]{
		Look:  func(context.Context) (bool, error) { return there, nil },
		Wants: func(there bool) *data.Map { return change.When(!there, data.NewMap("mkmnt", w.folder)) },
		Apply: func(ctx context.Context, _ bool) error {
			if !mkmnt {
				return nil
			}
			return change.Do(ctx, m.env, "file.mkdir", []any{w.folder}, data.NewMap("user", w.User))
		},
		Changed: func(bool, bool) *data.Map { return nil },
		Say: func(o change.Outcome[bool]) any {
			if o.Test && o.Stage == change.StageSame {
				return w.folder + " would not be mounted"
			}
			return nil
		},
		Texts: change.Texts{
			Same:  w.folder + texts.Same,
			Would: w.folder + texts.Would,
			Done:  w.folder + texts.Done,
		},
	})
	return err
}

// persist has the device stand in the fstab, and the options noted with which it is mounted.
func (m *module) persist(ctx context.Context, w *wish) (bool, error) {
	if !w.Persist {
		return true, nil
	}
	opts := data.Values(w.opts)
	e := entry{w.folder, w.Device, w.Fstype, opts, w.Dump, w.PassNum, w.Config, w.MatchOn, false}
	before := data.Str(w.ret.Comment)
	_, err := take(ctx, w, change.Thing[*line]{
		Look: func(ctx context.Context) (*line, error) {
			would, err := m.set(ctx, e, true)
			return &line{would: would}, err
		},
		Wants: func(l *line) *data.Map {
			return change.When(l.would != "present", data.NewMap("persist", l.would))
		},
		Apply: func(ctx context.Context, l *line) (err error) {
			l.did, err = m.set(ctx, e, false)
			return err
		},
		Changed: func(_, l *line) *data.Map {
			if l.did == "change" {
				return data.NewMap("persist", "update")
			}
			return change.When(l.did == "new", data.NewMap("persist", l.did))
		},
		Say: func(o change.Outcome[*line]) any {
			switch {
			case o.Stage == change.StageWould:
				return before + ". " + w.wouldPersist(o.Before.would)
			case o.Test:
				return before
			case o.Stage == change.StageSame || o.Before.did == "present":
				return before + ". Entry already exists in the fstab."
			case o.Before.did == "new":
				return before + ". Added new entry to the fstab."
			case o.Before.did == "change":
				return before + ". Updated the entry in the fstab."
			}
			return before
		},
	})
	if err != nil || !w.noted || change.Test(ctx) {
		return true, err
	}
	kwargs := data.NewMap("mkmnt", w.Mkmnt, "fstype", w.Fstype, "mount_opts", opts)
	_, err = m.env.Call(ctx, "mount.write_mount_cache", []any{w.real, w.Device}, kwargs)
	return true, err
}

// wouldPersist says what test mode finds in the fstab.
func (w *wish) wouldPersist(does string) string {
	switch {
	case does == "new" && w.Mount:
		return w.folder + " is mounted, but needs to be written to the fstab in order to be made " +
			"persistent."
	case does == "new":
		return w.folder + " needs to be written to the fstab in order to be made persistent."
	case w.Mount:
		return w.folder + " is mounted, but its fstab entry must be updated."
	}
	return "The " + w.folder + " fstab entry must be updated."
}
