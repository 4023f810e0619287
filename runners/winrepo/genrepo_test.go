package winrepo_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
	"github.com/brineproject/brine/runners"
	"github.com/brineproject/brine/runners/winrepo"
)

type noArgs struct{}

// fake returns a runner that templates can look for.
func fake(name, function string) loader.Plugin {
	return loader.Plugin{Name: name, New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F(function,
			func(context.Context, noArgs) (any, error) { return nil, nil })}}, nil
	}}
}

// master returns the runners of a master with further options.
func master(t *testing.T, opts ...any) *loader.Registry {
	t.Helper()
	all := data.NewMap("id", "vm_master", "cachedir", t.TempDir(), "renderer", "jinja|yaml",
		"file_roots", data.NewMap("base", []any{t.TempDir()}), "fileserver_backend", []any{"roots"},
		"hash_type", "sha256", "winrepo_cachefile", "winrepo.p", "winrepo_branch", "master",
		"winrepo_ssl_verify", true, "winrepo_fallback", "", "winrepo_refspecs",
		[]any{"+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"})
	all.Update(data.NewMap(opts...))
	b := render.Brought{Renderers: stdrender.Renderers(),
		Files: fileclient.Brought{Local: fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})}}
	r, err := loader.NewRegistry(&loader.Env{Opts: all}, []loader.Plugin{winrepo.Plugin(b),
		fake("test", "arg"), fake("config", "get")})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// call calls a function as a client of runners does, and returns its result and its events.
func call(t *testing.T, r *loader.Registry, fun string, words *data.Map) (any, []*data.Map) {
	t.Helper()
	var fired []*data.Map
	c := runners.New(runners.Options{Kind: runners.Runner, Functions: r, Log: r.Env().Log,
		Fire: func(_ context.Context, tag string, body *data.Map) error {
			if strings.HasSuffix(tag, "/progress") {
				fired = append(fired, body)
			}
			return nil
		}})
	res := c.Run(t.Context(), runners.Call{Fun: fun, Kwargs: words, JID: "20230102030405060709"})
	return res.Value("return"), fired
}

// copied returns a copy of testdata/defs, where nothing is to be written.
func copied(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestGenrepo compares the file, and the result, with the file that Salt 3006.18 wrote. Its order
// of files is that of the disk, so only that of one file is compared byte by byte.
func TestGenrepo(t *testing.T) {
	for _, tt := range []struct {
		from, golden string
		exact        bool
	}{{"testdata/defs", "testdata/salt.p", false}, {"testdata/defs/sub", "testdata/sub.p", true}} {
		dir := copied(t, tt.from)
		r := master(t, "winrepo_dir", dir)
		salts, err := os.ReadFile(tt.golden)
		if err != nil {
			t.Fatal(err)
		}
		want, err := payload.UnmarshalText(salts, payload.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, fired := call(t, r, "winrepo.genrepo", nil)
			if !data.Equal(got, want) {
				t.Errorf("%s:\n got %s\nwant %s", tt.from, data.Repr(got), data.Repr(want))
			}
			text, err := os.ReadFile(filepath.Join(dir, "winrepo.p"))
			if err != nil {
				t.Fatal(err)
			}
			stored, err := payload.UnmarshalText(text, payload.Limits{})
			if err != nil || !data.Equal(stored, want) || tt.exact && !bytes.Equal(text, salts) {
				t.Errorf("%s: wrote %q, %v, want %q", tt.from, text, err, salts)
			}
			if len(fired) != 1 || !strings.HasSuffix(fired[0].Text("error"), "/git.sls.") ||
				!strings.HasPrefix(fired[0].Text("error"), "Failed to compile "+dir) {
				t.Errorf("%s: fired %s", tt.from, data.Repr(fired[0]))
			}
		}
		if _, fired := call(t, r, "winrepo.genrepo", data.NewMap("fire_event", false)); len(fired) > 0 {
			t.Errorf("%s: fired without fire_event", tt.from)
		}
	}
}

// TestGenrepoOfOddDefinitions checks definitions with which Salt ends with an exception: the others
// are compiled.
func TestGenrepoOfOddDefinitions(t *testing.T) {
	for text, want := range map[string]string{
		"a: {3: {full_name: A}, '1': {full_name: B}, 2.50: {full_name: C}}": "{'repo': {'a': {'1': {'full_name': 'B'}, '3': {'full_name': 'A'}, '2.5': {'full_name': 'C'}}}, 'name_map': {'A': 'a', 'B': 'a', 'C': 'a'}}",
		"a: {'1': {installer: x}}\nb: {'1': {full_name: B}}":                "{'repo': {'a': {'1': {'installer': 'x'}}, 'b': {'1': {'full_name': 'B'}}}, 'name_map': {'B': 'b'}}",
		"a: {'1': {full_name: [x]}}":                                        "{'repo': {'a': {'1': {'full_name': ['x']}}}, 'name_map': {}}",
		"a: text\nb: {'1': {full_name: B}}":                                 "{'repo': {'b': {'1': {'full_name': 'B'}}}, 'name_map': {'B': 'b'}}",
		"[a, b]":                                                            "{}",
		"":                                                                  "{}",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "x.sls"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, _ := call(t, master(t, "winrepo_dir", dir), "winrepo.genrepo", nil); data.Repr(got) != want {
			t.Errorf("%s\n got %s\nwant %s", text, data.Repr(got), want)
		}
	}
}

// TestGenrepoMakesTheDirectory checks a missing directory, a special file, and links: to a file,
// and to a directory, which is not followed.
func TestGenrepoMakesTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "win", "repo")
	r := master(t, "winrepo_dir", dir)
	if got, _ := call(t, r, "winrepo.genrepo", nil); data.Repr(got) != "{}" {
		t.Errorf("of nothing: %s", data.Repr(got))
	}
	other := t.TempDir()
	if err := errors.Join(os.Symlink(other, filepath.Join(dir, "loop")),
		os.WriteFile(filepath.Join(other, "x.sls"), []byte("x: {'1': {full_name: X}}"), 0o644),
		os.Symlink(filepath.Join(other, "x.sls"), filepath.Join(dir, "link.sls")),
		os.Symlink("/dev/zero", filepath.Join(dir, "zero.sls"))); err != nil {
		t.Fatal(err)
	}
	want := "{'repo': {'x': {'1': {'full_name': 'X'}}}, 'name_map': {'X': 'x'}}"
	if got, _ := call(t, r, "winrepo.genrepo", nil); data.Repr(got) != want {
		t.Errorf("got %s, want %s", data.Repr(got), want)
	}
}

func TestRefusedArguments(t *testing.T) {
	for _, fun := range []string{"winrepo.genrepo", "winrepo.update_git_repos"} {
		_, err := master(t, "winrepo_dir", t.TempDir()).Invoke(t.Context(), fun,
			[]any{data.NewMap("winrepo_dir", "/")}, nil)
		if loader.KindOf(err) != loader.KindInvocation {
			t.Errorf("%s with opts: %v", fun, err)
		}
	}
	for _, dir := range []any{nil, "", "relative/dir", int64(1)} {
		if _, err := master(t, "winrepo_dir", dir).Invoke(t.Context(), "winrepo.genrepo", nil,
			nil); err == nil {
			t.Errorf("winrepo_dir %v is taken", dir)
		}
	}
}
