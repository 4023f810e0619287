package pylibrary

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
)

// lib returns the directory with libraries that have the functions of reclass and varstack.
func lib(t *testing.T) string {
	t.Helper()
	need.Program(t, "python3")
	dir, err := filepath.Abs("testdata/lib")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestValuesKeepTheirTypes(t *testing.T) {
	arguments := data.NewMap("reclass_source_path", lib(t))
	c := Reclass("ext_pillar", "web1", arguments, data.NewMap("file_roots", data.NewMap("base", []any{"/srv/salt", "/x"})))
	c.Pillar = data.NewMap(int64(1), []any{"ä\n", []byte{0xfe}}, "m", data.NewMap())
	got, err := c.Do(t.Context())
	const want = `{'uri': '/srv/salt', 'pillar': {1: ['ä\n', b'\xfe'], 'm': {}}, 80: ['a', b'\xff', None, 1.5, True], 't': {(1, 2): []}}`
	if err != nil || data.Repr(got) != want {
		t.Errorf("%s, %v, want %s", data.Repr(got), err, want)
	}
	if arguments.Len() != 1 {
		t.Error("the arguments were changed")
	}
	arguments.Set("inventory_base_uri", "/inv")
	if got, err = Reclass("top", "web1", arguments, data.NewMap()).Do(t.Context()); err != nil ||
		data.Repr(got) != "{'prod': ['web1', '/inv']}" {
		t.Errorf("%s, %v", data.Repr(got), err)
	}
}

func TestVarstack(t *testing.T) {
	c := Varstack("/etc/varstack.yaml", data.NewMap("os", "Debian"))
	c.Path = lib(t)
	got, err := c.Do(t.Context())
	if err != nil || data.Repr(got) != "{'states': ['/etc/varstack.yaml', 'Debian'], 'grains': {'os': 'Debian'}}" {
		t.Errorf("%s, %v", data.Repr(got), err)
	}
}

func TestErrors(t *testing.T) {
	for id, want := range map[string]string{"gone": "reclass.errors.NotFoundError", "broken": "builtins.ValueError"} {
		_, err := Reclass("ext_pillar", id, data.NewMap("reclass_source_path", lib(t)), data.NewMap()).Do(t.Context())
		if e, ok := errors.AsType[*Error](err); !ok || !e.Of(want) {
			t.Errorf("%s: %v, want %s", id, err, want)
		}
	}
	_, err := Reclass("ext_pillar", "x", data.NewMap("reclass_source_path", t.TempDir()), data.NewMap()).Do(t.Context())
	if e, ok := errors.AsType[*Error](err); err == nil || ok && !strings.Contains(e.Text, "reclass") {
		t.Errorf("without the library: %v", err)
	}
}

func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"value": {"map": [["a", {"bytes": "AA=="}], [[1], []]]}}`))
	f.Add([]byte(`{"error": "x", "kinds": ["a"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := result(b); err == nil && !data.Plain(v) {
			t.Errorf("%T of %q", v, b)
		}
	})
}
