package cmd

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/brineproject/brine/data"
)

// runChroot runs a command in another root directory and returns pid, return code, standard output
// and standard error.
//
// The directories dev, proc and sys of the root, and those of binds, are mounted first with
// mount.mount and unmounted afterwards. Programs that still run in the root are then ended. The
// other arguments are those of cmd.run, but output is not logged.
//
// CLI Example:
//
//	salt '*' cmd.run_chroot /var/lib/lxc/container_name/rootfs 'sh /tmp/bootstrap.sh'
func (m chroots) runChroot(ctx context.Context, a *arguments) (any, error) {
	root := data.Str(a.get("root"))
	mounts := chrootMounts(root, a.get("binds"))
	for _, mt := range mounts {
		if _, err := m.env.Call(ctx, "mount.mount", []any{mt.at, mt.what}, mt.how); err != nil {
			return nil, err
		}
	}
	o, err := m.runInRoot(ctx, a, root)
	m.emptyRoot(root)
	for i := len(mounts) - 1; i >= 0; i-- {
		if _, uerr := m.env.Call(ctx, "mount.umount", []any{mounts[i].at}, nil); uerr != nil &&
			err == nil {
			err = uerr
		}
	}
	if err != nil {
		return nil, err
	}
	return o.shown(a), nil
}

// A mounting is a call of mount.mount.
type mounting struct {
	at, what string
	how      *data.Map
}

func chrootMounts(root string, binds any) []mounting {
	list := []mounting{
		{filepath.Join(root, "dev"), "devtmpfs", data.NewMap("fstype", "devtmpfs")},
		{filepath.Join(root, "proc"), "proc", data.NewMap("fstype", "proc")},
		{filepath.Join(root, "sys"), "sysfs", data.NewMap("fstype", "sysfs")},
	}
	exported, _ := binds.([]any)
	for _, b := range data.Texts(exported) {
		list = append(list, mounting{filepath.Join(root, b), b,
			data.NewMap("opts", "default,bind")})
	}
	return list
}

func (m chroots) runInRoot(ctx context.Context, a *arguments, root string) (*outcome, error) {
	r := m.requests.read(ctx, a)
	line := data.Str(r.cmd)
	if words, ok := wordsOf(r.cmd); ok {
		line = strings.Join(data.Texts(words), " ")
	}
	shell := "/bin/sh"
	if info, err := os.Stat(filepath.Join(root, "bin/bash")); err == nil &&
		info.Mode().IsRegular() {
		shell = "/bin/bash"
	}
	user := ""
	if r.runas != "" {
		user = "--userspec " + quoteWord(r.runas+":"+r.group)
	}
	r.cmd = "chroot " + user + " " + quoteWord(root) + " " + shell + " -c " + quoteWord(line)
	r.runas, r.group, r.path, r.jid = "", "", "", false
	return m.runner.execute(ctx, r)
}

// emptyRoot ends the processes that still run in the root: with SIGTERM three times, then with
// SIGKILL three times.
func (m chroots) emptyRoot(root string) {
	for i := range 6 {
		pids := m.inRoot(root)
		if len(pids) == 0 {
			return
		}
		sig := syscall.SIGTERM
		if i >= 3 {
			sig = syscall.SIGKILL
		}
		for _, pid := range pids {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Signal(sig) // it may have ended meanwhile
			}
		}
	}
	if len(m.inRoot(root)) > 0 {
		m.env.Log.Error("Processes running in chroot could not be killed, filesystem will remain mounted")
	}
}

// inRoot returns the processes whose root is that directory or below it; none for /.
func (m chroots) inRoot(root string) []int {
	if root = filepath.Clean(root); root == "/" || !filepath.IsAbs(root) {
		return nil
	}
	links, err := filepath.Glob(filepath.Join("/", m.env.Root, "/proc/[0-9]*/root"))
	if err != nil {
		return nil
	}
	var pids []int
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || target != root && !strings.HasPrefix(target, root+"/") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
