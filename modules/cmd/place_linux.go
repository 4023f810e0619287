package cmd

import (
	"io/fs"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

func octal(mask int) string { return "0" + strconv.FormatInt(int64(mask), 8) }

// enterApart starts the program from a thread with its own directory and umask, which is discarded
// afterwards, so that the daemon's do not change. Where the system forbids such a thread, as some
// containers do, a shell is used instead.
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

// enterThread changes directory and umask of the current thread.
func (p place) enterThread(run func() error) error {
	if p.mask >= 0 {
		unix.Umask(p.mask)
	}
	if err := unix.Chdir(p.dir); err != nil {
		return &fs.PathError{Op: "chdir", Path: p.dir, Err: err}
	}
	// the main thread survives, idle, and must not keep a file system busy
	defer func() { _ = unix.Chdir("/") }()
	return run()
}
