package gitfs

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestCVE2025_22240 requests files of environments whose names are paths. None is found, and the
// files of the mirrors stay unchanged.
func TestCVE2025_22240(t *testing.T) {
	src := newSource(t)
	src.commit("top.sls", "base")
	s := serve(t, "gitfs_remotes: [file://"+src.dir+"]")
	if got := s.read("top.sls", "base"); got != "base" {
		t.Fatalf("top.sls of base = %q", got)
	}
	before := filesBelow(t, s.b.root)
	for _, env := range []string{"..", "../..", "../../..", ".", "/", "/etc", "base/..",
		"base/../base", "./base", "base\x00", "--upload-pack=true", "-x", "HEAD", "HEAD~1", "@{0}",
		"refs/heads/../heads/master", "base:..", "..:top.sls", strings.Repeat("../", 50) + "etc"} {
		for _, path := range []string{"top.sls", "../top.sls", "..", ""} {
			if got := s.read(path, env); got != "none" {
				t.Errorf("%q of %q = %q", path, env, got)
			}
		}
	}
	if after := filesBelow(t, s.b.root); after != before {
		t.Errorf("files were\n%s\nand are\n%s", before, after)
	}
	if got := s.read("top.sls", "base"); got != "base" {
		t.Errorf("afterwards top.sls of base = %q", got)
	}
}

func filesBelow(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		all.WriteString(path + "\n")
		return err
	})
	if err != nil || strings.Count(all.String(), "\n") < 5 {
		t.Fatalf("%s: %v", all.String(), err)
	}
	return all.String()
}
