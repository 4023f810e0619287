//go:build unix

package mount

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
)

// A format describes the lines of a file of file systems.
type format struct {
	keys    []string // names of the fields, in their order
	least   int      // minimum number of fields
	missing string   // value of missing fields
	byName  []string // types that are matched by name
	write   func(entry map[string]string) string
}

func fstabFormat() format {
	return format{
		keys: []string{"device", "name", "fstype", "opts", "dump", "pass_num"}, least: 4,
		missing: "0",
		byName: []string{"none", "tmpfs", "sysfs", "proc", "fusectl", "debugfs", "securityfs",
			"devtmpfs", "cgroup", "nfs", "nfs4", "glusterfs", "btrfs"},
		write: func(e map[string]string) string {
			return e["device"] + "\t\t" + e["name"] + "\t" + e["fstype"] + "\t" + e["opts"] + "\t" +
				e["dump"] + " " + e["pass_num"] + "\n"
		},
	}
}

func vfstabFormat() format {
	return format{
		keys: []string{"device", "device_fsck", "name", "fstype", "pass_fsck", "mount_at_boot",
			"opts"}, least: 7,
		byName: []string{"devfs", "proc", "ctfs", "objfs", "sharefs", "fs", "tmpfs"},
		write: func(e map[string]string) string {
			pad := func(key string, width int) string {
				return e[key] + strings.Repeat(" ", max(0, width-len(e[key]))) + " "
			}
			return pad("device", 11) + pad("device_fsck", 3) + pad("name", 19) + pad("fstype",
				8) + pad("pass_fsck", 3) + pad("mount_at_boot", 6) + e["opts"] + "\n"
		},
	}
}

// entry parses a line; ok is false if it is not an entry, such as a comment.
func (f format) entry(line string) (e map[string]string, ok bool) {
	words := strings.Fields(line)
	if len(words) < f.least || len(words) > len(f.keys) || strings.HasPrefix(words[0], "#") {
		return nil, false
	}
	e = map[string]string{}
	for i, key := range f.keys {
		e[key] = f.missing
		if i < len(words) {
			e[key] = words[i]
		}
	}
	return e, true
}

// matches reports whether an entry has these values. The order of options does not matter.
func matches(e, criteria map[string]string) bool {
	for key, want := range criteria {
		got := e[key]
		if key == "opts" {
			got, want = ordered(got), ordered(want)
		}
		if got != want {
			return false
		}
	}
	return true
}

func ordered(opts string) string {
	list := strings.Split(opts, ",")
	slices.Sort(list)
	return strings.Join(list, ",")
}

// field encodes a value for the file: blanks become octal escapes.
func field(s string) string {
	return strings.NewReplacer(`\ `, `\040`, " ", `\040`, "\t", `\011`, "\n", `\012`).Replace(s)
}

type configArgs struct {
	Config string `default:"'/etc/fstab'"`
}

// fstab returns the entries of the fstab by directory.
//
// CLI Example:
//
//	salt '*' mount.fstab
func (m *module) fstab(_ context.Context, a configArgs) (any, error) { return m.table(a.Config) }

type vconfigArgs struct {
	Config string `default:"'/etc/vfstab'"`
}

// vfstab returns the entries of another file in fstab format by directory.
//
// CLI Example:
//
//	salt '*' mount.vfstab
func (m *module) vfstab(_ context.Context, a vconfigArgs) (any, error) { return m.table(a.Config) }

func (m *module) table(config string) (any, error) {
	src, err := os.ReadFile(m.at(config))
	if errors.Is(err, fs.ErrNotExist) {
		return data.NewMap(), nil
	}
	if err != nil {
		return nil, loader.OSError(err)
	}
	return parseFstab(string(src)), nil
}

// parseFstab parses an fstab. If several lines have the same directory, an underscore is appended
// to the later ones.
func parseFstab(text string) *data.Map {
	found := &data.Map{}
	for line := range strings.Lines(text) {
		e, ok := fstabFormat().entry(line)
		if !ok {
			continue
		}
		name := e["name"]
		for found.Has(name) {
			name += "_"
		}
		found.Set(name, data.NewMap("device", e["device"], "fstype", e["fstype"], "opts",
			data.Values(strings.Split(e["opts"], ",")), "dump", e["dump"], "pass", e["pass_num"]))
	}
	return found
}

type rmArgs struct {
	Name   string
	Device any
	Config string `default:"'/etc/fstab'"`
}

// rmFstab removes the line of a directory, and of a device if that is given, from the fstab.
//
// CLI Example:
//
//	salt '*' mount.rm_fstab /mnt/foo /dev/sdg
func (m *module) rmFstab(_ context.Context, a rmArgs) (any, error) {
	criteria := map[string]string{"name": field(a.Name)}
	if a.Device != nil {
		criteria["device"] = field(data.Str(a.Device))
	}
	old, err := os.ReadFile(m.at(a.Config))
	if err != nil {
		return nil, loader.Execution("Couldn't read from %s: %w", a.Config, loader.OSError(err))
	}
	var b strings.Builder
	for line := range strings.Lines(string(old)) {
		if e, ok := fstabFormat().entry(line); !ok || !matches(e, criteria) {
			b.WriteString(line)
		}
	}
	if b.Len() == len(old) {
		return true, nil
	}
	if err := m.write(a.Config, b.String()); err != nil {
		return nil, loader.Execution("Couldn't write to %s: %w", a.Config, loader.OSError(err))
	}
	return true, nil
}

type rmVfstabArgs struct {
	Name   string
	Device any
	Config string `default:"'/etc/vfstab'"`
}

// rmVfstab removes the line of a directory from another file in fstab format.
//
// CLI Example:
//
//	salt '*' mount.rm_vfstab /mnt/foo /device/c0t0d0p0
func (m *module) rmVfstab(ctx context.Context, a rmVfstabArgs) (any, error) {
	return m.rmFstab(ctx, rmArgs(a))
}

// write replaces the content of a file. It keeps the file's owners and mode, and follows a link.
func (m *module) write(config, text string) error {
	path := m.at(config)
	return atomicfile.Write(path, []byte(text),
		atomicfile.Options{Follow: true, Mode: 0o644, Keep: true, Sync: true})
}

type setArgs struct {
	Name      string
	Device    string
	Fstype    string
	Opts      any       `default:"'defaults'"`
	Dump      any       `default:"0"`
	PassNum   any       `default:"0"`
	Config    string    `default:"'/etc/fstab'"`
	Test      any       `default:"False"`
	MatchOn   any       `default:"'auto'"`
	NotChange any       `default:"False"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// setFstab adds or changes an entry in the fstab. It returns present, change or new.
//
// test
//
//	True: do not write the file.
//
// match_on
//
//	The fields, one or a list, that identify the line. Default: the name for file systems without a
//	device, else the device.
//
// not_change
//
//	True: leave an existing line as it is.
//
// CLI Example:
//
//	salt '*' mount.set_fstab /mnt/foo /dev/sdz1 ext4
func (m *module) setFstab(_ context.Context, a setArgs) (any, error) {
	entry := map[string]string{"name": field(a.Name), "device": field(a.Device), "fstype": a.Fstype,
		"opts": field(strings.Join(data.SplitTexts(a.Opts, ","), ",")),
		"dump": data.Str(a.Dump), "pass_num": data.Str(a.PassNum)}
	return m.set(fstabFormat(), entry, a)
}

type setVfstabArgs struct {
	Name, Device, Fstype string
	Opts                 any       `default:"'-'"`
	DeviceFsck           any       `default:"'-'"`
	PassFsck             any       `default:"'-'"`
	MountAtBoot          any       `default:"'yes'"`
	Config               string    `default:"'/etc/vfstab'"`
	Test                 any       `default:"False"`
	MatchOn              any       `default:"'auto'"`
	NotChange            any       `default:"False"`
	Kwargs               *data.Map `kwargs:"kwargs"`
}

// setVfstab adds or changes an entry in a file in Solaris format. It returns present, change or
// new.
//
// CLI Example:
//
//	salt '*' mount.set_vfstab /mnt/foo /device/c0t0d0p0 ufs
func (m *module) setVfstab(_ context.Context, a setVfstabArgs) (any, error) {
	boot := "no"
	if a.MountAtBoot == "yes" {
		boot = "yes"
	}
	entry := map[string]string{"name": a.Name, "device": a.Device, "fstype": a.Fstype,
		"opts":        strings.Join(data.SplitTexts(a.Opts, ","), ","),
		"device_fsck": data.Str(a.DeviceFsck), "pass_fsck": data.Str(a.PassFsck),
		"mount_at_boot": boot}
	return m.set(vfstabFormat(), entry,
		setArgs{Config: a.Config, Test: a.Test, MatchOn: a.MatchOn, NotChange: a.NotChange,
			Kwargs: a.Kwargs, Fstype: a.Fstype})
}

// set adds or changes an entry in a file.
func (m *module) set(f format, entry map[string]string, a setArgs) (any, error) {
	criteria, err := f.criteria(entry, a.MatchOn)
	if err != nil {
		return nil, err
	}
	old, err := os.ReadFile(m.at(a.Config))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, loader.Execution("Bad config file \"%s\"", a.Config)
	}
	if err != nil {
		return nil, loader.Execution("Couldn't read from %s: %w", a.Config, loader.OSError(err))
	}
	text, did := f.edited(string(old), entry, criteria, data.Truth(a.NotChange))
	if did == "present" || data.Truth(a.Test) || data.Truth(a.Kwargs.Value("test")) {
		return did, nil
	}
	if err := m.write(a.Config, text); err != nil {
		m.env.Log.Errorf("Unable to write %s: %v", a.Config, err)
		return nil, loader.Execution("File not writable %s", a.Config)
	}
	return did, nil
}

// criteria returns the fields of an entry that identify its line.
func (f format) criteria(entry map[string]string, matchOn any) (map[string]string, error) {
	var keys []string
	switch v := matchOn.(type) {
	case []any:
		keys = data.SplitTexts(v, ",")
	case string:
		keys = []string{v}
	default:
		return nil, loader.Execution("match_on must be a string or list of strings")
	}
	if matchOn == "auto" {
		keys = []string{"device"}
		if slices.Contains(f.byName, entry["fstype"]) {
			keys = []string{"name"}
		}
	}
	criteria := map[string]string{}
	for _, key := range keys {
		v, ok := entry[key]
		if !ok {
			return nil, loader.Execution("Unrecognized keys in match_on: \"%s\"",
				strings.Join(keys, ", "))
		}
		criteria[key] = v
	}
	return criteria, nil
}

// edited returns the file with the entry, and the action taken: present, change or new.
func (f format) edited(
	text string, entry, criteria map[string]string, notChange bool,
) (edited, did string) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		e, ok := f.entry(line)
		switch {
		case !ok || !matches(e, criteria):
		case matches(e, entry) || notChange:
			did = cmp.Or(did, "present")
		default:
			did = "change"
			line = f.write(entry)
		}
		b.WriteString(line)
	}
	if did == "" {
		if text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(f.write(entry))
		did = "new"
	}
	return b.String(), did
}
