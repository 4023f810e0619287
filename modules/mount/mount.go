//go:build unix

// Package mount is Salt's module mount: mounted file systems, the fstab and swap
// (salt/modules/mount.py).
//
// Mounted file systems are read from /proc. A change of the fstab leaves all other lines as they
// are.
//
// Differences from Salt: blanks in names are written to the fstab as \040, as fstab(5) requires,
// and programs get names as separate arguments, so that no character in them is special. AIX,
// Solaris and OpenBSD are not supported: filesystems returns nothing, and mount is the only util.
package mount

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: append(m.tables(),
		loader.F("active", m.active),
		loader.F("get_device_from_path", m.getDeviceFromPath),
		loader.F("get_mount_from_path", m.getMountFromPath),
		loader.F("is_fuse_exec", m.isFuseExec),
		loader.F("is_mounted", m.isMounted),
		loader.F("mount", m.mount),
		loader.F("remount", m.remount),
		loader.F("swapoff", m.swapoff),
		loader.F("swapon", m.swapon),
		loader.F("swaps", m.swaps),
		loader.F("umount", m.umount),
		loader.F("read_mount_cache", m.readMountCache),
		loader.F("write_mount_cache", m.writeMountCache),
		loader.F("delete_mount_cache", m.deleteMountCache),
	)}, nil
}

// tables returns the functions for files of file systems.
func (m *module) tables() []loader.Func {
	return []loader.Func{
		loader.F("fstab", m.fstab),
		loader.F("vfstab", m.vfstab),
		loader.F("rm_fstab", m.rmFstab),
		loader.F("rm_vfstab", m.rmVfstab),
		loader.F("set_fstab", m.setFstab),
		loader.F("set_vfstab", m.setVfstab),
		loader.F("automaster", m.automaster),
		loader.F("rm_automaster", m.rmAutomaster),
		loader.F("set_automaster", m.setAutomaster),
		loader.F("filesystems", m.filesystems),
		loader.F("rm_filesystems", m.rmFilesystems),
		loader.F("set_filesystems", m.setFilesystems),
	}
}

func (m *module) at(path string) string { return filepath.Join("/", m.env.Root, path) }

// mac reports whether the system is macOS.
func (m *module) mac() bool {
	os := m.env.GrainsNow().Text("os")
	return os == "MacOS" || os == "Darwin"
}

type activeArgs struct {
	Extended bool `default:"False"`
}

// active returns the mounted file systems by directory: device, type and options.
//
// extended
//
//	True: return more details, as far as the kernel provides them.
//
// CLI Example:
//
//	salt '*' mount.active
func (m *module) active(ctx context.Context, a activeArgs) (any, error) {
	return m.mounts(ctx, a.Extended)
}

func (m *module) mounts(ctx context.Context, extended bool) (*data.Map, error) {
	if m.mac() {
		return m.macMounts(ctx)
	}
	listed, err := m.listed(ctx)
	if err != nil {
		return nil, err
	}
	if extended {
		if src, err := os.ReadFile(m.at("/proc/self/mountinfo")); err == nil {
			return m.named(ctx, parseMountinfo(string(src), listed, m.blkid(ctx)))
		}
	}
	const file = "/proc/self/mounts"
	src, err := os.ReadFile(m.at(file))
	if err != nil {
		return nil, loader.Execution("File not readable %s", file)
	}
	return m.named(ctx, parseMounts(string(src), listed))
}

// listed returns the device of each directory from the output of the program mount.
func (m *module) listed(ctx context.Context) (map[string]string, error) {
	out, err := calls.RunStdout(ctx, m.env, calls.Run{Argv: []string{"mount", "-l"}})
	return parseList(out), err
}

// parseList parses the output of mount: the device, a word, the directory, and more.
func parseList(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if words := strings.Fields(line); len(words) >= 3 {
			found[words[2]] = words[0]
		}
	}
	return found
}

// orNone returns the value of a key, or None if there is none.
func orNone(m map[string]string, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return nil
}

// parseMounts parses /proc/self/mounts.
func parseMounts(text string, listed map[string]string) *data.Map {
	found := &data.Map{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 4 {
			continue
		}
		found.Set(words[1], data.NewMap("device", words[0], "alt_device", orNone(listed, words[1]),
			"fstype", words[2], "opts", data.Values(strings.Split(words[3], ","))))
	}
	return found
}

// parseMountinfo parses /proc/self/mountinfo, whose fields are described in proc(5). known has UUID
// and LABEL of devices.
func parseMountinfo(text string, listed map[string]string, known *data.Map) *data.Map {
	found := &data.Map{}
	for line := range strings.Lines(text) {
		front, back, ok := strings.Cut(line, " - ")
		words, more := strings.Fields(front), strings.Fields(back)
		if !ok || len(words) < 6 || len(more) < 3 {
			continue
		}
		major, minor, _ := strings.Cut(words[2], ":")
		device, _ := known.Value(more[1]).(*data.Map)
		uuid := device.Value("UUID")
		if text, ok := uuid.(string); ok {
			uuid = strings.ToLower(text)
		}
		found.Set(words[4], data.NewMap("mountid", words[0], "parentid", words[1], "major", major,
			"minor", minor, "root", words[3], "opts", data.Values(strings.Split(words[5], ",")),
			"fstype", more[0], "device", strings.ReplaceAll(more[1], `\040`, `\ `),
			"alt_device", orNone(listed, words[4]), "superopts",
			data.Values(strings.Split(more[2], ",")), "device_uuid", uuid, "device_label",
			device.Value("LABEL")))
	}
	return found
}

// blkid returns the attributes of devices by name, or nothing if blkid fails. It runs blkid once in
// a job.
func (m *module) blkid(ctx context.Context) *data.Map {
	const key = "disk.blkid"
	job := loader.ContextOf(ctx)
	if v, ok := job.Get(key); ok {
		known, _ := v.(*data.Map)
		return known
	}
	if process.Find("blkid") == "" {
		return nil
	}
	run := calls.Run{Argv: []string{"blkid", "-o", "export"}, IgnoreRetcode: true, Log: "quiet"}
	ran, err := calls.RunAll(ctx, m.env, run)
	if err != nil {
		m.env.Log.Debugf("Unable to get UUIDs and labels of devices: %v", err)
		return nil
	}
	known := parseBlkid(ran.Stdout)
	job.Set(key, known)
	return known
}

// parseBlkid parses the output of blkid -o export: lines KEY=value, with an empty line between
// devices.
func parseBlkid(text string) *data.Map {
	known, device := &data.Map{}, &data.Map{}
	for line := range strings.SplitSeq(text, "\n") {
		key, value, ok := strings.Cut(line, "=")
		switch {
		case !ok:
			device = &data.Map{}
		case key == "DEVNAME":
			device = &data.Map{}
			known.Set(value, device)
		default:
			device.Set(key, value)
		}
	}
	return known
}

// named replaces the names of users and groups in the options of all mounts by their IDs.
func (m *module) named(ctx context.Context, mounts *data.Map) (*data.Map, error) {
	for _, v := range mounts.All() {
		for _, key := range []string{"opts", "superopts"} {
			opts, _ := v.(*data.Map).Value(key).([]any)
			for i, opt := range opts {
				named, err := m.numbered(ctx, opt.(string))
				if err != nil {
					return nil, err
				}
				opts[i] = named
			}
		}
	}
	return mounts, nil
}

var digits = regexp.MustCompile(`^[0-9]+`)

// numbered returns an option with the ID of the user or group that it names.
func (m *module) numbered(ctx context.Context, opt string) (string, error) {
	key, value, ok := strings.Cut(opt, "=")
	fun := map[string]string{"uid": "user.info", "gid": "group.info"}[key]
	if ok && fun != "" && !digits.MatchString(value) && m.env.Functions.Has(fun) {
		number, known, err := calls.NumberOf(ctx, m.env, key, value)
		if err != nil {
			return "", err
		}
		if known {
			value = strconv.FormatInt(number, 10)
		}
		opt = key + "=" + value
	}
	return strings.ReplaceAll(opt, `\040`, `\ `), nil
}

var parens = regexp.MustCompile(`\((.*?)\)`)

// macMounts returns the mounted file systems on macOS.
func (m *module) macMounts(ctx context.Context) (*data.Map, error) {
	out, err := calls.RunStdout(ctx, m.env, calls.Run{Line: "mount", Shell: calls.CmdDecides})
	found := &data.Map{}
	for line := range strings.SplitSeq(out, "\n") {
		words, match := strings.Fields(line), parens.FindStringSubmatch(line)
		if len(words) < 3 || match == nil {
			continue
		}
		opts := strings.Split(match[1], ", ")
		found.Set(words[2], data.NewMap("device", words[0], "fstype", opts[0],
			"opts", data.Values(opts[1:])))
	}
	return found, err
}

type nameArgs struct{ Name string }

// isMounted returns whether something is mounted at a directory.
//
// CLI Example:
//
//	salt '*' mount.is_mounted /mnt/share
func (m *module) isMounted(ctx context.Context, a nameArgs) (any, error) {
	mounts, err := m.mounts(ctx, false)
	return mounts.Has(a.Name), err
}

type pathArgs struct{ Path string }

// getMountFromPath returns the mount point of the file system that contains a path.
//
// CLI Example:
//
//	salt '*' mount.get_mount_from_path /opt/some/nested/path
func (m *module) getMountFromPath(ctx context.Context, a pathArgs) (any, error) {
	mounts, err := m.mounts(ctx, false)
	return m.mountOf(mounts, a.Path), err
}

func (m *module) mountOf(mounts *data.Map, path string) string {
	path, _ = filepath.Abs(path)
	if real, err := filepath.EvalSymlinks(m.at(path)); err == nil && m.at("") == "/" {
		path = real
	}
	for ; path != "/"; path = filepath.Dir(path) {
		if mounts.Has(strings.ReplaceAll(path, " ", `\040`)) {
			break
		}
	}
	return path
}

// getDeviceFromPath returns the device of the file system that contains a path.
//
// CLI Example:
//
//	salt '*' mount.get_device_from_path /
func (m *module) getDeviceFromPath(ctx context.Context, a pathArgs) (any, error) {
	mounts, err := m.mounts(ctx, false)
	if err != nil {
		return nil, err
	}
	at, _ := mounts.Value(strings.ReplaceAll(m.mountOf(mounts, a.Path), " ", `\040`)).(*data.Map)
	return at.Value("device"), nil
}
