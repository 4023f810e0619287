//go:build linux

package judges_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/python"
)

// An installed Salt, whose programs a test starts.
type installed struct {
	library *python.Library
}

// findSalt returns the Salt that BRINE_TEST_SALT names. Without it the test is skipped, which is not a
// failure where all is required: Salt is not ours to install.
func findSalt(t *testing.T) *installed {
	t.Helper()
	path := os.Getenv("BRINE_TEST_SALT")
	if path == "" {
		t.Skip("BRINE_TEST_SALT names no Salt")
	}
	library, err := python.FindLibrary(t.Context(), path, "python3")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("Salt %s", library.Version)
	return &installed{library}
}

// run is what a program of Salt does. Its arguments are the directory of the library, "" for none, the
// name of the program, and its arguments.
const run = `import sys
path, name = sys.argv[1:3]
if path:
    sys.path.insert(0, path)
sys.argv = [name] + sys.argv[3:]
import salt.scripts
getattr(salt.scripts, name.replace("-", "_"))()
`

// start runs a daemon of Salt with the configuration of a site, until the test ends.
func (i *installed) start(t *testing.T, dir, program string) {
	t.Helper()
	said, err := os.Create(filepath.Join(dir, program+".out"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd := exec.Command(i.library.Interpreter, "-W", "ignore", "-c", run, i.library.Path, program,
		"-c", filepath.Join(dir, "etc"))
	cmd.Stdout, cmd.Stderr = said, said
	cmd.Env = append(os.Environ(), "PYTHONWARNINGS=ignore")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-ended:
		case <-time.After(patience):
			t.Errorf("%s does not end", program)
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has left
		if t.Failed() {
			for _, name := range []string{program + ".out", strings.TrimPrefix(program, "salt-") + ".log"} {
				text, _ := os.ReadFile(filepath.Join(dir, name)) // it may have none
				t.Logf("%s:\n%s", name, text[max(0, len(text)-20_000):])
			}
		}
	})
}
