//go:build linux

package operations

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain builds the programs as for a release, and puts them first in PATH.
func TestMain(m *testing.M) {
	code, err := withPrograms(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func withPrograms(run func() int) (code int, err error) {
	dir, err := os.MkdirTemp("", "programs")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // other users run them too
		return 1, err
	}
	build := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", dir+"/",
		"../../../cmd/salt", "../../../cmd/salt-key", "../../../cmd/salt-call",
		"../../../cmd/salt-run", "../../../cmd/salt-cp", "../../../cmd/salt-master",
		"../../../cmd/salt-minion", "../../../cmd/salt-syndic")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	if err := os.Setenv("PATH", dir+":"+os.Getenv("PATH")); err != nil {
		return 1, err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1, err
	}
	defer killOrphans()
	return run(), nil
}

// killOrphans ends orphaned daemons, which this process inherits. A failing script may leave some.
func killOrphans() {
	for {
		tasks, err := filepath.Glob("/proc/self/task/*/children")
		if err != nil {
			return
		}
		n := 0
		for _, file := range tasks {
			list, _ := os.ReadFile(file) // the thread may have ended
			for _, word := range strings.Fields(string(list)) {
				if pid, err := strconv.Atoi(word); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
					n++
					_, _ = syscall.Wait4(pid, nil, 0, nil)
				}
			}
		}
		if n == 0 {
			return
		}
	}
}
