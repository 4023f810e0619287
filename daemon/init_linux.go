package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// underInit is set in the environment of the daemon that runs below Init.
const underInit = "BRINE_UNDER_INIT"

// Init makes process 1 of a container the parent of the daemon: it starts the program again with the same arguments,
// passes signals on, and waits for processes whose parents have gone, which process 1 must do. It reports false, and
// does nothing, when this is not process 1; otherwise code is what the container ends with.
func Init(args []string, stderr io.Writer) (code int, done bool) {
	if os.Getpid() != 1 || InContainer() {
		return 0, false
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, append(listened(), syscall.SIGCHLD)...)
	pid, err := startBelow(args)
	if err != nil {
		fmt.Fprintf(stderr, "start the daemon below process 1: %v\n", err)
		return exitGeneric, true
	}
	for sig := range signals {
		if sig != syscall.SIGCHLD {
			_ = syscall.Kill(pid, sig.(syscall.Signal)) // it may be ending
			continue
		}
		if status, ended := reap(pid); ended {
			return codeOf(status), true
		}
	}
	return exitGeneric, true
}

// InContainer reports whether this process was started by Init.
func InContainer() bool { return os.Getenv(underInit) != "" }

// startBelow starts this program again. Its end is seen by reap, not by package exec.
func startBelow(args []string) (pid int, err error) {
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), underInit+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what a terminal sends to the group of process 1 comes once
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

// reap takes the status of all children that have ended, and tells that of one of them.
func reap(pid int) (status unix.WaitStatus, ended bool) {
	for {
		var s unix.WaitStatus
		child, err := unix.Wait4(-1, &s, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || child == 0:
			return status, ended
		case child == pid:
			status, ended = s, true
		}
	}
}

// codeOf is the exit code of a shell for a status.
func codeOf(s unix.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}
