package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/sources"
	"github.com/brineproject/brine/internal/test/need"
)

// searchPath includes the directories of administrators' programs, which a user's path may lack.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// requires ends the test if the host lacks programs that it uses, or root privileges.
func requires(t *testing.T, root bool, programs ...string) {
	t.Helper()
	t.Setenv("PATH", os.Getenv("PATH")+":"+searchPath)
	if root {
		need.Root(t, "to install packages")
	}
	need.Program(t, programs...)
}

// in runs a command in a directory and returns its output; a failure ends the test.
func in(t *testing.T, dir string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

// staged copies the shipped files other than the programs into a directory and returns that.
func staged(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	in(t, sources.Root(t), "sh", "scripts/stage.sh", dir)
	return dir
}

// files returns the files that patterns below dir match; each pattern must match some.
func files(t *testing.T, dir string, patterns ...string) []string {
	t.Helper()
	var all []string
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, p))
		if err != nil || len(found) == 0 {
			t.Fatalf("nothing is %s: %v", p, err)
		}
		all = append(all, found...)
	}
	return all
}

// text returns the content of a file.
func text(t *testing.T, file string) string {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
