package calls

import (
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// TreeOptions returns the options of a minion without a master, with the state tree srv.
func TreeOptions(t *testing.T, srv string) *data.Map {
	t.Helper()
	return data.NewMap("id", "web1", "cachedir", t.TempDir(), "file_client", "local",
		"fileserver_backend", []any{"roots"}, "file_roots", data.NewMap("base", []any{srv}),
		"hash_type", "sha256", "saltenv", nil, "renderer", "jinja|yaml",
		"file_buffer_size", int64(262144))
}

// CheckRoot makes the calls of testdata/calls.json with the directory testdata as the root
// directory, which the file calls ROOT.
func CheckRoot(t *testing.T, plugin loader.Plugin) {
	t.Helper()
	root, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	r, err := loader.NewRegistry(&loader.Env{Root: root}, []loader.Plugin{plugin})
	if err != nil {
		t.Fatal(err)
	}
	Check(t, "testdata/calls.json", r.Invoke, "ROOT", root)
}
