// Package xfs is Salt's module xfs: file systems of the kind XFS, by the programs of xfsprogs and
// xfsdump (salt/modules/xfs.py).
//
// xfs.go has the functions, parse.go reads what the programs print.
//
// Differences from Salt: operands that a program would read as options are refused, and so are line
// ends; unreadable lines are skipped.
package xfs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module xfs. It is available on Linux.
func Plugin() loader.Plugin { return loader.Plugin{Name: "xfs", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if env.GrainsNow().Text("kernel") != "Linux" {
		return nil, errors.New("the module xfs is available on Linux only")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("defragment", m.defragment),
		loader.F("devices", m.devices),
		loader.F("dump", m.dump),
		loader.F("estimate", m.estimate),
		loader.F("info", m.info),
		loader.F("inventory", m.inventory),
		loader.F("mkfs", m.mkfs),
		loader.F("modify", m.modify),
		loader.F("prune_dump", m.pruneDump),
	}}, nil
}

// nothingFound is the code of blkid if no device has a type that it knows.
const nothingFound = 2

// run runs a program with plain operands after its options. Its failure is an error.
func (m *module) run(ctx context.Context, argv []string, operands ...string) (string, error) {
	if err := process.PlainOperands(operands...); err != nil {
		return "", loader.Execution("%w", err)
	}
	for _, word := range argv {
		if strings.ContainsAny(word, "\n\r\x00") {
			return "", loader.Execution("%q has more than one line", word)
		}
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: append(argv, operands...)})
	switch {
	case err != nil || ran.Retcode == 0:
	case ran.Stderr != "":
		err = loader.Execution("%s", ran.Stderr)
	case argv[0] != "blkid" || ran.Retcode != nothingFound:
		err = loader.Execution("%s: code %d", strings.Join(append(argv, operands...), " "), ran.Retcode)
	}
	return ran.Stdout, err
}

type deviceArgs struct{ Device string }

// info returns the geometry of a file system.
//
// CLI Example:
//
//	salt '*' xfs.info /dev/sda1
func (m *module) info(ctx context.Context, a deviceArgs) (any, error) {
	if err := process.PlainOperands(a.Device); err != nil {
		return nil, loader.Execution("%w", err)
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"xfs_info", a.Device}})
	switch {
	case err != nil:
	case ran.Stderr != "":
		err = loader.Execution("%s", strings.TrimSpace(strings.ReplaceAll(ran.Stderr, "xfs_info:", "")))
	case ran.Retcode != 0:
		err = loader.Execution("xfs_info %s: code %d", a.Device, ran.Retcode)
	}
	return geometry(ran.Stdout), err
}

type dumpArgs struct {
	Device      string
	Destination string
	Level       any `default:"0"`
	Label       any `default:"None"`
	Noerase     any `default:"None"`
}

// dump writes the files of a file system to a file or a tape, and returns what xfsdump reports.
//
// level
//
//	The level of the dump: 0 to 9.
//
// label
//
//	The label of the dump. Default: the device and the time.
//
// noerase
//
//	True: do not erase the medium first.
//
// CLI Example:
//
//	salt '*' xfs.dump /dev/sda1 /detination/on/the/client
//	salt '*' xfs.dump /dev/sda1 /detination/on/the/client label='Company accountancy'
func (m *module) dump(ctx context.Context, a dumpArgs) (any, error) {
	if process.Find("xfsdump") == "" {
		return nil, loader.Execution(`Utility "xfsdump" has to be installed or missing.`)
	}
	label := calls.Text(a.Label)
	if label == "" {
		label = `XFS dump for "` + a.Device + `" of ` + time.Now().Format("2006.01.02, 15:04")
	}
	argv := []string{"xfsdump", "-F"}
	if !data.Truth(a.Noerase) {
		argv = append(argv, "-E")
	}
	if err := process.PlainOperands(a.Destination, data.Str(a.Level)); err != nil {
		return nil, loader.Execution("%w", err)
	}
	out, err := m.run(ctx, append(argv, "-L", label, "-l", data.Str(a.Level), "-f", a.Destination), a.Device)
	return dumped(out), err
}

type noArgs struct{}

// inventory returns the inventory of dumps.
//
// CLI Example:
//
//	salt '*' xfs.inventory
func (m *module) inventory(ctx context.Context, _ noArgs) (any, error) {
	out, err := m.run(ctx, []string{"xfsrestore", "-I"})
	if err != nil {
		return nil, err
	}
	return inventoried(out), nil
}

type sessionArgs struct{ Sessionid string }

// pruneDump removes a dump session from the inventory, and returns what it was.
//
// CLI Example:
//
//	salt '*' xfs.prune_dump b74a3586-e52e-4a4a-8775-c3334fa8ea2c
func (m *module) pruneDump(ctx context.Context, a sessionArgs) (any, error) {
	if err := process.PlainOperands(a.Sessionid); err != nil {
		return nil, loader.Execution("%w", err)
	}
	out, err := m.run(ctx, []string{"xfsinvutil", "-s", a.Sessionid, "-F"})
	if err != nil {
		return nil, err
	}
	session := pruned(out)
	if session.Len() == 0 || session.Text("uuid") != a.Sessionid {
		return nil, loader.Execution("Session UUID \"%s\" was not found.", a.Sessionid)
	}
	return session, nil
}

// devices returns the devices with a file system of the kind XFS, with their mount points.
//
// CLI Example:
//
//	salt '*' xfs.devices
func (m *module) devices(ctx context.Context, _ noArgs) (any, error) { return m.blkid(ctx) }

func (m *module) blkid(ctx context.Context, devices ...string) (any, error) {
	out, err := m.run(ctx, []string{"blkid", "-o", "export"}, devices...)
	if err != nil {
		return nil, err
	}
	mounts, err := m.mounts()
	if err != nil {
		return nil, err
	}
	all := blocks(out)
	for device, v := range all.All() {
		mount, _ := mounts.Value(device).(*data.Map)
		v.(*data.Map).Update(mount)
	}
	return all, nil
}

// mounts returns the mounted file systems of the kind XFS by device.
func (m *module) mounts() (*data.Map, error) {
	src, err := os.ReadFile(filepath.Join("/", m.env.Root, "proc/mounts"))
	if err != nil {
		return nil, loader.OSError(err)
	}
	all := &data.Map{}
	for line := range strings.Lines(string(src)) {
		if words := strings.Fields(line); len(words) > 3 && words[2] == "xfs" {
			all.Set(words[0], data.NewMap("mount_point", words[1], "options",
				data.Values(strings.Split(words[3], ","))))
		}
	}
	return all, nil
}

type estimateArgs struct{ Path string }

// estimate returns the space that a directory would take on a file system of the kind XFS.
//
// CLI Example:
//
//	salt '*' xfs.estimate /path/to/dir
func (m *module) estimate(ctx context.Context, a estimateArgs) (any, error) {
	if _, err := os.Stat(a.Path); err != nil {
		return nil, loader.Execution("Path \"%s\" was not found.", a.Path)
	}
	out, err := m.run(ctx, []string{"xfs_estimate", "-v"}, a.Path)
	if err != nil {
		return nil, err
	}
	return estimated(out), nil
}

type mkfsArgs struct {
	Device  string
	Label   any `default:"None"`
	Ssize   any `default:"None"`
	Noforce any `default:"None"`
	Bso     any `default:"None"`
	Gmo     any `default:"None"`
	Ino     any `default:"None"`
	Lso     any `default:"None"`
	Rso     any `default:"None"`
	Nmo     any `default:"None"`
	Dso     any `default:"None"`
}

// mkfs makes a file system on a device, and returns its geometry. What the device had is lost.
//
// label, ssize
//
//	The label, and the size of sectors.
//
// noforce
//
//	True: fail if the device has a file system.
//
// bso, gmo, ino, lso, rso, nmo, dso
//
//	Options of the blocks, the whole, inodes, log, real-time section, names and data section, such as
//	size=1024.
//
// CLI Example:
//
//	salt '*' xfs.mkfs /dev/sda1
//	salt '*' xfs.mkfs /dev/sda1 dso='su=32k,sw=6' noforce=True
func (m *module) mkfs(ctx context.Context, a mkfsArgs) (any, error) {
	argv := []string{"mkfs.xfs"}
	if label := calls.Text(a.Label); label != "" {
		argv = append(argv, "-L", label)
	}
	if size := calls.Text(a.Ssize); size != "" {
		argv = append(argv, "-s", size)
	}
	for _, option := range []struct {
		name string
		v    any
	}{{"-b", a.Bso}, {"-m", a.Gmo}, {"-n", a.Nmo}, {"-i", a.Ino}, {"-d", a.Dso}, {"-l", a.Lso}, {"-r",
		a.Rso}} {
		text := calls.Text(option.v)
		if !strings.Contains(text, "=") {
			continue
		}
		for _, setting := range strings.Split(text, ",") {
			if strings.Count(setting, "=") != 1 {
				return nil, loader.Execution("Wrong parameters \"%s\" for option \"%s\"", text, option.name)
			}
		}
		argv = append(argv, option.name, text)
	}
	if !data.Truth(a.Noforce) {
		argv = append(argv, "-f")
	}
	out, err := m.run(ctx, argv, a.Device)
	if err != nil {
		return nil, err
	}
	return geometry(out), nil
}

type modifyArgs struct {
	Device       string
	Label        any `default:"None"`
	LazyCounting any `name:"lazy_counting" default:"None"`
	UUID         any `name:"uuid" default:"None"`
}

// modify changes a file system, and returns what blkid reports of it then.
//
// label
//
//	The new label.
//
// lazy_counting
//
//	True or False: whether the file system counts lazily.
//
// uuid
//
//	True: a new UUID. False: none.
//
// CLI Example:
//
//	salt '*' xfs.modify /dev/sda1 label='My backup' lazy_counting=False
//	salt '*' xfs.modify /dev/sda1 uuid=True
func (m *module) modify(ctx context.Context, a modifyArgs) (any, error) {
	label := calls.Text(a.Label)
	if label == "" && a.LazyCounting == nil && a.UUID == nil {
		return nil, loader.Execution("Nothing specified for modification for \"%s\" device", a.Device)
	}
	argv := []string{"xfs_admin"}
	either := func(v any, option, yes, no string) {
		switch {
		case v == false:
			argv = append(argv, option, no)
		case data.Truth(v):
			argv = append(argv, option, yes)
		}
	}
	if label != "" {
		argv = append(argv, "-L", label)
	}
	either(a.LazyCounting, "-c", "1", "0")
	either(a.UUID, "-U", "generate", "nil")
	if _, err := m.run(ctx, argv, a.Device); err != nil {
		return nil, err
	}
	return m.blkid(ctx, a.Device)
}

// defragment defragments a mounted file system, and returns what xfs_fsr prints as log.
//
// CLI Example:
//
//	salt '*' xfs.defragment /dev/sda1
func (m *module) defragment(ctx context.Context, a deviceArgs) (any, error) {
	if a.Device == "/" {
		return nil, loader.Execution("Root is not a device.")
	}
	mounts, err := m.mounts()
	switch {
	case err != nil:
		return nil, err
	case !mounts.Has(a.Device):
		return nil, loader.Execution("Device \"%s\" is not mounted", a.Device)
	}
	out, err := m.run(ctx, []string{"xfs_fsr"}, a.Device)
	return data.NewMap("log", out), err
}
