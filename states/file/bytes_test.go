package file_test

import (
	"os"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Lines are not inserted into a binary file: as in Salt 3006.0 the state fails at the first invalid
// byte, and the file is unchanged.
func TestBinaryFileIsNotEdited(t *testing.T) {
	h := newHost(t)
	h.write("bin", "\x00\x01\xff\n")
	for _, args := range []*data.Map{data.NewMap("name", h.at("bin"), "text", "x"),
		data.NewMap("name", h.at("bin"), "text", "x", "header", true)} {
		ctx := loader.WithContext(change.WithCall(t.Context(), &change.Call{SaltEnv: "base"}),
			loader.ContextOf(t.Context()))
		_, err := h.states.Invoke(ctx, "file.prepend", nil, args)
		if err == nil || err.Error() != "'utf-8' codec can't decode byte 0xff in position 2: invalid start byte" {
			t.Errorf("prepend %s: %v", data.Repr(args), err)
		}
	}
	if body, err := os.ReadFile(h.at("bin")); string(body) != "\x00\x01\xff\n" {
		t.Errorf("the file is %q, %v", body, err)
	}
}

// A file is not written relative to the working directory of salt-minion.
func TestSerializeToRelativePath(t *testing.T) {
	h := newHost(t)
	t.Chdir(h.dir)
	for range 2 {
		ret := h.run("serialize", false, "name", "rel", "dataset", data.NewMap("a", int64(1)))
		if ret.Value("result") != false || ret.Text("comment") != "Parent directory not present" {
			t.Errorf("got %s", data.Repr(ret))
		}
	}
	if _, err := os.Stat(h.at("rel")); !os.IsNotExist(err) {
		t.Errorf("the file is there: %v", err)
	}
}
