//go:build linux

package disk

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

type blkidArgs struct {
	Device any `default:"None"`
	Token  any `default:"None"`
}

// blkid returns the attributes of block devices: UUID, LABEL, TYPE.
//
// device
//
//	Only this device.
//
// token
//
//	Only devices with this attribute, such as TYPE=ext4.
//
// CLI Example:
//
//	salt '*' disk.blkid
//	salt '*' disk.blkid /dev/sda
//	salt '*' disk.blkid token='TYPE=ext4'
func (m *module) blkid(ctx context.Context, a blkidArgs) (any, error) {
	if err := needs("blkid"); err != nil {
		return nil, err
	}
	argv := []string{"blkid"}
	switch {
	case data.Truth(a.Device):
		if err := plain(data.Str(a.Device)); err != nil {
			return nil, err
		}
		argv = append(argv, data.Str(a.Device))
	case data.Truth(a.Token):
		argv = append(argv, "-t", data.Str(a.Token))
	}
	out, err := m.run(ctx, argv...)
	if err != nil || out.Retcode > 0 {
		return data.NewMap(), err
	}
	return tags(out.Stdout), nil
}

// tags parses lines as blkid prints them: /dev/sda1: UUID="…" TYPE="ext4".
func tags(text string) *data.Map {
	all := data.NewMap()
	for line := range strings.Lines(text) {
		device, rest, ok := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if !ok || len(device) < 2 {
			continue
		}
		info, parts := data.NewMap(), strings.Split(rest, `"`)
		for i := 0; i+1 < len(parts); i += 2 {
			info.Set(strings.Trim(strings.Trim(parts[i], "="), " "), parts[i+1])
		}
		all.Set(device[:len(device)-1], info)
	}
	return all
}

// shown lists the values requested from blockdev.
var shown = [...]string{"getro", "getsz", "getss", "getpbsz", "getiomin", "getioopt", "getalignoff",
	"getmaxsect", "getsize", "getsize64", "getra", "getfra"}

type dumpArgs struct {
	Device string
	Args   any `default:"None"`
}

// dump returns the values that blockdev reports for a device, or only some of them. It returns
// False if blockdev fails.
//
// CLI Example:
//
//	salt '*' disk.dump /dev/sda1
func (m *module) dump(ctx context.Context, a dumpArgs) (any, error) {
	argv := []string{"blockdev"}
	for _, name := range shown {
		argv = append(argv, "--"+name)
	}
	if err := plain(a.Device); err != nil {
		return nil, err
	}
	out, err := m.run(ctx, append(argv, a.Device)...)
	if err != nil || out.Retcode != 0 {
		return false, err
	}
	all, n := data.NewMap(), 0
	for line := range strings.Lines(out.Stdout) {
		if line = strings.TrimSpace(line); line != "" && n < len(shown) {
			all.Set(shown[n], line)
			n++
		}
	}
	wanted, _ := a.Args.([]any)
	if len(wanted) == 0 {
		return all, nil
	}
	some := data.NewMap()
	for _, name := range wanted {
		v, ok := all.Get(name)
		if !ok {
			return nil, loader.Exception("KeyError", "%s", data.Repr(name))
		}
		some.Set(name, v)
	}
	return some, nil
}

type tuneArgs struct {
	Device string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// tune sets how a device is read and written, and returns the new values: read-ahead and
// filesystem-read-ahead, in sectors of 512 bytes, and read-only or read-write, which are True.
//
// CLI Example:
//
//	salt '*' disk.tune /dev/sda1 read-ahead=1024 read-write=True
func (m *module) tune(ctx context.Context, a tuneArgs) (any, error) {
	argv, asked, invalid := []string{"blockdev"}, []any{}, []string{}
	for key, v := range a.Kwargs.All() {
		name, is := data.Str(key), v == true || v == "True"
		switch {
		case name == "read-ahead":
			argv, asked = append(argv, "--setra", data.Str(v)), append(asked, "getra")
		case name == "filesystem-read-ahead":
			argv, asked = append(argv, "--setfra", data.Str(v)), append(asked, "getfra")
		case name == "read-only" && is:
			argv, asked = append(argv, "--setro"), append(asked, "getro")
		case name == "read-write" && is:
			argv, asked = append(argv, "--setrw"), append(asked, "getro")
		case !strings.HasPrefix(name, "__"):
			invalid = append(invalid, name+"="+data.Str(v))
		}
	}
	if len(invalid) > 0 {
		return nil, loader.Invocation("Invalid keyword arguments: %s", strings.Join(invalid, ", "))
	}
	if err := plain(a.Device); err != nil {
		return nil, err
	}
	out, err := m.run(ctx, append(argv, a.Device)...)
	if err != nil {
		return nil, err
	}
	if out.Retcode != 0 {
		return nil, loader.Execution("%s", out.Stderr)
	}
	return m.dump(ctx, dumpArgs{a.Device, asked})
}

type deviceArgs struct{ Device string }

// wipe removes the file system signatures from a device, and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' disk.wipe /dev/sda1
func (m *module) wipe(ctx context.Context, a deviceArgs) (any, error) {
	if err := plain(a.Device); err != nil {
		return nil, err
	}
	out, err := m.run(ctx, "wipefs", "-a", a.Device)
	if err != nil || out.Retcode == 0 {
		return err == nil, err
	}
	m.env.Log.Errorf("Error wiping device %s: %s", a.Device, out.Stderr)
	return false, nil
}

// resize2fs resizes the file system of a device to the size of the device. It returns None if that
// fails.
//
// CLI Example:
//
//	salt '*' disk.resize2fs /dev/sda1
func (m *module) resize2fs(ctx context.Context, a deviceArgs) (any, error) {
	if err := plain(a.Device); err != nil {
		return nil, err
	}
	out, err := m.run(ctx, "resize2fs", a.Device)
	if err != nil || out.Retcode != 0 {
		return nil, err
	}
	return true, nil
}

type formatArgs struct {
	Device         any
	FsType         string `default:"'ext4'"`
	InodeSize      any    `default:"None"`
	LazyItableInit any    `default:"None"`
	Fat            any    `default:"None"`
	Force          any    `default:"False"`
}

// format creates a file system on a device, and returns whether that succeeded. All data on the
// device is lost.
//
// fs_type
//
//	Its type.
//
// inode_size, lazy_itable_init, fat, force
//
//	Options of mkfs for the types that have them.
//
// CLI Example:
//
//	salt '*' disk.format /dev/sdX1
func (m *module) format(ctx context.Context, a formatArgs) (any, error) {
	if err := needs("sync", "mkfs"); err != nil {
		return nil, err
	}
	if err := plain(data.Str(a.Device), a.FsType); err != nil {
		return nil, err
	}
	made, err := m.run(ctx, a.argv()...)
	if err != nil {
		return nil, err
	}
	synced, err := m.run(ctx, "sync")
	return made.Retcode == 0 && synced.Retcode == 0, err
}

func (a formatArgs) argv() []string {
	ext, xfs := strings.HasPrefix(a.FsType, "ext"), a.FsType == "xfs"
	argv := []string{"mkfs", "-t", a.FsType}
	switch {
	case a.InodeSize != nil && ext:
		argv = append(argv, "-i", data.Str(a.InodeSize))
	case a.InodeSize != nil && xfs:
		argv = append(argv, "-i", "size="+data.Str(a.InodeSize))
	}
	if a.LazyItableInit != nil && ext {
		argv = append(argv, "-E", "lazy_itable_init="+data.Str(a.LazyItableInit))
	}
	if n, err := loader.Int(a.Fat); a.Fat != nil && err == nil && (n == 12 || n == 16 || n == 32) &&
		strings.HasSuffix(a.FsType, "fat") {
		argv = append(argv, "-F", data.Str(n))
	}
	switch {
	case data.Truth(a.Force) && ext:
		argv = append(argv, "-F")
	case data.Truth(a.Force) && xfs:
		argv = append(argv, "-f")
	}
	return append(argv, data.Str(a.Device))
}

// fstype returns the type of the file system of a device, or "" if it is unknown.
//
// CLI Example:
//
//	salt '*' disk.fstype /dev/sdX1
func (m *module) fstype(ctx context.Context, a deviceArgs) (any, error) {
	if err := plain(a.Device); err != nil {
		return nil, err
	}
	lsblk, df := process.Find("lsblk") != "", process.Find("df") != ""
	if !lsblk && !df {
		return nil, loader.Exception("salt.exceptions.CommandNotFoundError",
			"None of provided binaries ([lsblk, df]) was not found in $PATH.")
	}
	if lsblk {
		kind, err := m.second(ctx, "lsblk", "-o", "fstype", a.Device)
		if kind = strings.TrimSpace(kind); err != nil || kind != "" {
			return kind, err
		}
	}
	if df {
		return m.second(ctx, "df", "-T", a.Device)
	}
	return "", nil
}

// second returns the second line of a program's output.
func (m *module) second(ctx context.Context, argv ...string) (string, error) {
	out, err := m.run(ctx, argv...)
	lines := strings.Split(out.Stdout, "\n")
	if err != nil || len(lines) < 2 {
		return "", err
	}
	return lines[1], nil
}

type pathArgs struct{ Path string }

// getFstypeFromPath returns the type of the file system that contains a path.
//
// CLI Example:
//
//	salt '*' disk.get_fstype_from_path /root
func (m *module) getFstypeFromPath(ctx context.Context, a pathArgs) (any, error) {
	dev, err := loader.CallAs[string](ctx, m.env, "mount.get_device_from_path", []any{a.Path}, nil)
	if err != nil {
		return nil, err
	}
	return m.fstype(ctx, deviceArgs{dev})
}
