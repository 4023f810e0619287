//go:build linux

package operations

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// TestMain builds the programs as they are delivered, and puts them first in PATH.
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
	build := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", dir+"/", "../../cmd/salt", "../../cmd/salt-key",
		"../../cmd/salt-call", "../../cmd/salt-master", "../../cmd/salt-minion")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	if err := os.Setenv("PATH", dir+":"+os.Getenv("PATH")); err != nil {
		return 1, err
	}
	return run(), nil
}
