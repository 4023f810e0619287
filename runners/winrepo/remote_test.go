package winrepo_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
)

// A source is a repository that tests write to.
type source struct {
	t   *testing.T
	dir string
}

func newSource(t *testing.T, name string) *source {
	t.Helper()
	need.Program(t, "git")
	s := &source{t, filepath.Join(t.TempDir(), name)}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.git("init", "--quiet", "-b", "master")
	return s
}

func (s *source) url() string { return "file://" + s.dir }

func (s *source) git(args ...string) {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// commit writes files, pairs of name and content, and commits everything. Content that begins with
// -> is a link; empty content removes the file.
func (s *source) commit(pairs ...string) {
	s.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		p := filepath.Join(s.dir, pairs[i])
		err := os.MkdirAll(filepath.Dir(p), 0o755)
		to, link := strings.CutPrefix(pairs[i+1], "->")
		switch {
		case link:
			err = errors.Join(err, os.Symlink(to, p))
		case pairs[i+1] == "":
			err = errors.Join(err, os.Remove(p))
			_ = os.Remove(filepath.Dir(p)) // if it is empty
		default:
			err = errors.Join(err, os.WriteFile(p, []byte(pairs[i+1]), 0o644))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	s.git("add", "-A")
	s.git("commit", "--quiet", "-m", "c")
}

// listing returns the files below a directory with their contents, and links with ->.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if e.Type()&fs.ModeSymlink != 0 {
			all = append(all, name+"->")
			return nil
		}
		text, err := os.ReadFile(path)
		all = append(all, name+"="+string(text))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// TestUpdateGitRepos makes the calls of which Salt 3006.18 with GitPython 3.1.30 returned the same
// directories: branches, tags, names, a branch that does not exist, and a fallback.
func TestUpdateGitRepos(t *testing.T) {
	a, b := newSource(t, "salt-winrepo"), newSource(t, "other.git")
	for _, s := range []*source{a, b} {
		s.commit("sub/x.sls", "x")
		s.git("tag", "v1")
		s.git("checkout", "--quiet", "-b", "dev")
		s.commit("y.sls", "y")
		s.git("checkout", "--quiet", "master")
		s.commit("z.sls", "z")
	}
	dir := t.TempDir()
	r := master(t, "winrepo_dir", filepath.Join(dir, "u"), "winrepo_dir_ng", filepath.Join(dir, "ng"),
		"winrepo_remotes", []any{a.url(), "v1 " + b.url()},
		"winrepo_remotes_ng", []any{
			data.NewMap("dev "+a.url(), []any{data.NewMap("name", "mine")}),
			data.NewMap(b.url(), []any{data.NewMap("ssl_verify", false)}),
			data.NewMap("nobranch "+b.url(), []any{data.NewMap("name", "nobranch")}),
			data.NewMap("nobranch  "+b.url(), []any{data.NewMap("name", "back", "fallback", "dev")}),
		})
	want := data.NewMap(a.url(), dir+"/u/salt-winrepo/_", "v1 "+b.url(), dir+"/u/other/_",
		"dev "+a.url(), dir+"/ng/mine/_", b.url(), dir+"/ng/other/_", "nobranch  "+b.url(), dir+"/ng/back/_")
	files := "ng/back/_/sub/x.sls=x ng/back/_/y.sls=y ng/mine/_/sub/x.sls=x ng/mine/_/y.sls=y " +
		"ng/other/_/sub/x.sls=x ng/other/_/z.sls=z u/other/_/sub/x.sls=x " +
		"u/salt-winrepo/_/sub/x.sls=x u/salt-winrepo/_/z.sls=z"
	var before fs.FileInfo
	for range 2 {
		got, _ := call(t, r, "winrepo.update_git_repos", nil)
		if !data.Equal(got, want) || listing(t, dir) != files {
			t.Fatalf("got %s, files %s\nwant %s, %s", data.Repr(got), listing(t, dir), data.Repr(want), files)
		}
		now, err := os.Stat(dir + "/ng/mine/_/y.sls")
		if err != nil || before != nil && (!os.SameFile(now, before) || now.ModTime() != before.ModTime()) {
			t.Errorf("the second call wrote a file again: %v", err)
		}
		before = now
	}
}

// TestCheckoutFollows checks a changed and a removed file, a file that becomes a directory and the
// other way round, and what others left in the directory.
func TestCheckoutFollows(t *testing.T) {
	s := newSource(t, "repo")
	s.commit("a.sls", "a", "b.sls", "b", "c/d.sls", "d")
	dir := t.TempDir()
	r := master(t, "winrepo_dir", dir, "winrepo_dir_ng", filepath.Join(dir, "ng"), "winrepo_remotes",
		[]any{s.url()})
	at := filepath.Join(dir, "repo", "_")
	check := func(want string) {
		t.Helper()
		if got, _ := call(t, r, "winrepo.update_git_repos", nil); !data.Equal(got, data.NewMap(s.url(), at)) ||
			listing(t, at) != want {
			t.Errorf("got %s, files %s, want %s", data.Repr(got), listing(t, at), want)
		}
	}
	check("a.sls=a b.sls=b c/d.sls=d")
	s.commit("a.sls", "", "b.sls", "new", "c/d.sls", "")
	s.commit("a.sls/e.sls", "e", "c", "c")
	outside := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(at, ".git"), 0o755),
		os.WriteFile(filepath.Join(at, ".git", "config"), nil, 0o644),
		os.WriteFile(filepath.Join(outside, "kept"), nil, 0o644),
		os.Remove(filepath.Join(at, "b.sls")),
		os.Symlink(filepath.Join(outside, "kept"), filepath.Join(at, "b.sls")),
		os.Symlink(outside, filepath.Join(at, "link"))); err != nil {
		t.Fatal(err)
	}
	check("a.sls/e.sls=e b.sls=new c=c")
	if got := listing(t, outside); got != "kept=" {
		t.Errorf("files outside: %s", got)
	}
}

// TestLinksOfARepository checks that links are written as the files that they lead to, within the
// repository alone.
func TestLinksOfARepository(t *testing.T) {
	s := newSource(t, "repo")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.commit("a.sls", "a", "in.sls", "->a.sls", "out.sls", "->"+secret, "up.sls", "->../../x", "dir", "->/etc")
	dir := t.TempDir()
	r := master(t, "winrepo_dir", dir, "winrepo_dir_ng", filepath.Join(dir, "ng"), "winrepo_remotes",
		[]any{s.url()})
	call(t, r, "winrepo.update_git_repos", nil)
	if got := listing(t, filepath.Join(dir, "repo", "_")); got != "a.sls=a in.sls=a" {
		t.Errorf("files: %s", got)
	}
}

// TestClean checks that only clean removes directories of other remotes, and never files.
func TestClean(t *testing.T) {
	s := newSource(t, "repo")
	s.commit("a.sls", "a")
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "old"), 0o755),
		os.WriteFile(filepath.Join(dir, "old", "x.sls"), nil, 0o644),
		os.WriteFile(filepath.Join(dir, "own.sls"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	r := master(t, "winrepo_dir", dir, "winrepo_dir_ng", t.TempDir(), "winrepo_remotes", []any{s.url()})
	for _, tt := range []struct {
		words *data.Map
		want  string
	}{
		{nil, "old/x.sls= own.sls= repo/_/a.sls=a"},
		{data.NewMap("clean", true), "own.sls= repo/_/a.sls=a"},
	} {
		call(t, r, "winrepo.update_git_repos", tt.words)
		if got := listing(t, dir); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.words, got, tt.want)
		}
	}
}

// TestFailures checks that what cannot be used is a text, as with Salt, without passwords.
func TestFailures(t *testing.T) {
	s := newSource(t, "repo")
	s.commit("a.sls", "a")
	dir := t.TempDir()
	for _, tt := range []struct {
		remotes any
		want    string
	}{
		{[]any{"file:///nowhere/repo"}, "fetch file:///nowhere/repo"},
		{[]any{data.NewMap(s.url(), []any{data.NewMap("nonsense", int64(1))})}, `unknown option "nonsense"`},
		{[]any{data.NewMap(s.url(), nil)}, "there is a colon behind the address"},
		{[]any{data.NewMap(s.url(), []any{data.NewMap("name", "../x")})}, "is not a name for a directory"},
		{[]any{s.url(), "dev " + s.url()}, `the name "repo" is used twice`},
		{[]any{int64(3)}, "expected an address"},
		{"text", "the remotes are not a list"},
		{[]any{"-oProxyCommand=x"}, "remote 1"},
		{[]any{"ext::sh -c x"}, "remote 1"},
		{[]any{"http://bob:hunter2@127.0.0.1:1/repo.git"}, "fetch http://127.0.0.1:1/repo.git"},
	} {
		r := master(t, "winrepo_dir", dir, "winrepo_dir_ng", dir, "winrepo_remotes", tt.remotes)
		got, _ := call(t, r, "winrepo.update_git_repos", data.NewMap("clean", true))
		text, _ := got.(string)
		if !strings.HasPrefix(text, "Failed to update winrepo_remotes: ") || !strings.Contains(text, tt.want) ||
			strings.Contains(text, "hunter2") {
			t.Errorf("%s: got %s, want %s", data.Repr(tt.remotes), data.Repr(got), tt.want)
		}
	}
}
