//go:build unix

package cmd

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// splitsWords is true: a command without a shell is split into words. On Windows the system does
// it.
const splitsWords = true

func rootDir() string { return "/" }

func readable(path string) bool { return unix.Access(path, unix.R_OK) == nil }

// shellAvailable rejects a shell that is not executable.
func shellAvailable(j *job) error {
	if !executable(j.shell) {
		return loader.Execution("The shell %s is not available", j.shell)
	}
	return nil
}

// executable reports whether path is a file that may be executed.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil
}

// command returns the program of a job.
func command(j *job) (*exec.Cmd, error) {
	words, list := wordsOf(j.cmd)
	c := &exec.Cmd{Env: pairs(j.env), WaitDelay: -1, SysProcAttr: &syscall.SysProcAttr{}}
	switch {
	case j.useShell && list:
		c.Path, c.Args = j.shell, append([]string{j.shell, "-c"}, data.Texts(words)...)
	case j.useShell:
		c.Path, c.Args = j.shell, []string{j.shell, "-c", data.Str(j.cmd)}
	default:
		path, err := find(data.Str(words[0]), j)
		if err != nil {
			return nil, err
		}
		c.Path, c.Args = path, data.Texts(words)
	}
	if j.who != nil {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: j.who.uid, Gid: j.who.gid,
			Groups: j.who.groups}
	}
	return c, nil
}

// find looks up a program in the PATH of its environment, like execvpe of Python's os.
func find(name string, j *job) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := "/bin:/usr/bin"
	if j.env.Has("PATH") {
		path = j.env.Text("PATH")
	}
	number := syscall.ENOENT
	for _, dir := range strings.Split(path, ":") {
		candidate := filepath.Join(dir, name)
		if !filepath.IsAbs(candidate) {
			candidate = filepath.Join(j.cwd, candidate)
		}
		if executable(candidate) {
			return candidate, nil
		}
		if _, err := os.Stat(candidate); err == nil {
			number = syscall.EACCES
		}
	}
	return "", &fs.PathError{Op: "exec", Path: name, Err: number}
}

// statusCode returns the return code of a program, negative for the signal that ended it.
func statusCode(exit *exec.ExitError) int64 {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -int64(status.Signal())
	}
	return int64(exit.ExitCode())
}

// A place is the directory and umask that a program starts with.
type place struct {
	dir  string
	mask int  // or -1
	user bool // the user changes; the directory is entered before that, like Salt does
}

func (j *job) place() place { return place{dir: j.cwd, mask: j.mask, user: j.who != nil} }

// enter calls run, which starts c in the place.
func (p place) enter(c *exec.Cmd, run func() error) error {
	if p.mask >= 0 || p.user {
		return p.enterApart(c, run)
	}
	if err := unix.Access(p.dir, unix.X_OK); err != nil {
		return &fs.PathError{Op: "chdir", Path: p.dir, Err: err}
	}
	c.Dir = p.dir
	return run()
}

// enterByShell lets a shell set the umask, for systems where a thread cannot have its own. The user
// enters the directory.
func (p place) enterByShell(c *exec.Cmd, run func() error) error {
	c.Dir = p.dir
	if p.mask >= 0 {
		script := `umask "$1" && shift && exec "$@"`
		c.Args = append([]string{"sh", "-c", script, "sh", octal(p.mask), c.Path}, c.Args[1:]...)
		c.Path = "/bin/sh"
	}
	return run()
}
