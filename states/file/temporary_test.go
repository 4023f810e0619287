//go:build unix

package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A temporary copy in a shared directory has an unpredictable name, so that nobody can place a file
// there in advance.
func TestCopiesHaveNamesOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	from := filepath.Join(dir, "__salt.tmp.1")
	if err := os.WriteFile(from, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{from: true}
	for range 2 {
		to, err := copyFile(from)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(to)
		body, readErr := os.ReadFile(to)
		if err != nil || readErr != nil || info.Mode() != 0o600 || string(body) != "secret" {
			t.Errorf("%s: %v %q, %v, %v", to, info, body, err, readErr)
		}
		if seen[to] || strings.HasPrefix(to, from+".") || filepath.Dir(to) != dir {
			t.Errorf("the copy is %s", to)
		}
		seen[to] = true
	}
	if _, err := copyFile(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("a copy of nothing: %v", err)
	}
}
