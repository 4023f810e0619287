//go:build unix

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopSignals are those that end a daemon.
func stopSignals() []os.Signal { return []os.Signal{syscall.SIGINT, syscall.SIGTERM} }

// endTime is how long detach waits for the exit code of a daemon that has closed its standard error.
const endTime = 200 * time.Millisecond

// detach starts this program again without a terminal, and ends when that has opened everything. Until then what it
// says is passed on; one that fails to start is waited for, and its exit code is this one's.
func (d *Daemon) detach(in Invocation, stderr io.Writer) int {
	cmd, said, err := d.start(in)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", d.Name, err)
		return exitGeneric
	}
	defer said.Close()
	_, _ = io.Copy(stderr, said) // ends when the daemon leaves the terminal, or ends
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its state is looked at
		close(ended)
	}()
	select {
	case <-ended:
		return cmd.ProcessState.ExitCode()
	case <-time.After(endTime):
		return exitOK
	}
}

// start starts the daemon with a pipe in place of standard error.
func (d *Daemon) start(in Invocation) (*exec.Cmd, *os.File, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	said, says, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer says.Close()
	cmd := exec.Command(program, in.Args...)
	cmd.Env = append(os.Environ(), background+"=1")
	cmd.Stderr = says
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, nil, errors.Join(err, said.Close())
	}
	return cmd, said, nil
}

// leaveTerminal puts /dev/null in the place of standard input, output and error.
func leaveTerminal() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for fd := range 3 {
		if err := unix.Dup2(int(null.Fd()), fd); err != nil {
			return err
		}
	}
	return nil
}

// becomeUser gives folders and files to a user and makes the process run as that user for good (salt/utils/verify.py,
// verify_env and check_user). It does nothing when it does already.
func becomeUser(name string, folders, files []string) error {
	id, err := userID(name)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	if id == os.Geteuid() {
		return nil
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%q: %w: only root may do that", name, errUnableToSwitch)
	}
	for _, folder := range folders {
		if err := giveTree(folder, id); err != nil {
			return err
		}
	}
	for _, file := range files {
		if err := giveFile(file, id); err != nil {
			return err
		}
	}
	if err := switchUser(name); err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	if os.Geteuid() != id || syscall.Setuid(0) == nil {
		return fmt.Errorf("%q: the rights of root could not be given up", name)
	}
	return nil
}

// giveFile gives a file to a user; it is made where it is missing, since the user may not write to its folder.
func giveFile(path string, id int) error {
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW, 0o640)
	if err != nil {
		return err
	}
	return errors.Join(f.Chown(id, -1), f.Close())
}

// giveTree gives a folder and what lies in it to a user; the folder is made where it is missing. Links are not followed.
func giveTree(path string, id int) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	}
	return filepath.WalkDir(path, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, id, -1)
	})
}
