//go:build unix

package file_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// These tests compare with Salt 3006.18 and 3007.10; testdata/salt.json is from 3006.0.

// A link to another target is changed, also if the target is a directory.
func TestSymlinkChangesTarget(t *testing.T) {
	h := newHost(t)
	for _, dir := range []string{"d1", "d2"} {
		if err := os.Mkdir(h.at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link, words := h.at("ln"), []any{"name", h.at("ln"), "target", h.at("d2")}
	if err := os.Symlink(h.at("d1"), link); err != nil {
		t.Fatal(err)
	}
	if ret := h.run("symlink", true, words...); ret.Value("result") != nil {
		t.Errorf("test mode: %s", data.Repr(ret))
	}
	if to, _ := os.Readlink(link); to != h.at("d1") {
		t.Errorf("test mode made %s", to)
	}
	ret := h.run("symlink", false, words...)
	if ret.Value("result") != true || ret.Text("comment") != "Created new symlink "+link+" -> "+h.at("d2") {
		t.Errorf("first run: %s", data.Repr(ret))
	}
	if to, err := os.Readlink(link); to != h.at("d2") {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if ret = h.run("symlink", false, words...); ret.Value("result") != true ||
		data.Truth(ret.Value("changes")) {
		t.Errorf("second run: %s", data.Repr(ret))
	}
}

// An apostrophe is an ordinary character, and appended texts with quotes are found again.
func TestAppendTextsWithQuotes(t *testing.T) {
	for _, text := range []string{"HISTTIMEFORMAT='%F %T '", "alpha 'beta", `say "hello  there"`,
		`it's "both ways"`, `a '\" b`} {
		h := newHost(t)
		h.write("f", "x\n")
		ret := h.run("append", false, "name", h.at("f"), "text", text)
		if body, _ := os.ReadFile(h.at("f")); ret.Value("result") != true || string(body) != "x\n"+text+"\n" {
			t.Errorf("append %s: %s, file %q", text, data.Repr(ret), body)
		}
		if ret = h.run("append", false, "name", h.at("f"),
			"text", text); ret.Value("result") != true || data.Truth(ret.Value("changes")) {
			t.Errorf("append %s again: %s", text, data.Repr(ret))
		}
	}
}

// A max_depth of 1 covers the entries of the directory itself, but not those of its subdirectories.
func TestDirectoryMaxDepth(t *testing.T) {
	for depth, deepest := range []string{"", "top/sub", "top/sub/g", "top/sub/g"} {
		h := newHost(t)
		h.write("top/sub/g", "")
		words := []any{"name", h.at("top"), "max_depth", int64(depth), "dir_mode", "0755",
			"file_mode", "0755", "recurse", []any{"mode"}}
		for _, dir := range []string{"top/sub", "top"} {
			if err := os.Chmod(h.at(dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		ret := h.run("directory", false, words...)
		for i, path := range []string{"top", "top/sub", "top/sub/g"} {
			info, err := os.Stat(h.at(path))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := info.Mode().Perm() == 0o755, i <= strings.Count(deepest, "/"); got != want {
				t.Errorf("max_depth %d: %s has mode %o, changed %v, want %v: %s", depth, path,
					info.Mode().Perm(), got, want, data.Repr(ret))
			}
		}
		if ret = h.run("directory", false, words...); data.Truth(ret.Value("changes")) {
			t.Errorf("max_depth %d again: %s", depth, data.Repr(ret))
		}
	}
}

// Test mode reports that a link would be renamed, and does not mistake its target for the desired
// directory.
func TestDirectoryOverLinkInTestMode(t *testing.T) {
	h := newHost(t)
	h.write("d/x", "")
	link, backup := h.at("ln"), h.at("old")
	if err := os.Symlink(h.at("d"), link); err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{false, true} {
		want := data.NewMap("backup", link+" would be renamed to "+backup, link,
			data.NewMap("directory", "new"))
		if there {
			h.write("old", "")
			want.Set("forced", "Existing file at backup path "+backup+" would be removed")
		}
		before := h.tree()
		ret := h.run("directory", true, "name", link, "allow_symlink", false, "force", true,
			"backupname", backup)
		if ret.Value("result") != nil || ret.Text("comment") != link+
			" would be backed up and replaced with a new directory" ||
			!data.Equal(ret.Value("changes"), want) {
			t.Errorf("backup there %v: %s", there, data.Repr(ret))
		}
		if h.tree() != before {
			t.Error("test mode wrote")
		}
	}
}

// If a file already has source_hash, the source is not fetched. Nothing listens on its port.
func TestManagedFetchesNothingForSourceHash(t *testing.T) {
	h := newHost(t)
	h.write("f", "content\n")
	words := []any{"name", h.at("f"), "source", "http://127.0.0.1:1/none",
		"source_hash", fmt.Sprintf("%x", sha256.Sum256([]byte("content\n")))}
	for _, test := range []bool{true, false} {
		if ret := h.run("managed", test, words...); ret.Value("result") != true ||
			data.Truth(ret.Value("changes")) {
			t.Errorf("test %v: %s", test, data.Repr(ret))
		}
	}
	h.write("f", "other\n")
	if ret := h.run("managed", false, words...); ret.Value("result") != false {
		t.Errorf("another content: %s", data.Repr(ret))
	}
}

// A requisite with only an ID counts if the ID is that of a file state.
func TestAccumulatedForAnIDAlone(t *testing.T) {
	h := newHost(t)
	chunks := []*data.Map{data.NewMap("state", "file", "__id__", "cf", "name", h.at("f")),
		data.NewMap("state", "test", "__id__", "other", "name", "other")}
	for id, want := range map[string]bool{"cf": true, h.at("f"): true, "other": false, "none": false} {
		low := data.NewMap("state", "file", "__id__", "ac", "__sls__", "acc", "watch_in", []any{id})
		call := &change.Call{Low: low, SaltEnv: "base", Run: "r",
			Chunks: func() []*data.Map { return chunks }}
		ctx := loader.WithContext(change.WithCall(t.Context(), call), loader.ContextOf(t.Context()))
		v, err := h.states.Invoke(ctx, "file.accumulated", nil,
			data.NewMap("name", "ac", "filename", h.at("f"), "text", "x"))
		if ret, _ := v.(*data.Map); err != nil || ret.Value("result") != want {
			t.Errorf("watch_in of %s: %s, %v, want %v", id, data.Repr(v), err, want)
		}
	}
}

// Lines that are commented in another way count as missing.
func TestCommentIgnoresMissingWithSeveralLines(t *testing.T) {
	h := newHost(t)
	h.write("f", "#PermitRootLogin yes\n")
	for range 2 {
		ret := h.run("comment", false, "name", h.at("f"), "regex", "^PermitRootLogin[ \t]+.*$",
			"char", "# NEXT\n# ", "ignore_missing", true)
		if ret.Value("result") != true ||
			ret.Text("comment") != "Pattern not found and ignore_missing set to True" ||
			data.Truth(ret.Value("changes")) {
			t.Errorf("got %s", data.Repr(ret))
		}
	}
}

// With include_empty, test mode also lists the directory itself as NAME/. Afterwards nothing is
// left to do.
func TestRecurseWithEmptyDirectoriesNamesTheRoot(t *testing.T) {
	h := newHost(t)
	h.write("srv/tree/sub/a", "a")
	words := []any{"name", h.at("d"), "source", "salt://tree", "include_empty", true}
	ret := h.run("recurse", true, words...)
	if root := h.at("d") + "/."; !data.Equal(ret.Value("changes").(*data.Map).Value(root),
		data.NewMap(root, data.NewMap("directory", "new"))) {
		t.Errorf("test mode: %s", data.Repr(ret))
	}
	if ret = h.run("recurse", false, words...); ret.Value("result") != true ||
		ret.Value("changes").(*data.Map).Has(h.at("d")+"/.") {
		t.Errorf("first run: %s", data.Repr(ret))
	}
	for _, test := range []bool{false, true} {
		if ret = h.run("recurse", test, words...); ret.Value("result") != true ||
			data.Truth(ret.Value("changes")) {
			t.Errorf("second run, test %v: %s", test, data.Repr(ret))
		}
	}
}
