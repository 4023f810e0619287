//go:build unix

package cmd

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/brineproject/brine/internal/accounts"
)

func defaultShell() string {
	if shell, ok := os.LookupEnv("SHELL"); ok {
		return shell
	}
	return "/bin/sh"
}

// An identity is the user and groups that a program runs with.
type identity struct {
	uid, gid uint32
	groups   []uint32
}

// An account is an entry of the user database.
type account struct {
	name     string
	uid, gid uint32
	home     string
	shell    string
}

// account looks up a user in /etc/passwd, and with getent(1) in the databases behind it.
func (m users) account(ctx context.Context, name string) (*account, bool) {
	if u, err := user.Lookup(name); err == nil {
		return newAccount(u.Username, u.Uid, u.Gid, u.HomeDir, "")
	}
	fields := strings.Split(strings.TrimSpace(m.ask(ctx, "getent", "passwd", "--", name)), ":")
	if len(fields) < 7 || fields[0] != name {
		return nil, false
	}
	return newAccount(fields[0], fields[2], fields[3], fields[5], fields[6])
}

func newAccount(name, uid, gid, home, shell string) (*account, bool) {
	u, err := strconv.ParseUint(uid, 10, 32)
	if err != nil {
		return nil, false
	}
	g, err := strconv.ParseUint(gid, 10, 32)
	return &account{name: name, uid: uint32(u), gid: uint32(g), home: home,
		shell: shell}, err == nil
}

// groupID looks up a group, like account.
func (m users) groupID(ctx context.Context, name string) (uint32, bool) {
	id := ""
	if g, err := user.LookupGroup(name); err == nil {
		id = g.Gid
	} else {
		fields := strings.Split(m.ask(ctx, "getent", "group", "--", name), ":")
		if len(fields) > 2 && fields[0] == name {
			id = fields[2]
		}
	}
	n, err := strconv.ParseUint(id, 10, 32)
	return uint32(n), err == nil
}

// groups returns the groups of a user, including the primary one: from id(1), which knows all
// databases, or else from /etc/group.
func (m users) groups(ctx context.Context, a *account) []uint32 {
	names := strings.Fields(m.ask(ctx, "id", "-G", "--", a.name))
	if len(names) == 0 {
		u := &user.User{Username: a.name, Gid: strconv.FormatUint(uint64(a.gid), 10)}
		names, _ = u.GroupIds() // an unreadable file leaves the primary group
	}
	ids := []uint32{a.gid}
	for _, name := range names {
		if n, err := strconv.ParseUint(name, 10, 32); err == nil && uint32(n) != a.gid {
			ids = append(ids, uint32(n))
		}
	}
	return ids
}

// home returns the home of a user, or with an empty name that of the daemon's user, like Python's
// os.path.expanduser.
func (m users) home(ctx context.Context, name string) string {
	if name != "" {
		if a, ok := m.account(ctx, name); ok {
			return a.home
		}
		return "~" + name
	}
	return cmp.Or(accounts.Home(os.Getenv), "~")
}

// ask returns the output of a small program, or "" if it fails.
func (m users) ask(ctx context.Context, name string, args ...string) string {
	path := helper(name)
	if path == "" {
		return ""
	}
	k, ctx, release := newCapture(ctx)
	defer release()
	c := exec.Command(path, args...)
	c.Stdout, c.Dir = &k.out, "/"
	if err := m.env.Run(ctx, c); err != nil || k.over() {
		return ""
	}
	return k.out.text.String()
}

// setOwner changes the owner of a file before the user runs it, like the original. An unknown user
// is no error here; the run reports it.
func (m users) setOwner(ctx context.Context, f *os.File, name string) error {
	if name == "" {
		return nil
	}
	a, ok := m.account(ctx, name)
	if !ok {
		return nil
	}
	return f.Chown(int(a.uid), -1)
}

// safeDir returns dir without links, or "" if anybody but root and our user can change its content
// or the way to it. They could replace our script, or add a link to a directory where we must not
// create files.
func safeDir(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", nil // checkDir rejects it
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if safe, err := onlyOurs(at); err != nil || !safe {
			return "", err
		}
		if at == filepath.Dir(at) {
			return dir, nil
		}
	}
}

// onlyOurs reports whether only root and our user can replace our entries in a directory.
func onlyOurs(dir string) (bool, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return false, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	own := ok && (stat.Uid == 0 || int(stat.Uid) == os.Getuid())
	closed := info.Mode().Perm()&0o022 == 0 || info.Mode()&os.ModeSticky != 0
	return own && closed && info.IsDir(), nil
}
