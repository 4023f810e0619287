//go:build unix

package mount

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type mountArgs struct {
	Name   string
	Device any `default:"False"`
	Mkmnt  any `default:"False"`
	Fstype any `default:"''"`
	Opts   any `default:"'defaults'"`
	User   any `default:"None"`
	Util   any `default:"'mount'"`
}

// mount mounts a device, or the fstab entry of a directory. It returns True, or the program's error
// output.
//
// mkmnt
//
//	True: create the directory first.
//
// fstype, opts
//
//	The type of the file system, and the mount options.
//
// user
//
//	The user to run mount as.
//
// CLI Example:
//
//	salt '*' mount.mount /mnt/foo /dev/sdz1 True
func (m *module) mount(ctx context.Context, a mountArgs) (any, error) {
	if a.Util != "mount" {
		return false, nil
	}
	if _, err := os.Stat(m.at(a.Name)); err != nil && data.Truth(a.Mkmnt) {
		if err := calls.Mkdir(ctx, m.env, a.Name, calls.Owned{User: a.User}); err != nil {
			return nil, err
		}
	}
	if err := process.Operands(a.Name, data.Str(a.Device)); err != nil {
		return nil, loader.Execution("%w", err)
	}
	if !data.Truth(a.Device) {
		return m.run(ctx, a.User, []string{"mount", a.Name})
	}
	opts := data.SplitTexts(a.Opts, ",")
	if m.mac() && slices.Contains(opts, "defaults") {
		opts = nil
	}
	return m.run(ctx, a.User, append(command(opts, a.Fstype), data.Str(a.Device), a.Name))
}

// command returns the command line of mount without a device.
func command(opts []string, fstype any) []string {
	line := []string{"mount"}
	if opts != nil {
		line = append(line, "-o", strings.Join(opts, ","))
	}
	if data.Truth(fstype) {
		line = append(line, "-t", data.Str(fstype))
	}
	return line
}

// run runs a program as a user. It returns True, or the program's output if it fails.
func (m *module) run(ctx context.Context, user any, argv []string) (any, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv, As: calls.Text(user)})
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 {
		return ran.Stderr, nil
	}
	return true, nil
}

type remountArgs struct {
	Name   string
	Device string
	Mkmnt  any `default:"False"`
	Fstype any `default:"''"`
	Opts   any `default:"'defaults'"`
	User   any `default:"None"`
}

// remount remounts a file system with other options, or mounts it if it is not mounted. It returns
// True, or the program's error output.
//
// CLI Example:
//
//	salt '*' mount.remount /mnt/foo /dev/sdz1 True
func (m *module) remount(ctx context.Context, a remountArgs) (any, error) {
	mounts, err := m.mounts(ctx, false)
	if err != nil {
		return nil, err
	}
	if a.Opts == "defaults" && m.mac() {
		a.Opts = "noowners"
	}
	opts := slices.Clone(data.SplitTexts(a.Opts, ","))
	if !mounts.Has(strings.ReplaceAll(a.Name, " ", `\040`)) {
		return m.mount(ctx, mountArgs{a.Name, a.Device, a.Mkmnt, a.Fstype, data.Values(opts),
			a.User, "mount"})
	}
	if m.mac() {
		line := command(opts, a.Fstype)
		return m.run(ctx, a.User, append(slices.Insert(line, 1, "-u"), a.Device, a.Name))
	}
	if !slices.Contains(opts, "remount") {
		opts = append(opts, "remount")
	}
	if err := process.Operands(a.Name, a.Device); err != nil {
		return nil, loader.Execution("%w", err)
	}
	return m.run(ctx, a.User, append(command(opts, a.Fstype), a.Device, a.Name))
}

type umountArgs struct {
	Name   string
	Device any `default:"None"`
	User   any `default:"None"`
	Util   any `default:"'mount'"`
}

// umount unmounts a device, or the file system mounted at a directory. It returns True, or the
// program's error output.
//
// CLI Example:
//
//	salt '*' mount.umount /mnt/foo
//	salt '*' mount.umount /mnt/foo /dev/sdc1
func (m *module) umount(ctx context.Context, a umountArgs) (any, error) {
	if a.Util == "guestfs" || a.Util == "qemu_nbd" {
		return nil, nil
	}
	mounts, err := m.mounts(ctx, false)
	if err != nil {
		return nil, err
	}
	if !mounts.Has(strings.ReplaceAll(a.Name, " ", `\040`)) {
		return a.Name + " does not have anything mounted", nil
	}
	what := a.Name
	if data.Truth(a.Device) {
		what = data.Str(a.Device)
	}
	if err := process.Operands(what); err != nil {
		return nil, loader.Execution("%w", err)
	}
	return m.run(ctx, a.User, []string{"umount", what})
}

type cmdArgs struct{ Cmd string }

// isFuseExec returns whether a program is linked with libfuse.
//
// CLI Example:
//
//	salt '*' mount.is_fuse_exec sshfs
func (m *module) isFuseExec(ctx context.Context, a cmdArgs) (any, error) {
	path := process.Find(a.Cmd)
	switch {
	case path == "":
		return false, nil
	case process.Find("ldd") == "":
		return nil, loader.NotFound("ldd")
	}
	out, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"ldd", path}})
	return strings.Contains(out, "libfuse"), err
}

// swaps returns the active swap.
//
// CLI Example:
//
//	salt '*' mount.swaps
func (m *module) swaps(context.Context, loader.NoArgs) (any, error) { return m.swapsNow() }

func (m *module) swapsNow() (*data.Map, error) {
	src, err := os.ReadFile(m.at("/proc/swaps"))
	if err != nil {
		return nil, loader.OSError(err)
	}
	return parseSwaps(string(src)), nil
}

// parseSwaps parses /proc/swaps.
func parseSwaps(text string) *data.Map {
	found := &data.Map{}
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) >= 5 && words[0] != "Filename" {
			found.Set(words[0], data.NewMap("type", words[1], "size", words[2], "used", words[3],
				"priority", words[4]))
		}
	}
	return found
}

type swaponArgs struct {
	Name     string
	Priority any `default:"None"`
}

// swapon activates swap, and returns its state and whether it is new.
//
// CLI Example:
//
//	salt '*' mount.swapon /root/swapfile
func (m *module) swapon(ctx context.Context, a swaponArgs) (any, error) {
	on, err := m.swapsNow()
	if err != nil {
		return nil, err
	}
	if on.Has(a.Name) {
		return data.NewMap("stats", on.Value(a.Name), "new", false), nil
	}
	if err := process.Operands(a.Name); err != nil {
		return nil, loader.Execution("%w", err)
	}
	line := []string{"swapon", a.Name}
	if data.Truth(a.Priority) {
		line = append(line, "-p", data.Str(a.Priority))
	}
	if _, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: line}); err != nil {
		return nil, err
	}
	if on, err = m.swapsNow(); err != nil || !on.Has(a.Name) {
		return data.NewMap(), err
	}
	return data.NewMap("stats", on.Value(a.Name), "new", true), nil
}

// swapoff deactivates swap, and returns whether that succeeded, or None if it was not active.
//
// CLI Example:
//
//	salt '*' mount.swapoff /root/swapfile
func (m *module) swapoff(ctx context.Context, a nameArgs) (any, error) {
	on, err := m.swapsNow()
	if err != nil || !on.Has(a.Name) {
		return nil, err
	}
	if _, err := calls.RunOutput(ctx, m.env,
		calls.Run{Argv: []string{"swapoff", a.Name}}); err != nil {
		return nil, err
	}
	on, err = m.swapsNow()
	return err == nil && !on.Has(a.Name), err
}
