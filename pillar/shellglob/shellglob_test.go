package shellglob

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.yml", "a.yml", ".c.yml", "d/x.yml", ".e/x.yml"} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]string{
		"*.yml": "a.yml b.yml", "a.yml": "a.yml", ".*.yml": ".c.yml", "*/x.yml": "d/x.yml",
		".*/x.yml": ".e/x.yml", "[!a].yml": "b.yml", "[ab].yml": "a.yml b.yml",
		"none": "", "?.yml": "a.yml b.yml", "[": "",
	} {
		var got []string
		for _, p := range Paths(filepath.Join(dir, pattern)) {
			got = append(got, strings.TrimPrefix(p, dir+"/"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", pattern, got, want)
		}
	}
}
