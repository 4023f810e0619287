// Package partition is Salt's module partition: partitions and file systems of disks, by the programs
// parted, sfdisk, partprobe, lsblk and mkfs (salt/modules/parted_partition.py).
//
// partition.go checks arguments and runs the programs, list.go lists, change.go changes partitions.
//
// Differences from Salt: arguments that a program would read as options or as several lines are
// refused, and so are partition numbers that are not whole numbers; set_id takes the id as a number,
// too.
package partition

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module partition. It is available on hosts with parted, lsblk and partprobe.
func Plugin() loader.Plugin { return plugin(blockDevice) }

// plugin returns the module. exists tells whether a path is a block device.
func plugin(exists func(string) bool) loader.Plugin {
	create := func(env *loader.Env) (*loader.Module, error) { return newModule(&module{env, exists}) }
	return loader.Plugin{Name: "partition", File: "parted_partition", New: create}
}

type module struct {
	env    *loader.Env
	exists func(device string) bool
}

func newModule(m *module) (*loader.Module, error) {
	for _, program := range []string{"parted", "lsblk", "partprobe"} {
		if process.Find(program) == "" {
			return nil, errors.New("The parted execution module failed to load " + program +
				" binary is not in the path.")
		}
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("align_check", m.alignCheck),
		loader.F("check", m.check),
		loader.F("cp", m.cp),
		loader.F("disk_set", m.diskSet),
		loader.F("disk_toggle", m.diskToggle),
		loader.F("exists", m.existsDevice),
		loader.F("get_block_device", m.getBlockDevice),
		loader.F("get_id", m.getID),
		loader.F("list", m.list),
		loader.F("mkfs", m.mkfs),
		loader.F("mklabel", m.mklabel),
		loader.F("mkpart", m.mkpart),
		loader.F("mkpartfs", m.mkpart),
		loader.F("name", m.name),
		loader.F("probe", m.probe),
		loader.F("rescue", m.rescue),
		loader.F("resize", m.resize),
		loader.F("rm", m.rm),
		loader.F("set", m.set),
		loader.F("set_id", m.setID),
		loader.F("system_types", m.systemTypes),
		loader.F("toggle", m.toggle),
	}}, nil
}

// blockDevice reports whether a path is a block device.
func blockDevice(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&(os.ModeDevice|os.ModeCharDevice) == os.ModeDevice
}

// device refuses a path that is no block device.
func (m *module) device(path string) error {
	if !m.exists(path) {
		return loader.Execution("Invalid device passed to partition module.")
	}
	return nil
}

// number returns the text of a partition number. what names it in the error.
func number(v any, what string) (string, error) {
	n, err := loader.Int(v)
	text := data.Str(v)
	if _, isBool := v.(bool); err != nil || n < 0 || isBool || !digits.MatchString(text) {
		return "", loader.Execution("Invalid %s", what)
	}
	return text, nil
}

var (
	digits   = regexp.MustCompile(`^[0-9]+$`)
	boundary = regexp.MustCompile(`^[\d.]+(\D*)$`)
)

// units are the units of parted.
var units = []string{"s", "B", "kB", "MB", "MiB", "GB", "GiB", "TB", "TiB", "%", "cyl", "chs", "compact"}

// edge refuses a start or an end of a partition that is no number with a unit.
func edge(v any) error {
	text := data.Str(v)
	match := boundary.FindStringSubmatch(text)
	if match == nil || match[1] != "" && !slices.Contains(units, match[1]) {
		return loader.Execution(`Invalid partition boundary passed: "%s"`, text)
	}
	return nil
}

// oneOf refuses a word that is not in a list. what names it in the error.
func oneOf(word any, list []string, what string) error {
	if text, ok := word.(string); !ok || !slices.Contains(list, text) {
		return loader.Execution("Invalid %s", what)
	}
	return nil
}

// run runs a program with operands that are no options, and returns the lines that it prints.
func (m *module) run(ctx context.Context, argv []string, operands ...string) ([]any, error) {
	if err := process.PlainOperands(operands...); err != nil {
		return nil, loader.Execution("%w", err)
	}
	text, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: append(argv, operands...)})
	if err != nil {
		return nil, err
	}
	return data.Values(lines(text)), nil
}

// parted runs parted on a device.
func (m *module) parted(ctx context.Context, operands ...string) (any, error) {
	return m.run(ctx, []string{"parted", "-m", "-s"}, operands...)
}

// lines returns the lines of a text without their ends.
func lines(text string) []string {
	found := difflib.Lines(text)
	for i, line := range found {
		found[i] = difflib.Bare(line)
	}
	return found
}

type deviceArgs struct {
	Device string `default:"''"`
}

// existsDevice returns whether a block device exists.
//
// CLI Example:
//
//	salt '*' partition.exists /dev/sdb1
func (m *module) existsDevice(_ context.Context, a deviceArgs) (any, error) {
	return m.exists(a.Device), nil
}

type noArgs struct{}

// getBlockDevice returns the names of the disks in a list.
//
// CLI Example:
//
//	salt '*' partition.get_block_device
func (m *module) getBlockDevice(ctx context.Context, _ noArgs) (any, error) {
	return m.run(ctx, []string{"lsblk", "-n", "-io", "KNAME", "-d", "-e", "1,7,11", "-l"})
}

type probeArgs struct {
	Devices []any `args:"devices"`
}

// probe makes the kernel read the partitions of disks again, or of all disks.
//
// CLI Example:
//
//	salt '*' partition.probe
//	salt '*' partition.probe /dev/sda /dev/sdb
func (m *module) probe(ctx context.Context, a probeArgs) (any, error) {
	devices := data.Texts(a.Devices)
	for _, device := range devices {
		if err := m.device(device); err != nil {
			return nil, err
		}
	}
	return m.run(ctx, []string{"partprobe", "--"}, devices...)
}

// hasFlag checks a device and a flag.
func (m *module) hasFlag(device string, flag any, flags []string, fun string) error {
	if err := m.device(device); err != nil {
		return err
	}
	return oneOf(flag, flags, "flag passed to partition."+fun)
}

var onOff = []string{"on", "off"}

var diskFlags = []string{"cylinder_alignment", "pmbr_boot", "implicit_partition_table"}

var partitionFlags = strings.Fields("boot root swap hidden raid lvm lba hp-service palo prep msftres " +
	"bios_grub atvrecv diag legacy_boot msftdata irst esp type")
