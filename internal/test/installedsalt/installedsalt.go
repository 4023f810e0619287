// Package installedsalt runs programs of a Salt that is installed on the machine, for tests that pair
// them with Brine's.
//
// BRINE_TEST_SALT names that Salt, as the option python_salt does. Nobody but root and the user of the
// test may be able to change it.
package installedsalt

import (
	"os"
	"os/exec"
	"testing"

	"github.com/brineproject/brine/python"
)

// run is what a program of Salt does. Its arguments are the directory of the library, "" for none, the
// name of the program, and its arguments. Salt 3007, which has no tornado of its own, uses modules of tornado
// that it does not import: not every tornado loads them by itself.
const run = `import importlib, sys
path, name = sys.argv[1:3]
if path:
    sys.path.insert(0, path)
sys.argv = [name] + sys.argv[3:]
try:
    import salt.ext.tornado
except ImportError:
    for module in "gen httpclient ioloop iostream locks queues tcpclient tcpserver".split():
        importlib.import_module("tornado." + module)
import salt.scripts
getattr(salt.scripts, "salt_main" if name == "salt" else name.replace("-", "_"))()
`

// A Salt is an installed Salt, whose programs a test starts.
type Salt struct {
	library *python.Library
}

// Find returns the Salt that BRINE_TEST_SALT names. Without it the test is skipped, which is not a
// failure where all is required: Salt is not ours to install.
func Find(t testing.TB) *Salt {
	t.Helper()
	path := os.Getenv("BRINE_TEST_SALT")
	if path == "" {
		t.Skip("BRINE_TEST_SALT names no Salt")
	}
	library, err := python.FindLibrary(t.Context(), path, "python3")
	if err != nil {
		t.Fatal(err)
	}
	if library == nil {
		t.Fatalf("BRINE_TEST_SALT=%s: there is no Salt", path)
	}
	t.Logf("Salt %s", library.Version)
	return &Salt{library}
}

// Version returns the version of this Salt.
func (s *Salt) Version() string { return s.library.Version }

// Command returns the command that runs a program of this Salt, such as salt-master. Its environment is
// that of the test, without Python's warnings.
func (s *Salt) Command(program string, args ...string) *exec.Cmd {
	words := append([]string{"-W", "ignore", "-c", run, s.library.Path, program}, args...)
	cmd := exec.Command(s.library.Interpreter, words...)
	cmd.Env = append(os.Environ(), "PYTHONWARNINGS=ignore")
	return cmd
}
