package cmd

import (
	"io/fs"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

func octal(mask int) string { return "0" + strconv.FormatInt(int64(mask), 8) }

// enterApart starts the program from a thread that has a directory and a mask of its own and is thrown away afterwards, so that the
// daemon's own do not change. Where the system forbids such a thread (some containers do) a shell takes its place.
func (p place) enterApart(c *exec.Cmd, run func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if unix.Unshare(unix.CLONE_FS) != nil {
			runtime.UnlockOSThread() // nothing has changed
			done <- p.enterByShell(c, run)
			return
		}
		done <- p.enterThread(run)
	}()
	return <-done
}

// enterThread changes the thread it runs in.
func (p place) enterThread(run func() error) error {
	if p.mask >= 0 {
		unix.Umask(p.mask)
	}
	if err := unix.Chdir(p.dir); err != nil {
		return &fs.PathError{Op: "chdir", Path: p.dir, Err: err}
	}
	defer func() { _ = unix.Chdir("/") }() // the main thread lives on, idle, and must not hold a file system
	return run()
}
