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

// underInit is the environment variable set in the daemon started by Init.
const underInit = "BRINE_UNDER_INIT"

// Init makes process 1 of a container the parent of the daemon. It starts the program again with
// the same arguments, forwards signals, and reaps orphaned processes, as process 1 must. If this is
// not process 1, it does nothing and done is false. Otherwise code is the exit code of the
// container.
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
			_ = syscall.Kill(pid, sig.(syscall.Signal)) // the process may have ended
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

// startBelow starts this program again. reap collects its exit status, not package exec.
func startBelow(args []string) (pid int, err error) {
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), underInit+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// so that signals from a terminal arrive only once, through process 1
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

// reap collects the status of all ended children, and reports that of pid.
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

// codeOf returns the shell's exit code for a status.
func codeOf(s unix.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}
