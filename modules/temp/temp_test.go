package temp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func TestPlaces(t *testing.T) {
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	seen := map[any]bool{}
	for fun, mode := range map[string]os.FileMode{"temp.dir": os.ModeDir | 0o700, "temp.file": 0o600} {
		for range 2 {
			for _, where := range []string{parent, os.Getenv("TMPDIR")} {
				words := data.NewMap("prefix", "my-", "suffix", ".x")
				if where == parent {
					words.Set("parent", parent)
				}
				got, err := r.Invoke(t.Context(), fun, nil, words)
				path, _ := got.(string)
				info, stat := os.Lstat(path)
				if err != nil || stat != nil || info.Mode() != mode || seen[got] {
					t.Fatalf("%s gives %v, %v, %v", fun, got, err, stat)
				}
				seen[got] = true
				name := filepath.Base(path)
				if filepath.Dir(path) != where || !strings.HasPrefix(name, "my-") ||
					!strings.HasSuffix(name, ".x") || len(name) != 13 {
					t.Errorf("%s gives %s", fun, path)
				}
			}
		}
		if _, err := r.Invoke(t.Context(), fun, nil,
			data.NewMap("parent", "/nonexistent")); err == nil ||
			!strings.HasPrefix(err.Error(), "[Errno 2] No such file or directory: '/nonexistent/tmp") {
			t.Errorf("%s in no folder: %v", fun, err)
		}
	}
}
