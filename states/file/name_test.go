package file_test

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
)

// As in Salt 3006.0, the result of a directory has its name as given. Comments and changes have it
// without a trailing slash.
func TestDirectoryWithSlash(t *testing.T) {
	h := newHost(t)
	dir := h.at("d")
	ret := h.run("directory", false, "name", dir+"/")
	if ret.Text("name") != dir+"/" || !ret.Value("changes").(*data.Map).Has(dir) {
		t.Errorf("first run: %s", data.Repr(ret))
	}
	ret = h.run("directory", false, "name", dir+"/")
	if ret.Text("name") != dir+"/" || data.Truth(ret.Value("changes")) ||
		ret.Text("comment") != "The directory "+dir+" is in the correct state" {
		t.Errorf("second run: %s", data.Repr(ret))
	}
}

// Systemd units have no HOME. Then ~ is the home directory in the password database, never the root
// directory.
func TestNamesInTheHomeDirectoryWithoutHOME(t *testing.T) {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	need.Have(t, "an account of the user of the test", err == nil)
	t.Setenv("HOME", "")
	_ = os.Unsetenv("HOME")
	h := newHost(t)
	missing := filepath.Base(filepath.Dir(h.dir)) + "-is-not-here" // neither in the home directory nor in /
	want := filepath.Join(u.HomeDir, missing)
	if ret := h.run("absent", false, "name", "~/"+missing); ret.Text("comment") != "File "+want+
		" is not present" {
		t.Errorf("file.absent: %s, want %s", data.Repr(ret), want)
	}
	if ret := h.run("exists", false, "name",
		"~/"+missing); ret.Text("comment") != "Specified path "+want+" does not exist" {
		t.Errorf("file.exists: %s, want %s", data.Repr(ret), want)
	}
	if ret := h.run("managed", true, "name", "~/"+missing, "contents", "x"); ret.Text("name") != want {
		t.Errorf("file.managed: %s, want %s", data.Repr(ret), want)
	}
	for _, name := range []string{"~", "~/"} {
		if ret := h.run("directory", true, "name", name); ret.Value("result") != true {
			t.Errorf("file.directory of %s: %s", name, data.Repr(ret))
		}
	}
}
