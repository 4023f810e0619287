package roots

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
)

func silent() logrus.FieldLogger {
	log, _ := logtest.NewNullLogger()
	return log
}

// put writes files by path below dir. A name that ends in / is a directory, and content after -> is
// the target of a link.
func put(t testing.TB, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		name, content, _ := strings.Cut(f, "=")
		full := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		if target, ok := strings.CutPrefix(content, "->"); ok {
			err = errors.Join(err, os.Symlink(target, full))
		} else if strings.HasSuffix(name, "/") {
			err = errors.Join(err, os.MkdirAll(full, 0o755))
		} else {
			err = errors.Join(err, os.WriteFile(full, []byte(content), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func backend(follow bool, pairs ...any) *Backend {
	return New(Options{Roots: data.NewMap(pairs...), FollowSymlinks: follow,
		ListAge: defaultListAge, Log: silent()})
}

// served returns the content that is served for a path.
func served(t testing.TB, b *Backend, env, name string, q fileserver.Query) string {
	t.Helper()
	f, err := b.Find(t.Context(), env, name, q)
	if errors.Is(err, fileserver.ErrNotFound) {
		return "nothing"
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := b.Open(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestEnvironments(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "one/a=1", "one/b=1", "two/b=2", "two/c=2", "dyn/dev/d=dev", "dyn/qa.1/d=qa",
		"dyn/.git/d=git", "dyn/x/y/d=deep", "d=out")
	at := func(s string) string { return filepath.Join(dir, s) }
	b := backend(true, "base", []any{at("one"), at("two")}, "empty", []any{}, "none", nil, int64(5),
		[]any{at("two")}, "__env__", []any{at("dyn/__env__")})
	if envs, err := b.Envs(t.Context()); err != nil ||
		!slices.Equal(envs, []string{"5", "__env__", "base", "empty", "none"}) {
		t.Errorf("environments %v, %v", envs, err)
	}
	for _, tt := range []struct{ env, path, index, want string }{
		{"base", "a", "", "1"},
		{"base", "b", "", "1"},
		{"base", "c", "", "2"},
		{"base", "b", "1", "2"},
		{"base", "b", "-1", "2"},
		{"base", "b", "0", "1"},
		{"base", "b", "2", "nothing"},
		{"base", "b", "-3", "nothing"},
		{"base", "b", "x", "nothing"},
		{"5", "c", "", "2"},
		{"empty", "a", "", "nothing"},
		{"none", "a", "", "nothing"},
		{"dev", "d", "", "dev"},
		{"qa.1", "d", "", "qa"},
		{"nosuch", "d", "", "nothing"},
		{".git", "d", "", "nothing"},
		{"..", "d", "", "nothing"},
		{".", "d", "", "nothing"},
		{"", "d", "", "nothing"},
		{"x/y", "d", "", "nothing"},
		{"dev/../..", "d", "", "nothing"},
		{"__env__", "d", "", "nothing"},
	} {
		var q fileserver.Query
		if tt.index != "" {
			q = fileserver.Query{"index": tt.index}
		}
		if got := served(t, b, tt.env, tt.path, q); got != tt.want {
			t.Errorf("%s of %q with index %q: %q, want %q", tt.path, tt.env, tt.index, got, tt.want)
		}
	}
	for env, want := range map[string]string{"base": "[a b c]", "dev": "[d]", "nosuch": "[]",
		"..": "[]", "x/y": "[]", "empty": "[]"} {
		if got, err := b.List(t.Context(), env, fileserver.Files, ""); err != nil || fmt.Sprint(got) != want {
			t.Errorf("files of %q: %v, %v, want %s", env, got, err, want)
		}
	}
}

// linkTree returns a directory with links of all kinds.
func linkTree(t *testing.T) (dir string) {
	dir = t.TempDir()
	put(t, dir, "srv/file=x", "srv/sub/file=y", "srv/sub/deeper/z=z", "srv/void/", "out/secret=s",
		"out/more/m=m", "srv2/sibling=s", "srv/to-file=->file", "srv/to-abs=->"+
			filepath.Join(dir, "srv/file"), "srv/sub/up=->../file", "srv/to-sub=->sub",
		"srv/sub/loop=->..", "srv/self=->self", "srv/dangling=->nosuch",
		"srv/to-secret=->../out/secret", "srv/to-out=->"+
			filepath.Join(dir, "out"), "srv/to-sibling=->../srv2/sibling", "srv/to-void=->void")
	if err := syscall.Mkfifo(filepath.Join(dir, "srv/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "srv/to-pipe=->pipe", "srv/to-null=->/dev/null")
	return dir
}

func TestLinks(t *testing.T) {
	for _, tt := range []struct {
		follow, ignore             bool
		files, dirs, voids, linked string
	}{
		{true, false,
			"file sub/deeper/z sub/file sub/up to-abs to-file to-out/more/m to-out/secret to-secret to-sibling to-sub/deeper/z to-sub/file to-sub/up",
			"sub sub/deeper sub/loop to-out to-out/more to-sub to-sub/deeper to-sub/loop to-void void", "to-void void",
			// When links are followed, an absolute link that leads out is not listed as a link; ..
			// is judged one level deeper than it leads.
			"dangling self sub/loop sub/up to-abs to-file to-pipe to-secret to-sibling to-sub to-sub/loop to-sub/up to-void"},
		{false, false,
			"file sub/deeper/z sub/file sub/up to-abs to-file",
			"sub sub/deeper sub/loop to-sub to-void void", "to-void void",
			"dangling self sub/loop sub/up to-abs to-file to-null to-out to-pipe to-secret to-sibling to-sub to-void"},
		{true, true, "file sub/deeper/z sub/file", "sub sub/deeper void", "void", ""},
	} {
		dir := linkTree(t)
		b := New(Options{Roots: data.NewMap("base", []any{filepath.Join(dir, "srv")}),
			FollowSymlinks: tt.follow, IgnoreSymlinks: tt.ignore, ListAge: time.Minute, Log: silent()})
		for kind, want := range map[fileserver.Kind]string{fileserver.Files: tt.files,
			fileserver.Dirs: tt.dirs, fileserver.EmptyDirs: tt.voids} {
			got, err := b.List(t.Context(), "base", kind, "")
			if err != nil || strings.Join(got, " ") != want {
				t.Errorf("follow %v, ignore %v: list %d\n%s, %v, want\n%s", tt.follow, tt.ignore,
					kind, strings.Join(got, " "), err, want)
			}
			if kind != fileserver.Files {
				continue
			}
			for _, name := range got {
				if served(t, b, "base", name, nil) == "nothing" {
					t.Errorf("follow %v: %s is listed and not served", tt.follow, name)
				}
			}
		}
		links, err := b.Symlinks(t.Context(), "base", "")
		var names []string
		for name, target := range links {
			names = append(names, name)
			if is, _ := os.Readlink(filepath.Join(dir, "srv", name)); is != target {
				t.Errorf("%s leads to %q, want %q", name, target, is)
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); err != nil || got != tt.linked {
			t.Errorf("follow %v, ignore %v: links\n%s, %v, want\n%s", tt.follow, tt.ignore, got,
				err, tt.linked)
		}
		for name, want := range map[string]string{"pipe": "nothing", "to-pipe": "nothing",
			"to-null": "nothing", "dangling": "nothing", "self": "nothing", "sub": "nothing",
			"to-file": "x", "to-abs": "x", "sub/up": "x", "to-sub/file": "y", "sub/loop/file": "x",
			"to-secret":       map[bool]string{true: "s", false: "nothing"}[tt.follow],
			"to-out/secret":   map[bool]string{true: "s", false: "nothing"}[tt.follow],
			"to-sibling":      map[bool]string{true: "s", false: "nothing"}[tt.follow],
			"../srv2/sibling": "nothing"} {
			if got := served(t, b, "base", name, nil); got != want {
				t.Errorf("follow %v: %s is served as %q, want %q", tt.follow, name, got, want)
			}
		}
	}
}

// TestListsAreNew changes a tree in every way and lists it at once.
func TestListsAreNew(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "srv/a=1", "srv/sub/b=1", "srv/link=->../out", "out/c=1", "srv/late=->../later",
		"srv/flink=->../single")
	b := backend(true, "base", []any{filepath.Join(dir, "srv"), filepath.Join(dir, "srv2")})
	list := func() string {
		t.Helper()
		got, err := b.List(t.Context(), "base", fileserver.Files, "")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(got, " ")
	}
	srv := filepath.Join(dir, "srv")
	want := "a link/c sub/b"
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"nothing", func() error { return nil }, want},
		{"a new file", func() error { return os.WriteFile(srv+"/new", nil, 0o644) }, "a link/c new sub/b"},
		{"it goes", func() error { return os.Remove(srv + "/new") }, want},
		{"it comes again", func() error { return os.WriteFile(srv+"/new", nil, 0o644) },
			"a link/c new sub/b"},
		{"it gets another name", func() error { return os.Rename(srv+"/new", srv+"/newer") },
			"a link/c newer sub/b"},
		{"it becomes a folder", func() error { return errors.Join(os.Remove(srv+"/newer"), os.Mkdir(srv+"/newer", 0o755)) }, want},
		{"with a file", func() error { return os.WriteFile(srv+"/newer/x", nil, 0o644) },
			"a link/c newer/x sub/b"},
		{"all goes", func() error { return os.RemoveAll(srv + "/newer") }, want},
		{"a file behind a link to a folder",
			func() error { return os.WriteFile(dir+"/out/d", nil, 0o644) }, "a link/c link/d sub/b"},
		{"what a link leads to comes",
			func() error { return os.WriteFile(dir+"/single", nil, 0o644) }, "a flink link/c link/d sub/b"},
		{"and goes", func() error { return os.Remove(dir + "/single") }, "a link/c link/d sub/b"},
		{"and is a folder", func() error {
			return errors.Join(os.Mkdir(dir+"/single", 0o755), os.WriteFile(dir+"/single/e", nil, 0o644))
		}, "a flink/e link/c link/d sub/b"},
		{"a link leads elsewhere", func() error { return errors.Join(os.Remove(srv+"/link"), os.Symlink("a", srv+"/link")) }, "a flink/e link sub/b"},
		{"a folder changes place with another", func() error {
			return errors.Join(os.MkdirAll(dir+"/other/y", 0o755),
				os.WriteFile(dir+"/other/y/z", nil, 0o644), os.Rename(srv+"/sub", dir+"/gone"),
				os.Rename(dir+"/other", srv+"/sub"))
		}, "a flink/e link sub/y/z"},
		{"another root comes", func() error {
			return errors.Join(os.Mkdir(dir+"/srv2", 0o755), os.WriteFile(dir+"/srv2/r", nil, 0o644))
		}, "a flink/e link r sub/y/z"},
		{"the first root goes", func() error { return os.Rename(srv, dir+"/away") }, "r"},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := list(); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
		age(t, dir) // from here on the list is cached
		if got := list(); got != step.want {
			t.Errorf("%s, later: %s, want %s", step.name, got, step.want)
		}
	}
}

// age makes everything below dir look old, so that lists are cached.
func age(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			old := time.Now().Add(-time.Hour)
			return os.Chtimes(p, old, old)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestListsAreKept counts how often a tree is read.
func TestListsAreKept(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a=1", "sub/b=1", "l=->a")
	age(t, dir)
	b := backend(true, "base", []any{dir})
	trees := map[*tree]bool{}
	for range 5 {
		got, err := b.tree(t.Context(), "base")
		if err != nil {
			t.Fatal(err)
		}
		trees[got] = true
	}
	if len(trees) != 1 {
		t.Errorf("an unchanged tree was read %d times", len(trees))
	}
	if got := b.ClearLists(t.Context(), []string{"dev"}); len(got) != 0 {
		t.Errorf("cleared %v", got)
	}
	if got := b.ClearLists(t.Context(), nil); !slices.Equal(got, []string{"base"}) {
		t.Errorf("cleared %v", got)
	}
	got, _ := b.tree(t.Context(), "base")
	if trees[got] {
		t.Error("a list that was cleared is still there")
	}
	for i := range 3 * maxLists {
		put(t, dir, fmt.Sprintf("dyn/%d/", i))
	}
	dyn := backend(true, "__env__", []any{filepath.Join(dir, "dyn", "__env__")})
	for i := range 3 * maxLists {
		if _, err := dyn.tree(t.Context(), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(dyn.lists) > maxLists {
		t.Errorf("lists of %d environments are kept", len(dyn.lists))
	}
}

func TestIgnoredFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.sls=1", "a.pyc=1", ".svn/x=1", "sub/.svn/y=1", "sub/keep=1")
	opts := data.NewMap("file_roots", data.NewMap("base", []any{dir}),
		"file_ignore_glob", []any{"*.pyc"}, "file_ignore_regex", []any{`/\.svn($|/)`, "("})
	log, hook := logtest.NewNullLogger()
	made, err := Make(opts, log)
	if err != nil || len(hook.AllEntries()) != 1 {
		t.Fatalf("%v, %d warnings", err, len(hook.AllEntries()))
	}
	b := made.(*Backend)
	if got, err := b.List(t.Context(), "base", fileserver.Files, ""); err != nil ||
		fmt.Sprint(got) != "[a.sls sub/keep]" {
		t.Errorf("files %v, %v", got, err)
	}
	if got, err := b.List(t.Context(), "base", fileserver.Dirs, ""); err != nil ||
		fmt.Sprint(got) != "[sub]" {
		t.Errorf("folders %v, %v", got, err)
	}
	for name, want := range map[string]string{"a.sls": "1", "a.pyc": "nothing", ".svn/x": "nothing",
		"sub/.svn/y": "nothing", "sub/keep": "1"} {
		if got := served(t, b, "base", name, nil); got != want {
			t.Errorf("%s is served as %q, want %q", name, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	put(t, dir, "a=one")
	b := backend(true, "base", []any{dir})
	find := func() *fileserver.Found {
		t.Helper()
		f, err := b.Find(t.Context(), "base", "a", nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if f := find(); f.Version != "" || f.Size != 3 || f.Stat.Values()[0] != int64(0o100644) ||
		f.Stat.Values()[6] != int64(3) {
		t.Errorf("a file of now: %+v, stat %v", f, f.Stat.Values())
	}
	f := find()
	if err := os.WriteFile(name, []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if file, err := b.Open(t.Context(), f); !errors.Is(err, fileserver.ErrChanged) {
		t.Errorf("a file that was written to: %v, %v", file, err)
	}
	f = find()
	file, err := b.Open(t.Context(), f)
	if err != nil || file.Check() != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := os.WriteFile(name, []byte("longer than before"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 10)
	if n, err := file.ReadAt(got, 0); n != 5 || err != io.EOF || file.Size() != 5 {
		t.Errorf("read %d bytes of a file that grew, %v", n, err)
	}
	if err := file.Check(); !errors.Is(err, fileserver.ErrChanged) {
		t.Errorf("a file that was written to: %v", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(t.Context(), f); !errors.Is(err, fileserver.ErrChanged) {
		t.Errorf("a file that is gone: %v", err)
	}
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(t.Context(), f); !errors.Is(err, fileserver.ErrChanged) {
		t.Errorf("a pipe in its place: %v", err)
	}
}

func TestUpdateReportsChanges(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "srv/a=1", "srv/b=1", "srv/sub/c=1")
	b := New(Options{Roots: data.NewMap("base", []any{filepath.Join(dir, "srv")}),
		CacheDir: filepath.Join(dir, "cache"), FollowSymlinks: true, Log: silent()})
	update := func() string {
		t.Helper()
		c, err := b.Update(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(data.Repr(c.Event("roots")), filepath.Join(dir, "srv")+"/", "")
	}
	if got := update(); got != "{'changed': True, 'files': {'changed': [], 'removed': [], 'added': ['a', 'b', 'sub/c']}, 'backend': 'roots'}" {
		t.Errorf("at first %s", got)
	}
	if got := update(); got != "{'changed': False, 'files': {'changed': [], 'removed': [], 'added': []}, 'backend': 'roots'}" {
		t.Errorf("then %s", got)
	}
	past := time.Now().Add(-time.Hour)
	put(t, dir, "srv/d=1")
	if err := errors.Join(os.Remove(filepath.Join(dir, "srv/b")),
		os.Chtimes(filepath.Join(dir, "srv/a"), past, past)); err != nil {
		t.Fatal(err)
	}
	b = New(b.opts) // after a restart
	if got := update(); got != "{'changed': True, 'files': {'changed': ['a'], 'removed': ['b'], 'added': ['d']}, 'backend': 'roots'}" {
		t.Errorf("after changes %s", got)
	}
	text, err := os.ReadFile(filepath.Join(dir, "cache/roots/mtime_map"))
	if err != nil || !strings.Contains(string(text), filepath.Join(dir, "srv/a")+":"+
		fmt.Sprint(past.Unix())) {
		t.Errorf("kept %q, %v", text, err)
	}
	if c, err := New(Options{Log: silent()}).Update(t.Context()); c.Changed || c.Files != nil || err != nil {
		t.Errorf("without events: %+v, %v", c, err)
	}
}

func FuzzFind(f *testing.F) {
	dir := f.TempDir()
	put(f, dir, "srv/base/a=open", "srv/secret=s", "secret=s", "srv/dyn/dev/a=open")
	servers := map[bool]*Backend{}
	for _, follow := range []bool{true, false} {
		servers[follow] = backend(follow, "base", []any{filepath.Join(dir, "srv/base")},
			"__env__", []any{filepath.Join(dir, "srv/dyn/__env__")})
	}
	f.Add("base", "../secret", "0")
	f.Add("../..", "secret", "")
	f.Fuzz(func(t *testing.T, env, name, index string) {
		for follow, b := range servers {
			found, err := b.Find(t.Context(), env, name, fileserver.Query{"index": index})
			if err != nil {
				continue
			}
			file, err := b.Open(t.Context(), found)
			if err != nil {
				t.Fatal(err)
			}
			content, _ := io.ReadAll(io.NewSectionReader(file, 0, 100))
			if file.Close(); string(content) != "open" {
				t.Errorf("follow %v: %q of %q gives %q", follow, name, env, content)
			}
		}
	})
}
