// Package raid is Salt's module raid: RAID arrays of Linux, by the program mdadm
// (salt/modules/mdadm_raid.py).
//
// Differences from Salt: operands that mdadm would read as options are refused, and so are line ends;
// raid.stop returns True if mdadm succeeds, and Salt's if it fails; unreadable parts of mdadm's
// output are skipped; raid.destroy takes the name of an array literally when it edits the
// configuration, and leaves it if the array does not stop; a failing mdadm is an error of raid.list,
// raid.detail, raid.examine, raid.destroy and raid.save_config, except that a device without a superblock
// has an empty result.
package raid

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module raid. It is available on Linux with the program mdadm.
func Plugin() loader.Plugin { return loader.Plugin{Name: "raid", File: "mdadm_raid", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	switch {
	case env.GrainsNow().Text("kernel") != "Linux":
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The mdadm execution module cannot be loaded: only available on Linux.")
	case process.Find("mdadm") == "":
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The mdadm execution module cannot be loaded: the mdadm binary is not in the path.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("add", m.add),
		loader.F("assemble", m.assemble),
		loader.F("create", m.create),
		loader.F("destroy", m.destroy),
		loader.F("detail", m.detail),
		loader.F("examine", m.examine),
		loader.F("list", m.list).Def("list_"),
		loader.F("save_config", m.saveConfig),
		loader.F("stop", m.stop),
	}}, nil
}

type noArgs struct{}

type deviceArgs struct{ Device string }

func plain(operands ...string) error {
	if err := process.PlainOperands(operands...); err != nil {
		return loader.Execution("%w", err)
	}
	return nil
}

func (m *module) succeeds(ctx context.Context, argv ...string) (bool, error) {
	return calls.Succeeds(ctx, m.env, calls.Run{Argv: argv})
}

// output returns the output of mdadm. A failure is an error, except one with the accepted message.
func (m *module) output(ctx context.Context, accepted string, r calls.Run) (string, error) {
	ran, err := calls.RunAll(ctx, m.env, r)
	if err == nil && ran.Retcode != 0 && (accepted == "" || !strings.Contains(ran.Stderr, accepted)) {
		err = loader.Execution("%s: code %d: %s", strings.Join(r.Argv, " "), ran.Retcode, ran.Stderr)
	}
	return ran.Stdout, err
}

// scan returns what mdadm reports of all arrays.
func (m *module) scan(ctx context.Context) (string, error) {
	return m.output(ctx, "", calls.Run{Argv: []string{"mdadm", "--detail", "--scan"}})
}

// list returns the RAID arrays by their devices, each with what mdadm reports of it.
//
// CLI Example:
//
//	salt '*' raid.list
func (m *module) list(ctx context.Context, _ noArgs) (*data.Map, error) {
	out, err := m.scan(ctx)
	if err != nil {
		return nil, err
	}
	return scanned(out), nil
}

// scanned parses lines such as ARRAY /dev/md0 metadata=1.2 UUID=a:b.
func scanned(text string) *data.Map {
	all := &data.Map{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		array := data.NewMap("device", words[1])
		for _, word := range words[2:] {
			if key, value, ok := strings.Cut(word, "="); ok {
				value, _, _ = strings.Cut(value, "=")
				array.Set(strings.ToLower(key), value)
			}
		}
		all.Set(words[1], array)
	}
	return all
}

type detailArgs struct {
	Device string `default:"'/dev/md0'"`
}

// detail returns the state of a RAID array and of its members.
//
// CLI Example:
//
//	salt '*' raid.detail '/dev/md0'
func (m *module) detail(ctx context.Context, a detailArgs) (*data.Map, error) {
	if err := plain(a.Device); err != nil {
		return nil, err
	}
	if _, err := os.Stat(a.Device); err != nil {
		return nil, loader.Execution("Device %s doesn't exist!", a.Device)
	}
	out, err := m.report(ctx, a.Device)
	if err != nil {
		return nil, err
	}
	return detailed(out, a.Device), nil
}

// report returns what mdadm prints of an array.
func (m *module) report(ctx context.Context, device string) (string, error) {
	return m.output(ctx, "", calls.Run{Argv: []string{"mdadm", "--detail", device}})
}

// detailed parses what mdadm reports of a device.
func detailed(text, device string) *data.Map {
	members := &data.Map{}
	all := data.NewMap("members", members)
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, device), !strings.Contains(line, " "):
		case strings.Contains(line, ":"):
			if key, value, ok := strings.Cut(line, " : "); ok {
				value, _, _ = strings.Cut(value, " : ")
				key = strings.ReplaceAll(strings.TrimSpace(strings.ToLower(key)), " ", "_")
				all.Set(key, strings.TrimSpace(value))
			}
		case isMember(words):
			last := len(words) - 1
			members.Set(words[0], data.NewMap("device", words[last], "major", words[1], "minor", words[2],
				"number", words[0], "raiddevice", words[3], "state", strings.Join(words[4:last], " ")))
		}
	}
	return all
}

// isMember reports whether the words of a line describe a member of an array.
func isMember(words []string) bool {
	return len(words) > 4 && strings.HasPrefix(words[len(words)-1], "/dev/")
}

// memberDevices returns the devices of all members that mdadm reports. Those of an inactive array have no
// numbers.
func memberDevices(text string) []string {
	var devices []string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); isMember(words) {
			devices = append(devices, words[len(words)-1])
		}
	}
	return devices
}

// destroy stops a RAID array, and removes the superblocks of its members and its line in mdadm's
// configuration. It returns whether the array is gone, and False for a device that does not exist. An
// array that mdadm cannot read is left alone: that is an error, and so are superblocks that stay.
//
// CLI Example:
//
//	salt '*' raid.destroy /dev/md0
func (m *module) destroy(ctx context.Context, a deviceArgs) (any, error) {
	if err := plain(a.Device); err != nil {
		return nil, err
	}
	if _, err := os.Stat(a.Device); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	report, err := m.report(ctx, a.Device)
	if err != nil {
		return nil, err
	}
	devices := memberDevices(report)
	if len(devices) == 0 {
		return nil, loader.Execution("mdadm --detail %s: it reports no members", a.Device)
	}
	stopped, err := m.succeeds(ctx, "mdadm", "--stop", a.Device)
	if err != nil {
		return nil, err
	}
	if stopped {
		argv := append([]string{"mdadm", "--zero-superblock"}, devices...)
		if _, err := m.output(ctx, "", calls.Run{Argv: argv}); err != nil {
			return nil, err
		}
		_, err = m.env.Call(ctx, "file.replace",
			[]any{m.config(), "ARRAY " + regexp.QuoteMeta(a.Device) + " .*", ""}, nil)
		if err != nil && loader.KindOf(err) != loader.KindInvocation {
			return nil, err
		}
	}
	left, err := m.list(ctx, noArgs{})
	return !left.Has(a.Device), err
}

// config returns the path of mdadm's configuration.
func (m *module) config() string {
	if m.env.GrainsNow().Text("os_family") == "Debian" {
		return filepath.Join("/", m.env.Root, "etc/mdadm/mdadm.conf")
	}
	return filepath.Join("/", m.env.Root, "etc/mdadm.conf")
}

// stop stops all arrays that are not in use, and returns whether mdadm succeeded.
//
// CLI Example:
//
//	salt '*' raid.stop
func (m *module) stop(ctx context.Context, _ noArgs) (any, error) {
	return m.succeeds(ctx, "mdadm", "--stop", "--scan")
}

type createArgs struct {
	Name     string
	Level    any
	Devices  any
	Metadata any       `default:"'default'"`
	TestMode any       `name:"test_mode" default:"False"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// devicesOf returns the devices of a list, or of a text in which commas separate them.
func devicesOf(v any) []string {
	if text, ok := v.(string); ok {
		return strings.Split(text, ",")
	}
	return data.TextsOf(v)
}

// options returns further arguments as options of mdadm. The value True stands for an option without
// a value.
func options(kwargs *data.Map) ([]any, error) {
	var argv []any
	for key, v := range kwargs.All() {
		if name := data.Str(key); !strings.HasPrefix(name, "__") {
			argv = append(argv, "--"+name)
			if v != true {
				argv = append(argv, v)
			}
		}
	}
	for _, word := range argv {
		if strings.ContainsAny(data.Str(word), "\n\r\x00") {
			return nil, loader.Execution("%q has more than one line", data.Str(word))
		}
	}
	return argv, nil
}

// create creates a RAID array, and returns mdadm's output.
//
// devices
//
//	A list of devices; the word missing stands for one that is to be added later.
//
// test_mode
//
//	True: return the command, and run nothing.
//
// Further arguments become options of mdadm.
//
// CLI Example:
//
//	salt '*' raid.create /dev/md0 level=1 chunk=256 devices="['/dev/xvdd', '/dev/xvde']" test_mode=True
func (m *module) create(ctx context.Context, a createArgs) (any, error) {
	devices := devicesOf(a.Devices)
	if err := plain(append([]string{a.Name, data.Str(a.Level), data.Str(a.Metadata)},
		devices...)...); err != nil {
		return nil, err
	}
	more, err := options(a.Kwargs)
	if err != nil {
		return nil, err
	}
	members := int64(len(devices))
	if spare, ok := a.Kwargs.Get("spare-devices"); ok {
		n, err := loader.Int(data.Str(spare))
		if err != nil {
			return nil, err
		}
		members -= n
	}
	argv := append([]string{"mdadm", "-C", a.Name, "-R", "-v", "-l", data.Str(a.Level)}, data.Texts(more)...)
	argv = append(append(argv, "-e", data.Str(a.Metadata), "-n", data.Str(members)), devices...)
	switch a.TestMode {
	case true:
		return strings.Join(argv, " "), nil
	case false:
		return calls.RunOutput(ctx, m.env, calls.Run{Argv: argv})
	}
	return nil, nil
}

// saveConfig writes the current arrays into mdadm's configuration, and renews the initial RAM disk
// on the families Debian and RedHat.
//
// CLI Example:
//
//	salt '*' raid.save_config
func (m *module) saveConfig(ctx context.Context, _ noArgs) (any, error) {
	out, err := m.scan(ctx)
	if err != nil {
		return nil, err
	}
	lines := data.Values(configLines(out, m.env.GrainsNow().Text("os") == "Ubuntu"))
	for _, v := range lines {
		line := data.Str(v)
		_, err := m.env.Call(ctx, "file.replace", []any{m.config(),
			`^ARRAY\s+` + regexp.QuoteMeta(strings.Fields(line)[1]) + `\s+.*$`,
			strings.ReplaceAll(line, `\`, `\\`)}, data.NewMap("append_if_not_found", true))
		if loader.KindOf(err) == loader.KindInvocation { // there is no such file
			_, err = m.env.Call(ctx, "file.write", []any{m.config()}, data.NewMap("args", lines))
			if err == nil {
				break
			}
		}
		if err != nil {
			return nil, err
		}
	}
	switch m.env.GrainsNow().Text("os_family") {
	case "Debian":
		return calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"update-initramfs", "-u"}})
	case "RedHat":
		return calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"dracut", "--force"}})
	}
	return nil, nil
}

// configLines returns the lines of arrays for the configuration. Those of Ubuntu have no name and no
// metadata, which would rename the arrays at boot.
func configLines(text string, ubuntu bool) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if ubuntu {
			line = regexp.MustCompile(`(?i)\s(name|metadata)=\S+`).ReplaceAllString(line, "")
		}
		if len(strings.Fields(line)) > 1 {
			lines = append(lines, line)
		}
	}
	return lines
}

type assembleArgs struct {
	Name     string
	Devices  any
	TestMode any       `name:"test_mode" default:"False"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// assemble assembles a RAID array of its members, and returns mdadm's output.
//
// test_mode
//
//	True: return the command as a list, and run nothing.
//
// Further arguments become options of mdadm.
//
// CLI Example:
//
//	salt '*' raid.assemble /dev/md0 ['/dev/xvdd', '/dev/xvde']
func (m *module) assemble(ctx context.Context, a assembleArgs) (any, error) {
	devices := devicesOf(a.Devices)
	if err := plain(append([]string{a.Name}, devices...)...); err != nil {
		return nil, err
	}
	more, err := options(a.Kwargs)
	if err != nil {
		return nil, err
	}
	argv := append(append([]any{"mdadm", "-A", a.Name, "-v"}, more...), data.Values(devices)...)
	switch a.TestMode {
	case true:
		return argv, nil
	case false:
		return calls.RunOutput(ctx, m.env, calls.Run{Argv: data.Texts(argv)})
	}
	return nil, nil
}

type examineArgs struct {
	Device string
	Quiet  any `default:"False"`
}

// examine returns what the superblock of a member of a RAID array holds: nothing for a device that
// has none. A device that mdadm cannot read is an error.
//
// quiet
//
//	True: log no error for a device that belongs to no array.
//
// CLI Example:
//
//	salt '*' raid.examine '/dev/sda1'
func (m *module) examine(ctx context.Context, a examineArgs) (any, error) {
	if err := plain(a.Device); err != nil {
		return nil, err
	}
	out, err := m.output(ctx, "No md superblock detected",
		calls.Run{Argv: []string{"mdadm", "-Y", "-E", a.Device}, IgnoreRetcode: data.Truth(a.Quiet)})
	if err != nil {
		return nil, err
	}
	all := &data.Map{}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		all.Set(key, value)
	}
	return all, nil
}

type addArgs struct {
	Name   string
	Device string
}

// add adds a device to a RAID array, and returns whether mdadm succeeded.
//
// CLI Example:
//
//	salt '*' raid.add /dev/md0 /dev/sda1
func (m *module) add(ctx context.Context, a addArgs) (any, error) {
	if err := plain(a.Name, a.Device); err != nil {
		return nil, err
	}
	return m.succeeds(ctx, "mdadm", "--manage", a.Name, "--add", a.Device)
}
