package python

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"flag"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
)

var update = flag.Bool("update", false, "write host.zip anew")

// TestSourcesAreEmbedded compares host.zip with the files in host.
func TestSourcesAreEmbedded(t *testing.T) {
	want := map[string]string{}
	err := filepath.WalkDir("host", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".py" || strings.HasPrefix(path, "host/tests") {
			return err
		}
		b, err := os.ReadFile(path)
		want[filepath.ToSlash(path)] = string(b)
		return err
	})
	if err != nil || len(want) < 50 {
		t.Fatalf("of %d sources: %v", len(want), err)
	}
	if *update {
		pack(t, want)
		return
	}
	files, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, path)
		have[path] = string(b)
		return err
	})
	if err != nil || !maps.Equal(have, want) {
		t.Errorf("host.zip is not the directory host, %v: run go generate ./python", err)
	}
}

// pack writes host.zip.
func pack(t *testing.T, files map[string]string) {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("host.zip", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
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
