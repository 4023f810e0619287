package git

import (
	"os"
	"strings"
	"testing"
)

// An argument that callers may not use for options never runs a command or writes a file, wherever
// it is.
func TestWordsAreNoOptions(t *testing.T) {
	h := newHost(t)
	evil := "touch @/evil;false"
	for _, c := range []struct {
		fun   string
		words []any
	}{
		{"archive", []any{"cwd", "@/r", "output", "@/a.tar", "rev", "--exec=" + evil}},
		{"branch", []any{"cwd", "@/r", "name", "--edit-description"}},
		{"checkout", []any{"cwd", "@/r", "rev", "--detach"}},
		{"config_get", []any{"cwd", "@/r", "key", "--list"}},
		{"config_get_regexp", []any{"cwd", "@/r", "key", "--edit"}},
		{"config_set", []any{"cwd", "@/r", "key", "--file=@/evil", "value", "a.b"}},
		{"config_unset", []any{"cwd", "@/r", "key", "--edit"}},
		{"describe", []any{"cwd", "@/r", "rev", "--all"}},
		{"diff", []any{"cwd", "@/r", "item1", "--output=@/evil", "item2", "dev"}},
		{"fetch", []any{"cwd", "@/c", "remote", "--upload-pack=" + evil}},
		{"fetch", []any{"cwd", "@/c", "remote", "origin", "refspecs", []any{"--upload-pack=" + evil}}},
		{"ls_remote", []any{"cwd", "@/c", "remote", "--upload-pack=" + evil, "ref", "@/r"}},
		{"merge", []any{"cwd", "@/r", "rev", "--abort"}},
		{"merge_base", []any{"cwd", "@/r", "refs", "main,--all"}},
		{"merge_tree", []any{"cwd", "@/r", "ref1", "main", "ref2", "--stdin", "base", "main"}},
		{"push", []any{"cwd", "@/c", "remote", "--receive-pack=" + evil, "ref", "origin"}},
		{"rebase", []any{"cwd", "@/r", "rev", "--exec='" + evil + "' v1"}},
		{"remote_refs", []any{"url", "--upload-pack=" + evil, "filter", "@/r"}},
		{"remote_set", []any{"cwd", "@/c", "url", "--mirror=fetch", "remote", "up"}},
		{"symbolic_ref", []any{"cwd", "@/r", "ref", "--delete", "value", "HEAD"}},
		{"tag", []any{"cwd", "@/r", "name", "-d", "ref", "v1"}},
		{"worktree_add", []any{"cwd", "@/r", "worktree_path", "@/w", "ref", "--detach"}},
	} {
		if got := h.call(c.fun, c.words...); !strings.HasPrefix(got, "error: '-") ||
			!strings.HasSuffix(got, "begins with a dash; git would treat it as an option") {
			t.Errorf("%s returned %s", c.fun, got)
		}
	}
	if _, err := os.Lstat(h.dir + "/evil"); err == nil {
		t.Error("a command ran, or a file was written")
	}
}

// A configuration with a password is readable only by its owner, and by its group if that may write
// to it.
func TestLoginIsTheOwners(t *testing.T) {
	h := newHost(t)
	config := h.dir + "/c/.git/config"
	for before, after := range map[os.FileMode]os.FileMode{0o644: 0o600, 0o664: 0o660, 0o600: 0o600} {
		if err := os.Chmod(config, before); err != nil {
			t.Fatal(err)
		}
		h.call("remote_set", "cwd", "@/c", "url", "https://h/r.git", "remote", "up", "https_user",
			"u", "https_pass", "secret")
		text, err := os.ReadFile(config)
		info, statErr := os.Stat(config)
		if err != nil || statErr != nil || !strings.Contains(string(text), "secret") ||
			info.Mode().Perm() != after {
			t.Errorf("after a password was written to a file of mode %v it is %v, %v, %v", before,
				info.Mode(), err, statErr)
		}
	}
}
