package python

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
)

func TestSourcesAreEmbedded(t *testing.T) {
	count := 0
	err := filepath.WalkDir("host", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".py" || strings.HasPrefix(path, "host/tests") {
			return err
		}
		count++
		_, err = fs.Stat(sources, filepath.ToSlash(path))
		return err
	})
	if err != nil || count < 50 {
		t.Errorf("of %d sources: %v", count, err)
	}
}

// TestLibrary runs the tests of the host program and of its library.
func TestLibrary(t *testing.T) {
	need.Program(t, "python3")
	cmd := exec.Command("python3", "-I", "-B", "-m", "unittest", "discover", "tests")
	cmd.Dir = "host"
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
