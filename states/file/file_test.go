//go:build unix

package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/file"
)

// A host has the file states and a directory for them.
type host struct {
	t      *testing.T
	dir    string
	states *loader.Registry
	log    *logtest.Hook
}

func newHost(t *testing.T) *host {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	srv := filepath.Join(dir, "srv")
	opts := data.NewMap("id", "web1", "file_client", "local", "local", true, "user", "root",
		"cachedir", filepath.Join(dir, "cache"), "conf_file",
		filepath.Join(dir, "minion"), "fileserver_backend", []any{"roots"}, "file_roots",
		data.NewMap("base", []any{srv}), "hash_type", "sha256",
		"file_buffer_size", int64(262144), "test", false)
	log, hook := logtest.NewNullLogger()
	env := &loader.Env{Opts: opts, Log: log, Pillar: func() *data.Map {
		return data.NewMap("who", "pillar", "plain", data.NewMap("b", int64(1)),
			"compiled", data.NewMap("b", int64(1)).SetOrdered())
	}}
	funcs, err := loader.NewRegistry(env, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	states, err := loader.NewRegistry(funcs.Env(), []loader.Plugin{file.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t, dir, states, hook}
	h.write("srv/t.conf", "to {{ who }}\n")
	h.write("cache/x", "") // the cache is not part of the tree
	return h
}

func (h *host) at(name string) string { return filepath.Join(h.dir, name) }

func (h *host) write(name, body string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.at(name)), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.at(name), []byte(body), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// run runs a state, optionally in test mode.
func (h *host) run(fun string, test bool, words ...any) *data.Map {
	h.t.Helper()
	low := data.NewMap("state", "file", "__id__", "x", "__sls__", "s",
		"require_in", []any{data.NewMap("file", "y")})
	call := &change.Call{Test: test, Low: low, SaltEnv: "base", Run: "r",
		Chunks: func() []*data.Map { return nil }}
	ctx := loader.WithContext(change.WithCall(h.t.Context(), call), loader.ContextOf(h.t.Context()))
	v, err := h.states.Invoke(ctx, "file."+fun, nil, data.NewMap(words...))
	ret, ok := v.(*data.Map)
	if err != nil || !ok {
		h.t.Fatalf("file.%s: %v, %v", fun, v, err)
	}
	return ret
}

func (h *host) tree() string {
	var b strings.Builder
	_ = filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !strings.Contains(path, "/cache") {
			info, _ := d.Info()
			body, _ := os.ReadFile(path)
			b.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().String() + " " +
				string(body) + "\n")
		}
		return nil
	})
	return b.String()
}

// A rendered file that check_cmd refuses leaves nothing in the temporary directory, as in Salt.
func TestRefusedTemporaries(t *testing.T) {
	h, tmp := newHost(t), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	h.write("f", "a\n")
	ret := h.run("managed", false, "name", h.at("f"), "source", "salt://t.conf", "template", "jinja",
		"context", data.NewMap("who", "you"), "check_cmd", "grep -q me")
	if ret.Value("result") != false || ret.Value("comment") != "check_cmd execution failed" {
		t.Errorf("%s", data.Repr(ret))
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// First test mode writes nothing, then the state makes the announced changes, then nothing is left
// to do.
func TestThrice(t *testing.T) {
	for _, tt := range []struct {
		name, fun string
		old       string // content of f; "" for none
		words     []any
		want      string // content of f afterwards; "-" for none
	}{
		{"contents", "managed", "", []any{"contents", "a\nb", "mode", "0600"}, "a\nb\n"},
		{"contents over others", "managed", "x\n", []any{"contents", "a"}, "a\n"},
		{"contents of pillar", "managed", "", []any{"contents_pillar", "who"}, "pillar\n"},
		{"a mapping of a pillar that a master sent", "managed",
			"", []any{"contents_pillar", "plain"}, "{'b': 1}\n"},
		{"a mapping of a pillar compiled here", "managed", "", []any{"contents_pillar", "compiled"},
			"OrderedDict([('b', 1)])\n"},
		{"source and template", "managed",
			"", []any{"source", "salt://t.conf", "template", "jinja",
				"context", data.NewMap("who", "you")}, "to you\n"},
		{"check_cmd", "managed", "a\n", []any{"contents", "b", "check_cmd", "grep -q b"}, "b\n"},
		{"check_cmd without a shell", "managed",
			"a\n", []any{"contents", "b", "check_cmd", "true ; false"}, "b\n"},
		{"mode alone", "managed", "a\n", []any{"mode", "0600"}, "a\n"},
		{"absent", "absent", "a\n", nil, "-"},
		{"append", "append", "a\n", []any{"text", []any{"b c", "a"}}, "a\nb c\n"},
		{"prepend", "prepend", "a\n", []any{"text", "b"}, "b\na\n"},
		{"replace", "replace", "k=1\nl=2\n",
			[]any{"pattern", `^(k)=.*$`, "repl", `\1=3`, "backup", false}, "k=3\nl=2\n"},
		{"replace and append", "replace",
			"k=1", []any{"pattern", "^z=.*", "repl", "z=1", "append_if_not_found", true,
				"backup", false}, "k=1\nz=1\n"},
		{"line", "line", "a\nb\n", []any{"content", "c", "after", "^a", "mode", "ensure"}, "a\nc\nb\n"},
		{"line away", "line", "a\nb\n", []any{"match", "a", "mode", "delete"}, "b\n"},
		{"blockreplace", "blockreplace",
			"a\n", []any{"marker_start", "#S", "marker_end", "#E", "content", "x",
				"append_if_not_found", true, "backup", false}, "a\n#S\nx\n#E\n"},
		{"comment", "comment", "a\nb\n", []any{"regex", "^a", "backup", false}, "#a\nb\n"},
		{"uncomment", "uncomment", "#a\nb\n", []any{"regex", "^a", "backup", false}, "a\nb\n"},
		{"keyvalue", "keyvalue", "# A = 1\nB = 2\n",
			[]any{"key_values", data.NewMap("A", "5", "C", "7"), "separator", " = ", "uncomment",
				"# ", "append_if_not_found", true}, "A = 5\nB = 2\nC = 7\n"},
		{"serialize", "serialize", "", []any{"dataset", data.NewMap("a", int64(1)), "serializer",
			"json"}, "{\n  \"a\": 1\n}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t)
			if tt.old != "" {
				h.write("f", tt.old)
			}
			words := append([]any{"name", h.at("f")}, tt.words...)
			before := h.tree()
			if ret := h.run(tt.fun, true, words...); ret.Value("result") != nil && tt.name != "mode alone" {
				t.Errorf("test mode: %s", data.Repr(ret))
			}
			if after := h.tree(); after != before {
				t.Errorf("test mode wrote: %s", after)
			}
			ret := h.run(tt.fun, false, words...)
			if changes, _ := ret.Value("changes").(*data.Map); ret.Value("result") != true ||
				changes.Len() == 0 {
				t.Errorf("first run: %s", data.Repr(ret))
			}
			body, err := os.ReadFile(h.at("f"))
			if got := string(body); err == nil && got != tt.want || err != nil && tt.want != "-" {
				t.Errorf("content %q, %v, want %q", got, err, tt.want)
			}
			again := h.run(tt.fun, false, words...)
			if changes, _ := again.Value("changes").(*data.Map); again.Value("result") != true ||
				changes.Len() > 0 {
				t.Errorf("second run: %s", data.Repr(again))
			}
		})
	}
}

// An edit keeps the mode of a file, and a link to it.
func TestKeeps(t *testing.T) {
	h := newHost(t)
	h.write("real", "a\n")
	if err := os.Chmod(h.at("real"), 0o751); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", h.at("f")); err != nil {
		t.Fatal(err)
	}
	h.run("managed", false, "name", h.at("f"), "contents", "b", "backup", "minion")
	h.run("append", false, "name", h.at("f"), "text", "c")
	info, err := os.Stat(h.at("real"))
	if err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
	if to, err := os.Readlink(h.at("f")); err != nil || to != "real" {
		t.Errorf("the link is %q, %v", to, err)
	}
	if body, _ := os.ReadFile(h.at("real")); string(body) != "b\nc\n" {
		t.Errorf("content is %q", body)
	}
	kept, _ := filepath.Glob(h.at("cache/file_backup" + h.dir + "/real_*"))
	if len(kept) != 1 {
		t.Errorf("backups are %q", kept)
	}
}

// With show_changes: False the content appears in no result, in test mode or not.
func TestHidden(t *testing.T) {
	h := newHost(t)
	h.write("f", "old secret\n")
	for _, test := range []bool{true, false} {
		ret := h.run("managed", test, "name", h.at("f"), "contents", "new secret", "show_changes", false)
		if text := data.Repr(ret); strings.Contains(text, "secret") ||
			!strings.Contains(text, "<show_changes=False>") {
			t.Errorf("test=%v: %s", test, text)
		}
	}
}
