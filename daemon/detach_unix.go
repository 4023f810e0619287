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

// background is the environment variable set in the background process.
const background = "BRINE_BACKGROUND"

// readyMark is the last thing that process writes to standard error, once it is ready.
const readyMark = "\x00"

// detach restarts this program without a terminal and exits once that is ready. Until then it
// forwards the output of the new process. If that fails to start, detach exits with its exit code.
func (d *Daemon) detach() int {
	cmd, said, err := d.startAgain()
	if err != nil {
		return d.fail(fmt.Errorf("go to the background: %w", err))
	}
	defer said.Close()
	if d.passOn(said) {
		return exitOK
	}
	_ = cmd.Wait() // its state is checked below
	return cmd.ProcessState.ExitCode()
}

// passOn copies the daemon's output until the daemon detaches or ends, and reports whether it was
// ready.
func (d *Daemon) passOn(said io.Reader) (ready bool) {
	buf := make([]byte, 4096)
	for {
		n, err := said.Read(buf)
		text, marked := bytes.CutSuffix(buf[:n], []byte(readyMark))
		_, _ = d.Stderr.Write(text) // errors are irrelevant: nobody may be reading
		ready = ready || marked
		if err != nil {
			return ready
		}
	}
}

// startAgain starts the daemon with a pipe as standard error.
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

// leaveTerminal reports readiness, changes to /, and redirects standard input and output to
// /dev/null.
func leaveTerminal() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	_, _ = os.Stderr.WriteString(readyMark) // the parent may have gone
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

// InBackground reports whether this process was started in the background by another one and so has
// no terminal.
func InBackground() bool { return os.Getenv(background) != "" }
