//go:build linux

package archive_test

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// A link that another user put in the place of an archive is replaced, and its target stays
// untouched. An archive keeps its mode.
func TestZipFollowsNoLink(t *testing.T) {
	h := newHost(t)
	h.write("precious", "text", 0o600)
	if err := os.Symlink(h.at("precious"), h.at("a.zip")); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o644, 0o600} {
		if _, err := h.call("zip", []any{h.at("a.zip"), h.at("src/top")}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(h.at("a.zip"))
		text, readErr := os.ReadFile(h.at("precious"))
		if err = errors.Join(err, readErr); err != nil || !info.Mode().IsRegular() ||
			info.Mode().Perm()&^mode != 0 || string(text) != "text" {
			t.Errorf("the archive is %v, the other file has %q, %v", info, text, err)
		}
		if err := os.Chmod(h.at("a.zip"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Wildcards expand to names, never to options: other users could name files so that root's tar runs
// their programs.
func TestWildcardsAreNoOptions(t *testing.T) {
	h := newHost(t, "tar")
	for _, name := range []string{"d/--checkpoint=1", "d/--checkpoint-action=exec=touch evil", "d/x"} {
		h.write(name, "", 0o644)
	}
	t.Chdir(h.at("d"))
	got, err := h.call("tar", []any{"cf", h.at("a.tar"), "*"}, "cwd", h.at("d"))
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	if _, err := os.Lstat(h.at("d/evil")); err == nil {
		t.Error("a name ran a program")
	}
	list, err := h.call("tar", []any{"tf", h.at("a.tar")})
	if err != nil || !strings.Contains(strings.Join(texts(list), "\n"), "--checkpoint=1") {
		t.Errorf("the archive has %v, %v", list, err)
	}
}

func texts(v any) (out []string) {
	list, _ := v.([]any)
	for _, e := range list {
		s, _ := e.(string)
		out = append(out, s)
	}
	return out
}
