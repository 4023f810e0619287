//go:build linux

package testcluster

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/brineproject/brine/internal/sources"
)

// ProgramsVar is the environment variable that names a directory with the programs salt-master, salt
// and salt-run. Without it each Start builds them.
const ProgramsVar = "BRINE_TEST_PROGRAMS"

// Main runs the tests of a package with programs that are built once, unless ProgramsVar is set. It
// returns the exit code, for TestMain.
func Main(m *testing.M) int {
	if os.Getenv(ProgramsVar) != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "programs")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := build(dir, ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Setenv(ProgramsVar, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// programs returns the directory of the programs.
func programs(t testing.TB) string {
	t.Helper()
	root := sources.Root(t)
	if dir := os.Getenv(ProgramsVar); dir != "" {
		return dir
	}
	dir := t.TempDir()
	if err := build(dir, root); err != nil {
		t.Fatal(err)
	}
	return dir
}

// build builds the programs; the module is that of the directory from, "" means the present one.
func build(dir, from string) error {
	const cmds = "github.com/brineproject/brine/cmd/"
	cmd := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-ldflags=-w", "-o", dir+"/",
		cmds+"salt-master", cmds+"salt", cmds+"salt-run")
	cmd.Dir, cmd.Env = from, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return nil
}
