package partition

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type cpArgs struct {
	Device    string
	FromMinor any
	ToMinor   any
}

// cp copies the file system of one partition to another, which loses its own. Versions of parted
// since 3.0 lack this command.
//
// CLI Example:
//
//	salt '*' partition.cp /dev/sda 2 3
func (m *module) cp(ctx context.Context, a cpArgs) (any, error) {
	from, err := m.minor(minorArgs{a.Device, a.FromMinor}, "cp")
	if err != nil {
		return nil, err
	}
	to, err := m.minor(minorArgs{a.Device, a.ToMinor}, "cp")
	if err != nil {
		return nil, err
	}
	return m.parted(ctx, a.Device, "cp", from, to)
}

type setIDArgs struct {
	Device   string
	Minor    any
	SystemID any `name:"system_id"`
}

// setID sets the system id of a partition, one of partition.system_types.
//
// CLI Example:
//
//	salt '*' partition.set_id /dev/sda 1 83
func (m *module) setID(ctx context.Context, a setIDArgs) (any, error) {
	minor, err := m.minor(minorArgs{a.Device, a.Minor}, "set_id")
	if err != nil {
		return nil, err
	}
	types, err := m.types(ctx)
	if err != nil {
		return nil, err
	}
	id := data.Str(a.SystemID)
	if !types.Has(id) {
		return nil, loader.Execution("Invalid system_id passed to partition.set_id")
	}
	return m.run(ctx, []string{"sfdisk", "--change-id"}, a.Device, minor, id)
}

var fsTypes = strings.Fields("btrfs ext2 ext3 ext4 fat fat32 fat16 linux-swap reiserfs " +
	"hfs hfs+ hfsx NTFS ntfs ufs xfs")

type mkfsArgs struct {
	Device string
	FsType any
}

// mkfs makes a file system on a device, which loses all its data. fs_type is for example ext4,
// fat32, linux-swap or xfs.
//
// CLI Example:
//
//	salt '*' partition.mkfs /dev/sda2 fat32
func (m *module) mkfs(ctx context.Context, a mkfsArgs) (any, error) {
	if err := m.device(a.Device); err != nil {
		return nil, err
	}
	if err := oneOf(a.FsType, fsTypes, "fs_type passed to partition.mkfs"); err != nil {
		return nil, err
	}
	program := "mkfs." + strings.Replace(data.Str(a.FsType), "NTFS", "ntfs", 1)
	if a.FsType == "linux-swap" {
		program = "mkswap"
	}
	if process.Find(program) == "" {
		return "Error: " + program + " is unavailable.", nil
	}
	return m.run(ctx, []string{program}, a.Device)
}

type mklabelArgs struct {
	Device    string
	LabelType any
}

// mklabel makes a new partition table, for example gpt or msdos. The disk loses its partitions.
//
// CLI Example:
//
//	salt '*' partition.mklabel /dev/sda msdos
func (m *module) mklabel(ctx context.Context, a mklabelArgs) (any, error) {
	labels := strings.Fields("aix amiga bsd dvh gpt loop mac msdos pc98 sun")
	if err := oneOf(a.LabelType, labels, "label_type passed to partition.mklabel"); err != nil {
		return nil, err
	}
	return m.parted(ctx, a.Device, "mklabel", data.Str(a.LabelType))
}

type mkpartArgs struct {
	Device   string
	PartType any
	FsType   any `default:"None"`
	Start    any `default:"None"`
	End      any `default:"None"`
}

// mkpart makes a partition.
//
// part_type
//
//	primary, logical or extended.
//
// fs_type
//
//	The kind of file system that it shall have. It is not made.
//
// start, end
//
//	The positions of its edges, by default in megabytes.
//
// CLI Example:
//
//	salt '*' partition.mkpart /dev/sda primary fs_type=fat32 start=0 end=639
func (m *module) mkpart(ctx context.Context, a mkpartArgs) (any, error) {
	if err := m.device(a.Device); err != nil {
		return nil, err
	}
	types := []string{"primary", "logical", "extended"}
	if err := oneOf(a.PartType, types, "part_type passed to partition.mkpart"); err != nil {
		return nil, err
	}
	operands := []string{a.Device, "mkpart", data.Str(a.PartType)}
	if data.Truth(a.FsType) {
		if err := oneOf(a.FsType, fsTypes, "fs_type passed to partition.mkpart"); err != nil {
			return nil, err
		}
		operands = append(operands, data.Str(a.FsType))
	}
	edges := []string{"", ""}
	for i, v := range []any{a.Start, a.End} {
		if v != nil {
			edges[i] = data.Str(v)
		}
		if a.Start != nil && a.End != nil {
			if err := edge(v); err != nil {
				return nil, err
			}
		}
	}
	return m.run(ctx, []string{"parted", "-m", "-s", "--"}, append(operands, edges...)...)
}

type nameArgs struct {
	Device    string
	Partition any
	Name      string
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9 _-]*$`)

// name names a partition of a disk with a table of GPT, Mac or PC98.
//
// CLI Example:
//
//	salt '*' partition.name /dev/sda 1 'My Documents'
func (m *module) name(ctx context.Context, a nameArgs) (any, error) {
	if err := m.device(a.Device); err != nil {
		return nil, err
	}
	partition, err := number(a.Partition, "partition passed to partition.name")
	if err != nil {
		return nil, err
	}
	if !plainName.MatchString(a.Name) {
		return nil, loader.Execution("Invalid characters passed to partition.name")
	}
	return m.parted(ctx, a.Device, "name", partition, "'"+a.Name+"'")
}

type rescueArgs struct {
	Device string
	Start  any
	End    any
}

// rescue looks for a lost partition between two positions.
//
// CLI Example:
//
//	salt '*' partition.rescue /dev/sda 0 8056
func (m *module) rescue(ctx context.Context, a rescueArgs) (any, error) {
	if err := m.device(a.Device); err != nil {
		return nil, err
	}
	for _, v := range []any{a.Start, a.End} {
		if err := edge(v); err != nil {
			return nil, err
		}
	}
	return m.parted(ctx, a.Device, "rescue", data.Str(a.Start), data.Str(a.End))
}

type resizeArgs struct {
	Device string
	Minor  any
	Start  any
	End    any
}

// resize moves the edges of a partition. Versions of parted since 3.0 lack this command.
//
// CLI Example:
//
//	salt '*' partition.resize /dev/sda 3 200 850
func (m *module) resize(ctx context.Context, a resizeArgs) (any, error) {
	minor, err := m.minor(minorArgs{a.Device, a.Minor}, "resize")
	if err != nil {
		return nil, err
	}
	for _, v := range []any{a.Start, a.End} {
		if err := edge(v); err != nil {
			return nil, err
		}
	}
	return m.run(ctx, []string{"parted", "-m", "-s", "--"}, a.Device, "resize", minor,
		data.Str(a.Start), data.Str(a.End))
}

// rm removes a partition.
//
// CLI Example:
//
//	salt '*' partition.rm /dev/sda 5
func (m *module) rm(ctx context.Context, a minorArgs) (any, error) {
	minor, err := m.minor(a, "rm")
	if err != nil {
		return nil, err
	}
	return m.parted(ctx, a.Device, "rm", minor)
}

type setArgs struct {
	Device string
	Minor  any
	Flag   any
	State  any
}

// set sets a flag of a partition on or off: boot, root, swap, hidden, raid, lvm, lba, hp-service,
// palo, prep, msftres, bios_grub, atvrecv, diag, legacy_boot, msftdata, irst, esp or type.
//
// CLI Example:
//
//	salt '*' partition.set /dev/sda 1 boot '"on"'
func (m *module) set(ctx context.Context, a setArgs) (any, error) {
	minor, err := m.minor(minorArgs{a.Device, a.Minor}, "set")
	if err != nil {
		return nil, err
	}
	if err := oneOf(a.Flag, partitionFlags, "flag passed to partition.set"); err != nil {
		return nil, err
	}
	if err := oneOf(a.State, onOff, "state passed to partition.set"); err != nil {
		return nil, err
	}
	return m.parted(ctx, a.Device, "set", minor, data.Str(a.Flag), data.Str(a.State))
}

type toggleArgs struct {
	Device    string
	Partition any
	Flag      any
}

// toggle changes a flag of a partition to its opposite. The flags are those of partition.set.
//
// CLI Example:
//
//	salt '*' partition.toggle /dev/sda 1 boot
func (m *module) toggle(ctx context.Context, a toggleArgs) (any, error) {
	if err := m.device(a.Device); err != nil {
		return nil, err
	}
	partition, err := number(a.Partition, "partition number passed to partition.toggle")
	if err != nil {
		return nil, err
	}
	if !slices.Contains(partitionFlags, calls.Text(a.Flag)) {
		return nil, loader.Execution("Invalid flag passed to partition.toggle")
	}
	return m.parted(ctx, a.Device, "toggle", partition, data.Str(a.Flag))
}

type diskSetArgs struct {
	Device string
	Flag   any
	State  any
}

// diskSet sets a flag of a disk on or off: cylinder_alignment, pmbr_boot or
// implicit_partition_table.
//
// CLI Example:
//
//	salt '*' partition.disk_set /dev/sda pmbr_boot '"on"'
func (m *module) diskSet(ctx context.Context, a diskSetArgs) (any, error) {
	if err := m.hasFlag(a.Device, a.Flag, diskFlags, "disk_set"); err != nil {
		return nil, err
	}
	if err := oneOf(a.State, onOff, "state passed to partition.disk_set"); err != nil {
		return nil, err
	}
	return m.parted(ctx, a.Device, "disk_set", data.Str(a.Flag), data.Str(a.State))
}

type diskToggleArgs struct {
	Device string
	Flag   any
}

// diskToggle changes a flag of a disk to its opposite. The flags are those of partition.disk_set.
//
// CLI Example:
//
//	salt '*' partition.disk_toggle /dev/sda pmbr_boot
func (m *module) diskToggle(ctx context.Context, a diskToggleArgs) (any, error) {
	if err := m.hasFlag(a.Device, a.Flag, diskFlags, "disk_toggle"); err != nil {
		return nil, err
	}
	return m.parted(ctx, a.Device, "disk_toggle", data.Str(a.Flag))
}
