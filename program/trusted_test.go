//go:build unix

package program_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/program"
)

func TestTrusted(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, d := range []struct {
		name string
		mode os.FileMode
	}{{"own", 0o755}, {"group", 0o775}, {"open", 0o777}, {"open/below", 0o755}, {"sticky", 0o777 | os.ModeSticky}, {"sticky/below", 0o755}} {
		if err := os.MkdirAll(at(d.name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at(d.name), d.mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("open/below", at("link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"own": "", "sticky/below": "", "group": "group has mode 0775", "open": "open has mode 0777",
		"open/below": "open has mode 0777", "sticky": "sticky has mode 1777", "link": "open has mode 0777", "nothing": "no such file"} {
		checkTrust(t, at(name), want)
	}
}

func TestTrustedOwner(t *testing.T) {
	need.Root(t, "to give a directory to somebody")
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "theirs", "ours"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(dir, "theirs"), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	checkTrust(t, filepath.Join(dir, "theirs"), "theirs belongs to the user with the id 12345")
	checkTrust(t, filepath.Join(dir, "theirs", "ours"), "theirs belongs to the user with the id 12345")
}

// TestTrustedLinks checks each link on the way to a file, not only what the last one leads to.
func TestTrustedLinks(t *testing.T) {
	need.Root(t, "to create another user's link")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.MkdirAll(at("real/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, link := range [][2]string{{"theirs", "real"}, {"ours", "real"}, {"absolute", at("theirs")},
		{"real/up", "../theirs/sub"}, {"loop", "loop"}} {
		if err := os.Symlink(link[1], at(link[0])); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Lchown(at("theirs"), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	const want = "/theirs belongs to the user with the id 12345"
	checkTrust(t, at("ours/sub"), "")
	checkTrust(t, at("theirs"), want)
	checkTrust(t, at("theirs/sub"), want)
	checkTrust(t, at("absolute/sub"), want)
	checkTrust(t, at("ours/up"), want)
	checkTrust(t, at("loop"), "loop leads through more than 40 links")
}

func checkTrust(t *testing.T, path, want string) {
	t.Helper()
	err := program.Trusted(path)
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("Trusted(%s) = %v, want %q", path, err, want)
	}
}
