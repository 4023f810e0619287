package roots

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// tree creates a root with files, a secret beside it, and links that lead out.
func tree(t *testing.T) (root, outside string, r *loader.Registry) {
	t.Helper()
	dir := t.TempDir()
	root, outside = filepath.Join(dir, "srv"), filepath.Join(dir, "outside")
	for name, text := range map[string]string{"srv/top.sls": "base: {}\n", "srv/sub/x.txt": "x",
		"srv/data.bin": "a\x00b", "outside/secret": "secret"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": outside,
		"file": filepath.Join(outside, "secret"), "up": "../outside"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	opts := data.NewMap("file_roots", data.NewMap("base", []any{root}),
		"pillar_roots", data.NewMap("base", []any{root}))
	r, err := loader.NewRegistry(&loader.Env{Opts: opts},
		[]loader.Plugin{Plugin("file_roots"), Plugin("pillar_roots")})
	if err != nil {
		t.Fatal(err)
	}
	return root, outside, r
}

func call(t *testing.T, r *loader.Registry, fun string, args ...any) any {
	t.Helper()
	v, err := r.Invoke(t.Context(), fun, args, nil)
	if err != nil {
		t.Fatalf("%s %v: %v", fun, args, err)
	}
	return v
}

func TestFilesAreFoundReadAndListed(t *testing.T) {
	root, _, r := tree(t)
	for _, tt := range []struct {
		fun  string
		args []any
		want any
	}{
		{"find", []any{"top.sls"}, []any{data.NewMap(root+"/top.sls", "txt")}},
		{"find", []any{"data.bin"}, []any{data.NewMap(root+"/data.bin", "bin")}},
		{"find", []any{"nosuch"}, []any{}},
		{"find", []any{"top.sls", "nosuch"}, []any{}},
		{"read", []any{"sub/x.txt"}, []any{data.NewMap(root+"/sub/x.txt", "x")}},
		{"read", []any{"data.bin"}, []any{}},
		{"list_env", nil, data.NewMap(root,
			data.NewMap("data.bin", "f", "file", "f", "link", "f", "sub", data.NewMap("x.txt", "f"),
				"top.sls", "f", "up", "f"))},
		{"list_env", []any{"nosuch"}, data.NewMap()},
	} {
		for _, module := range []string{"file_roots.", "pillar_roots."} {
			if got := call(t, r, module+tt.fun, tt.args...); !data.Equal(got, tt.want) {
				t.Errorf("%s%s%v is %s, want %s", module, tt.fun, tt.args, data.Repr(got), data.Repr(tt.want))
			}
		}
	}
}

func TestWrite(t *testing.T) {
	root, _, r := tree(t)
	for range 2 {
		if got := call(t, r, "file_roots.write", "new\n", "a/b.sls"); got != "Wrote data to file "+
			root+"/a/b.sls" {
			t.Errorf("write: %v", got)
		}
		if text, err := os.ReadFile(root + "/a/b.sls"); err != nil || string(text) != "new\n" {
			t.Errorf("the file has %q, %v", text, err)
		}
	}
	for _, tt := range []struct {
		args []any
		want string
	}{
		{[]any{"x", "y", "nosuch"}, "Named environment nosuch is not present"},
		{[]any{"x", "y", "base", int64(1)}, "Specified index 1 in environment base is not present"},
		{[]any{"x", "y", "base", int64(-1)}, "Specified index -1 in environment base is not present"},
		{[]any{"x", "/etc/y"}, "The path passed in /etc/y is not relative to the environment base"},
	} {
		if got := call(t, r, "file_roots.write", tt.args...); got != tt.want {
			t.Errorf("write %v: %v, want %s", tt.args, got, tt.want)
		}
	}
}

// TestCVE2020_11652 uses paths outside of the root, through .. and through links: none is read or
// written (CVE-2021-25282 too).
func TestCVE2020_11652(t *testing.T) {
	root, outside, r := tree(t)
	paths := []string{"../outside/secret", "sub/../../outside/secret", "link/secret", "file",
		"up/secret", "./../outside/secret", "..", ".", "", outside + "/secret", "//" + outside +
			"/secret", "sub/../../../../../../etc/passwd", "top.sls\x00/../../outside/secret",
		`..\outside\secret`, "link/new", "up/new", "../new"}
	for _, module := range []string{"file_roots.", "pillar_roots."} {
		for _, path := range paths {
			for _, fun := range []string{"find", "read"} {
				if got := call(t, r, module+fun, path); !data.Equal(got, []any{}) {
					t.Errorf("%s%s %q gives %s", module, fun, path, data.Repr(got))
				}
			}
			v, err := r.Invoke(t.Context(), module+"write", []any{"evil", path}, nil)
			if text, _ := v.(string); err == nil && strings.HasPrefix(text, "Wrote") {
				t.Errorf("%swrite %q: %s", module, path, text)
			}
		}
	}
	if text, err := os.ReadFile(outside + "/secret"); err != nil || string(text) != "secret" {
		t.Errorf("the secret is %q, %v", text, err)
	}
	for _, dir := range []string{outside, filepath.Dir(root)} {
		if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
			t.Errorf("a file was made in %s", dir)
		}
	}
}
