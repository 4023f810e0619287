package file_test

import (
	"testing"

	"github.com/brineproject/brine/data"
)

// The result of a folder has its name as it was given, as Salt 3006.0 has it; comments and changes have it without a slash at its end.
func TestDirectoryWithSlash(t *testing.T) {
	h := newHost(t)
	dir := h.at("d")
	ret := h.run("directory", false, "name", dir+"/")
	if ret.Text("name") != dir+"/" || !ret.Value("changes").(*data.Map).Has(dir) {
		t.Errorf("first run: %s", data.Repr(ret))
	}
	ret = h.run("directory", false, "name", dir+"/")
	if ret.Text("name") != dir+"/" || data.Truth(ret.Value("changes")) || ret.Text("comment") != "The directory "+dir+" is in the correct state" {
		t.Errorf("second run: %s", data.Repr(ret))
	}
}
