package mount

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
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

// desired is one call of mounted with its desired outcome.
type desired struct {
	mountedArgs
	ret    change.Result // of the steps so far
	dir    string        // mount point, without a trailing slash
	opts   []string
	real   string // mount point with links resolved
	active *data.Map
	noted  bool // store the options in the mount cache
}

// take runs a step, a Thing that need not have a name, and merges its result into that of the
// state. It returns the verdict of the step.
func take[S any](ctx context.Context, w *desired, step change.Thing[S]) (change.Verdict, error) {
	step.Silent, step.Trust = true, true // the next step reads the mounts again if it needs them
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

// now returns what is mounted at the mount point, or nil.
func (w *desired) now() *data.Map {
	at, _ := w.active.Value(shown(w.real)).(*data.Map)
	return at
}

// mounted mounts a device at a directory, now and at boot.
//
// device, fstype, opts
//
//	The device (also UUID= or LABEL=), the type of the file system, and the options as a list or a
//	string with commas.
//
// mkmnt
//
//	True: create the mount point if it is missing.
//
// dump, pass_num
//
//	The last two fields of the fstab.
//
// persist, mount
//
//	False: do not add it to the fstab; do not mount it now.
//
// config, match_on
//
//	The path of the fstab, and the field or list of fields that identify a line.
//
// user
//
//	The user that mounts it.
//
// device_name_regex
//
//	A regular expression, or a list of them, for names of devices that are accepted instead of the
//	device.
//
// hidden_opts, extra_mount_invisible_options, extra_mount_invisible_keys,
// extra_mount_ignore_fs_keys, extra_mount_translate_options
//
//	Options that the kernel does not show, or shows differently, and that must not cause a
//	remount.
//
// bind_mount_copy_active_opts
//
//	False: do not require a bind mount to have the options of the underlying mount.
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
	w := &desired{mountedArgs: a, dir: trimmed(a.Name)}
	w.ret = change.Result{Name: a.Name, Verdict: change.Success, Comment: ""}
	if a.Opts == "defaults" && m.mac() {
		w.Opts = "noowners"
	}
	w.opts, w.real = list(w.Opts), m.real(w.dir)
	for _, step := range []func(context.Context, *desired) (bool, error){m.correct, m.bring, m.persist} {
		if done, err := step(ctx, w); err != nil {
			return w.ret, err
		} else if done {
			break
		}
	}
	return w.ret, nil
}

// correct checks what is mounted at the mount point. It corrects the options and unmounts another
// device.
func (m *module) correct(ctx context.Context, w *desired) (done bool, err error) {
	if w.active, err = m.active(ctx); err != nil {
		return false, err
	}
	if w.now() == nil || !w.Mount {
		return false, nil
	}
	if done, err := m.correctOptions(ctx, w); done || err != nil {
		return done, err
	}
	return m.correctDevice(ctx, w)
}

// devices returns the names of the device that is mounted at the mount point.
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

// volume matches the name of a logical volume, which the kernel shows under another name.
var volume = regexp.MustCompile(`^/dev/([^/]+)/([^/]+)$`)

// fuse matches a device that is prefixed with the program that mounts it.
var fuse = regexp.MustCompile(`^\w+#(.+)`)

// wanted returns the names that the device may have once it is mounted.
func (m *module) wanted(
	ctx context.Context, w *desired,
) (names []string, failure string, err error) {
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

// bound returns the device underlying a bind mount.
func (m *module) bound(w *desired) string {
	if !strings.HasPrefix(w.now().Text("device"), "/") {
		return w.now().Text("device") // the name of a file system without a device is meaningless
	}
	return w.shownBy(m).Text("device")
}

// shownBy returns the file system of the source directory of a bind mount.
func (w *desired) shownBy(m *module) *data.Map {
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
func (m *module) labelled(
	ctx context.Context, label string,
) (names []string, failure string, err error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{
		Argv: []string{"blkid", "-t", "LABEL=" + label}, IgnoreRetcode: true,
	})
	if err != nil {
		return nil, "", err
	}
	if ran.Retcode != 0 {
		return nil, "Unable to find device with label " + label + ".", nil
	}
	for line := range strings.Lines(ran.Stdout) {
		device, _, _ := strings.Cut(line, ":")
		names = append(names, device, m.real(device))
	}
	return names, "", nil
}

// correctDevice unmounts another device that is mounted at the mount point.
func (m *module) correctDevice(ctx context.Context, w *desired) (bool, error) {
	type look struct {
		wanted, now []string
		ignored     string // the name that matches device_name_regex
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
				//nolint:staticcheck // Salt's text
				err = errors.New("Unable to unmount")
			}
			w.noted = true
			return err
		},
		Texts: change.Texts{
			Would: "An umount would have been forced because devices do not match.  Watched: " +
				w.Device,
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

// same reports whether two lists have an element in common.
func same(some, others []string) bool {
	return slices.ContainsFunc(some,
		func(name string) bool { return slices.Contains(others, name) })
}

// ignored returns the first name that one of the regular expressions matches at its beginning.
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

// bring mounts the device if nothing is mounted.
func (m *module) bring(ctx context.Context, w *desired) (bool, error) {
	if w.now() != nil {
		return false, nil
	}
	there, mkmnt := m.exists(w.dir), data.Truth(w.Mkmnt)
	if !w.Mount {
		return false, m.makeMountPoint(ctx, w, there, mkmnt)
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
				//nolint:staticcheck // Salt's text
				return errors.New("Mount directory is not present")
			}
			args := []any{w.dir, w.Device, w.Mkmnt, w.Fstype, data.Values(w.opts)}
			answer, err := change.Ask[any](ctx, m.env, "mount.mount", args,
				data.NewMap("user", w.User))
			if text, failed := answer.(string); failed {
				err = errors.New(text)
			}
			if err != nil {
				return err
			}
			w.real = m.real(w.dir)
			if w.active, err = m.active(ctx); err == nil && w.now() == nil {
				//nolint:staticcheck // Salt's text
				err = errors.New("Target is not mounted, although mount succeeded")
			}
			w.noted = true
			return err
		},
		Texts: change.Texts{Would: w.dir + " " + would, Done: "Target was successfully mounted"},
	})
	return verdict != change.Success, err
}

// makeMountPoint creates the mount point if the device is not to be mounted now.
func (m *module) makeMountPoint(ctx context.Context, w *desired, there, mkmnt bool) error {
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
		Wants: func(there bool) *data.Map { return change.When(!there, data.NewMap("mkmnt", w.dir)) },
		Apply: func(ctx context.Context, _ bool) error {
			if !mkmnt {
				return nil
			}
			return change.Raise(calls.Mkdir(ctx, m.env, w.dir, calls.Owned{User: w.User}))
		},
		Changed: func(bool, bool) *data.Map { return nil },
		Say: func(o change.Outcome[bool]) any {
			if o.Test && o.Stage == change.StageSame {
				return w.dir + " would not be mounted"
			}
			return nil
		},
		Texts: change.Texts{
			Same:  w.dir + texts.Same,
			Would: w.dir + texts.Would,
			Done:  w.dir + texts.Done,
		},
	})
	return err
}

// persist adds the device to the fstab, and stores the current mount options in the cache.
func (m *module) persist(ctx context.Context, w *desired) (bool, error) {
	if !w.Persist {
		return true, nil
	}
	opts := data.Values(w.opts)
	e := entry{w.dir, w.Device, w.Fstype, opts, w.Dump, w.PassNum, w.Config, w.MatchOn, false}
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

// wouldPersist returns the comment of test mode about the fstab.
func (w *desired) wouldPersist(does string) string {
	switch {
	case does == "new" && w.Mount:
		return w.dir + " is mounted, but needs to be written to the fstab in order to be made " +
			"persistent."
	case does == "new":
		return w.dir + " needs to be written to the fstab in order to be made persistent."
	case w.Mount:
		return w.dir + " is mounted, but its fstab entry must be updated."
	}
	return "The " + w.dir + " fstab entry must be updated."
}
