//go:build unix

package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// background is set in the environment of the process that goes to the background.
const background = "BRINE_BACKGROUND"

// endTime is how long detach waits for the exit code of a daemon that has closed its standard error.
const endTime = 200 * time.Millisecond

// detach starts this program again without a terminal, and ends when that is ready. Until then what it
// says is passed on; one that fails to start is waited for, and its exit code is this one's.
func (d *Daemon) detach() int {
	cmd, said, err := d.startAgain()
	if err != nil {
		return d.fail(fmt.Errorf("go to the background: %w", err))
	}
	defer said.Close()
	_, _ = io.Copy(d.Stderr, said) // ends when the daemon leaves the terminal, or ends
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

// startAgain starts the daemon with a pipe in place of standard error.
func (d *Daemon) startAgain() (*exec.Cmd, *os.File, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	said, says, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer says.Close()
	cmd := exec.Command(program, d.Args...)
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

// InBackground reports whether this process was started by one with Background set, and so has no terminal.
func InBackground() bool { return os.Getenv(background) != "" }
