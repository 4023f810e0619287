package partition

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type listArgs struct {
	Device string
	Unit   any `default:"None"`
}

// list returns the disk as info, and its partitions by number as partitions.
//
// unit
//
//	The unit of positions and sizes, for example s, kB or MiB.
//
// CLI Example:
//
//	salt '*' partition.list /dev/sda
//	salt '*' partition.list /dev/sda unit=s
func (m *module) list(ctx context.Context, a listArgs) (any, error) {
	if err := m.device(a.Device); err != nil {
		return nil, err
	}
	if err := process.PlainOperands(a.Device); err != nil {
		return nil, loader.Execution("%w", err)
	}
	argv := []string{"parted", "-m", "-s", a.Device}
	unit := calls.Text(a.Unit)
	if unit != "" {
		if err := oneOf(a.Unit, units, "unit passed to partition.part_list"); err != nil {
			return nil, err
		}
		argv = append(argv, "unit", unit)
	}
	argv = append(argv, "print")
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv})
	// parted fails for a disk without a table of partitions, too, but describes the disk.
	if err == nil && ran.Retcode != 0 && strings.TrimSpace(ran.Stdout) == "" {
		err = loader.Execution("%s: code %d: %s", strings.Join(argv, " "), ran.Retcode,
			strings.TrimSpace(ran.Stderr))
	}
	if err != nil {
		return nil, err
	}
	return layout(ran.Stdout, unit)
}

var diskFields = []string{"disk", "size", "interface", "logical sector", "physical sector", "partition table",
	"model", "disk flags"}

// layout reads the output of parted -m print.
func layout(text, unit string) (*data.Map, error) {
	unreadable := loader.Execution("Problem encountered while parsing output from parted")
	info, partitions := &data.Map{}, &data.Map{}
	for _, line := range lines(text) {
		if slices.Contains([]string{"BYT;", "CHS;", "CYL;"}, line) {
			continue
		}
		columns := strings.Split(strings.TrimRight(line, ";"), ":")
		if info.Len() == 0 {
			if len(columns) < 7 || len(columns) > 8 {
				return nil, unreadable
			}
			info = row(diskFields, columns)
			continue
		}
		fields := []string{"number", "start", "end"}
		if unit != "chs" {
			fields = append(fields, "size")
		}
		number := columns[0]
		if last := len(columns) - 1; columns[last] == "free" {
			columns = columns[:last]
		} else {
			fields = append(fields, "file system", "name", "flags")
		}
		if len(fields) != len(columns) {
			return nil, unreadable
		}
		partitions.Set(number, row(fields, columns))
	}
	return data.NewMap("info", info, "partitions", partitions), nil
}

// row returns columns by the names of their fields.
func row(fields, columns []string) *data.Map {
	found := &data.Map{}
	for i, column := range columns {
		found.Set(fields[i], column)
	}
	return found
}

type alignArgs struct {
	Device    string
	PartType  any
	Partition any
}

// alignCheck returns what parted says of the alignment of a partition. part_type is minimal or
// optimal.
//
// CLI Example:
//
//	salt '*' partition.align_check /dev/sda minimal 1
func (m *module) alignCheck(ctx context.Context, a alignArgs) (any, error) {
	if err := m.device(a.Device); err != nil {
		return nil, err
	}
	err := oneOf(a.PartType, []string{"minimal", "optimal"}, "part_type passed to partition.align_check")
	if err != nil {
		return nil, err
	}
	partition, err := number(a.Partition, "partition passed to partition.align_check")
	if err != nil {
		return nil, err
	}
	return m.run(ctx, []string{"parted", "-m"}, a.Device, "align-check", data.Str(a.PartType), partition)
}

type minorArgs struct {
	Device string
	Minor  any
}

// minor checks the device and the number of a partition for a function.
func (m *module) minor(a minorArgs, fun string) (string, error) {
	if err := m.device(a.Device); err != nil {
		return "", err
	}
	return number(a.Minor, "minor number passed to partition."+fun)
}

// check returns what parted says of the file system on a partition. Versions of parted since 3.0
// lack this command.
//
// CLI Example:
//
//	salt '*' partition.check /dev/sda 1
func (m *module) check(ctx context.Context, a minorArgs) (any, error) {
	minor, err := m.minor(a, "check")
	if err != nil {
		return nil, err
	}
	return m.parted(ctx, a.Device, "check", minor)
}

// getID returns the system id of a partition in a list, for example 83 for Linux and 8e for LVM.
//
// CLI Example:
//
//	salt '*' partition.get_id /dev/sda 1
func (m *module) getID(ctx context.Context, a minorArgs) (any, error) {
	minor, err := m.minor(a, "get_id")
	if err != nil {
		return nil, err
	}
	return m.run(ctx, []string{"sfdisk", "--print-id"}, a.Device, minor)
}

// systemTypes returns the system ids that sfdisk knows, each with the first word of its name.
//
// CLI Example:
//
//	salt '*' partition.system_types
func (m *module) systemTypes(ctx context.Context, _ noArgs) (any, error) { return m.types(ctx) }

func (m *module) types(ctx context.Context) (*data.Map, error) {
	rows, err := m.run(ctx, []string{"sfdisk", "-T"})
	found := &data.Map{}
	for _, line := range data.Texts(rows) {
		if words := strings.Fields(line); len(words) > 1 && !strings.HasPrefix(line, "Id") {
			found.Set(words[0], words[1])
		}
	}
	return found, err
}
