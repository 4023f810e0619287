//go:build unix

package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// nodes makes devices and named pipes.
type nodes struct {
	env   *loader.Env
	perms perms
	dirs  directories
}

type chrdevArgs struct {
	Name  string
	Major int64
	Minor int64
	User  any `default:"None"`
	Group any `default:"None"`
	Mode  any `default:"'0660'"`
}

type fifoArgs struct {
	Name  string
	User  any `default:"None"`
	Group any `default:"None"`
	Mode  any `default:"'0660'"`
}

type mknodArgs struct {
	Name  string
	Ntype any
	Major int64 `default:"0"`
	Minor int64 `default:"0"`
	User  any   `default:"None"`
	Group any   `default:"None"`
	Mode  any   `default:"'0600'"`
}

// A node is a device or a pipe to make.
type node struct {
	name         string
	kind         uint32
	called       string // description in results
	major, minor int64
	owner        owner
}

type nameArgs struct{ Name string }

// isBlkdev reports whether a path is a block device.
//
// CLI Example:
//
//	salt '*' file.is_blkdev /dev/sda
func isBlkdev(_ context.Context, a nameArgs) (any, error) {
	return is(a.Name, func(mode fs.FileMode) bool { return mode.Type() == fs.ModeDevice })
}

// isChrdev reports whether a path is a character device.
//
// CLI Example:
//
//	salt '*' file.is_chrdev /dev/tty
func isChrdev(_ context.Context, a nameArgs) (any, error) {
	return is(a.Name, func(mode fs.FileMode) bool { return mode&fs.ModeCharDevice != 0 })
}

// isFifo reports whether a path is a named pipe.
//
// CLI Example:
//
//	salt '*' file.is_fifo /dev/initctl
func isFifo(_ context.Context, a nameArgs) (any, error) {
	return is(a.Name, func(mode fs.FileMode) bool { return mode&fs.ModeNamedPipe != 0 })
}

func is(name string, kind func(fs.FileMode) bool) (any, error) {
	info, err := os.Stat(home(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return nil, osError(err)
	}
	return kind(info.Mode()), nil
}

// getDevmm returns the major and minor number of a device, and (0, 0) for other paths.
//
// CLI Example:
//
//	salt '*' file.get_devmm /dev/tty
func getDevmm(_ context.Context, a nameArgs) (any, error) {
	var st unix.Stat_t
	err := unix.Stat(home(a.Name), &st)
	if kind := uint32(st.Mode) & unix.S_IFMT; err != nil || kind != unix.S_IFCHR &&
		kind != unix.S_IFBLK {
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return nil, osError(err)
		}
		return data.Tuple{int64(0), int64(0)}, nil
	}
	return data.Tuple{int64(unix.Major(uint64(st.Rdev))), int64(unix.Minor(uint64(st.Rdev)))}, nil
}

// mknodChrdev makes a character device.
//
// CLI Example:
//
//	salt '*' file.mknod_chrdev /dev/chr 180 31
func (m nodes) mknodChrdev(ctx context.Context, a chrdevArgs) (any, error) {
	return m.makeNode(ctx, node{a.Name, unix.S_IFCHR, "Character device", a.Major, a.Minor,
		owner{user: a.User, group: a.Group, mode: a.Mode}})
}

// mknodBlkdev makes a block device.
//
// CLI Example:
//
//	salt '*' file.mknod_blkdev /dev/blk 8 999
func (m nodes) mknodBlkdev(ctx context.Context, a chrdevArgs) (any, error) {
	return m.makeNode(ctx, node{a.Name, unix.S_IFBLK, "Block device", a.Major, a.Minor,
		owner{user: a.User, group: a.Group, mode: a.Mode}})
}

// mknodFifo makes a named pipe.
//
// CLI Example:
//
//	salt '*' file.mknod_fifo /dev/fifo
func (m nodes) mknodFifo(ctx context.Context, a fifoArgs) (any, error) {
	return m.makeNode(ctx, node{a.Name, unix.S_IFIFO, "Fifo pipe", 0, 0,
		owner{user: a.User, group: a.Group, mode: a.Mode}})
}

// mknod makes a device or a named pipe, and its parent directories.
//
// ntype
//
//	c for a character device, b for a block device, p for a pipe.
//
// CLI Example:
//
//	salt '*' file.mknod /dev/chr c 180 31
//	salt '*' file.mknod /dev/fifo p
func (m nodes) mknod(ctx context.Context, a mknodArgs) (any, error) {
	if _, err := m.dirs.makeParents(ctx, a.Name, owner{user: a.User, group: a.Group}); err != nil {
		return nil, err
	}
	switch a.Ntype {
	case "c":
		return m.mknodChrdev(ctx, chrdevArgs{a.Name, a.Major, a.Minor, a.User, a.Group, a.Mode})
	case "b":
		return m.mknodBlkdev(ctx, chrdevArgs{a.Name, a.Major, a.Minor, a.User, a.Group, a.Mode})
	case "p":
		return m.mknodFifo(ctx, fifoArgs{a.Name, a.User, a.Group, a.Mode})
	}
	return nil, loader.Invocation("Node type unavailable: '%s'. "+
		"Available node types are character ('c'), block ('b'), and pipe ('p').", data.Str(a.Ntype))
}

// makeNode makes a node unless the path exists, and sets its owners and mode.
func (m nodes) makeNode(ctx context.Context, n node) (any, error) {
	n.name = home(n.name)
	ret := data.NewMap("name", n.name, "changes", data.NewMap(), "comment", "", "result", false)
	mode, err := strconv.ParseUint(strings.TrimLeft(data.Str(n.owner.mode), "0Oo"), 8, 32)
	if err != nil {
		return nil, loader.Exception("ValueError", "invalid literal for int() with base 8: %s",
			data.Repr(strings.TrimLeft(data.Str(n.owner.mode), "0Oo")))
	}
	created := data.NewMap("new", n.called+" "+n.name+" created.")
	if testMode(ctx, m.env) {
		ret.Set("changes", created)
		ret.Set("result", nil)
	} else {
		err := mknod(n.name, n.kind|uint32(mode), uint32(n.major), uint32(n.minor))
		switch {
		case errors.Is(err, unix.EEXIST):
			ret.Set("comment", "File "+n.name+" exists and cannot be overwritten")
		case err != nil:
			return nil, nodeError(err)
		default:
			ret.Set("changes", created)
			ret.Set("result", true)
		}
	}
	_, _, err = m.perms.set(ctx, permsArgs{Name: n.name, User: n.owner.user, Group: n.owner.group,
		Mode: n.owner.mode})
	return ret, err
}

// nodeError returns the exception that os.mknod raises. It names no path.
func nodeError(err error) error {
	var e *loader.Error
	if errors.As(osError(&fs.PathError{Err: err}), &e) {
		return loader.Exception(e.Class, "%s", strings.TrimSuffix(e.Text, ": ''"))
	}
	return err
}
