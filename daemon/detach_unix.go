//go:build unix

package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// background is set in the environment of the process that goes to the background.
const background = "BRINE_BACKGROUND"

// readyMark is what that process writes to its standard error last, when it is ready.
const readyMark = "\x00"

// detach starts this program again without a terminal, and ends when that is ready. Until then what it
// says is passed on; one that fails to start is waited for, and its exit code is this one's.
func (d *Daemon) detach() int {
	cmd, said, err := d.startAgain()
	if err != nil {
		return d.fail(fmt.Errorf("go to the background: %w", err))
	}
	defer said.Close()
	if d.passOn(said) {
		return exitOK
	}
	_ = cmd.Wait() // its state is looked at
	return cmd.ProcessState.ExitCode()
}

// passOn shows what the daemon says until it leaves the terminal, or ends, and reports whether it was ready then.
func (d *Daemon) passOn(said io.Reader) (ready bool) {
	buf := make([]byte, 4096)
	for {
		n, err := said.Read(buf)
		text, marked := bytes.CutSuffix(buf[:n], []byte(readyMark))
		_, _ = d.Stderr.Write(text) // who does not look need not be told
		ready = ready || marked
		if err != nil {
			return ready
		}
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

// leaveTerminal tells that the daemon is ready, leaves the directory of its start, and connects standard input and output to /dev/null.
func leaveTerminal() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	_, _ = os.Stderr.WriteString(readyMark) // who started the daemon may have gone
	if err := os.Chdir("/"); err != nil {   // so that no file system is held
		return err
	}
	for fd := range 3 {
		if err := unix.Dup2(int(null.Fd()), fd); err != nil {
			return err
		}
	}
	return nil
}

// InBackground reports whether this process was started by one with Background set, and so has no terminal.
func InBackground() bool { return os.Getenv(background) != "" }
