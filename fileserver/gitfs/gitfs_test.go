package gitfs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/yaml"
)

// A source is a repository that tests write to.
type source struct {
	t   *testing.T
	dir string
}

func newSource(t *testing.T) *source {
	t.Helper()
	need.Program(t, "git")
	s := &source{t, filepath.Join(t.TempDir(), "source")}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.git("init", "--quiet", "-b", "master")
	return s
}

func (s *source) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files: pairs of name and content. Content that begins with -> is a link, and with +
// the file is executable.
func (s *source) commit(pairs ...string) string {
	s.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		p := filepath.Join(s.dir, pairs[i])
		err := os.MkdirAll(filepath.Dir(p), 0o755)
		if to, ok := strings.CutPrefix(pairs[i+1], "->"); ok {
			err = errors.Join(err, os.Symlink(to, p))
		} else {
			mode := os.FileMode(0o644)
			if strings.HasPrefix(pairs[i+1], "+") {
				mode = 0o755
			}
			err = errors.Join(err, os.WriteFile(p, []byte(pairs[i+1]), mode))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	s.git("add", "-A")
	s.git("commit", "--quiet", "--allow-empty", "-m", "c")
	return s.git("rev-parse", "HEAD")
}

// options parses options in YAML and adds cachedir.
func options(t *testing.T, text string) *data.Map {
	t.Helper()
	v, err := yaml.Load([]byte(text), yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := v.(*data.Map)
	m.Set("cachedir", t.TempDir())
	return m
}

// A served is a backend behind a server, after an update.
type served struct {
	*fileserver.Server
	b *Backend
	t *testing.T
}

func serve(t *testing.T, text string) *served {
	t.Helper()
	log, _ := logtest.NewNullLogger()
	b, err := Make(options(t, text), log)
	if err != nil {
		t.Fatal(err)
	}
	s := &served{fileserver.New(fileserver.Options{Backends: []fileserver.Backend{b},
		BufferSize: 100 << 10}), b.(*Backend), t}
	t.Cleanup(func() { s.Close() })
	if c, err := b.Update(t.Context()); err != nil || !c.Changed {
		t.Fatalf("first update: %v, %v", c, err)
	}
	return s
}

// read returns the content of a file, or "none" if there is no such file.
func (s *served) read(path, env string) string {
	s.t.Helper()
	var out strings.Builder
	for {
		c, err := s.Serve(s.t.Context(),
			fileserver.Request{Path: path, Env: env, Loc: int64(out.Len()), Client: "m"})
		if errors.Is(err, fileserver.ErrNotFound) {
			return "none"
		}
		if err != nil {
			s.t.Fatal(err)
		}
		if len(c.Data) == 0 {
			return out.String()
		}
		out.Write(c.Data)
	}
}

func (s *served) envs() string {
	s.t.Helper()
	envs, err := s.Envs(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Join(envs, " ")
}

func (s *served) list(env string, kind fileserver.Kind) string {
	s.t.Helper()
	names, err := s.List(s.t.Context(), fileserver.ListOf{Env: env, Kind: kind})
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Join(names, " ")
}

func TestBranchesAndTagsAreEnvironments(t *testing.T) {
	src := newSource(t)
	src.commit("top.sls", "base", "d/run", "+x")
	src.git("tag", "v1")
	src.git("checkout", "--quiet", "-b", "feature/x")
	src.commit("top.sls", "feature")
	sha := src.git("rev-parse", "HEAD")
	s := serve(t, "gitfs_remotes: [file://"+src.dir+"]")
	if got := s.envs(); got != "base feature/x v1" {
		t.Errorf("environments: %s", got)
	}
	for env, want := range map[string]string{"base": "base", "feature/x": "feature", "v1": "base",
		"master": "none", "none": "none", sha: "none", "../base": "none", "feature": "none",
		"HEAD": "none", "": "none", "refs/heads/master": "none"} {
		if got := s.read("top.sls", env); got != want {
			t.Errorf("top.sls of %q = %q, want %q", env, got, want)
		}
	}
	if got := s.list("base", fileserver.Files) + " | " + s.list("base", fileserver.Dirs) + " | " +
		s.list("base", fileserver.EmptyDirs) + " | " +
		s.list("none", fileserver.Files); got != "d/run top.sls | d |  | " {
		t.Errorf("lists: %s", got)
	}
	h, stat, err := s.HashAndStat(t.Context(), "d/run", "base")
	sum := sha256.Sum256([]byte("+x"))
	if err != nil || h.Sum != hex.EncodeToString(sum[:]) ||
		!cmp.Equal(stat.Values(), []any{int64(0o100755)}) {
		t.Errorf("hash and stat: %v, %v, %v", h, stat, err)
	}
}

func TestAPushIsServedAfterTheUpdate(t *testing.T) {
	src := newSource(t)
	src.commit("a", "one")
	s := serve(t, "gitfs_remotes: ["+src.dir+"]")
	src.commit("a", "two", "b", "new")
	if got := s.read("a", "base") + s.list("base", fileserver.Files); got != "onea" {
		t.Errorf("before the update: %s", got)
	}
	for _, want := range []bool{true, false} {
		if c, err := s.b.UpdateRemotes(t.Context(), []string{"source"}); err != nil || c.Changed != want {
			t.Errorf("update: %v, %v", c, err)
		}
	}
	s.Sweep(0)
	if got := s.read("a", "base") + s.list("base", fileserver.Files); got != "twoa b" {
		t.Errorf("after the update: %s", got)
	}
	log, hook := logtest.NewNullLogger()
	s.b.log = log
	if c, err := s.b.UpdateRemotes(t.Context(), []string{"other"}); err != nil || c.Changed {
		t.Errorf("update of another: %v, %v", c, err)
	}
	if got := hook.LastEntry(); got == nil || !strings.Contains(got.Message, "no remote matches other") {
		t.Errorf("the log has %v", got)
	}
}

func TestOptionsOfRemotes(t *testing.T) {
	one, two := newSource(t), newSource(t)
	first := one.commit("salt/a", "one-a", "salt/sub/b", "one-b", "secret", "s", "salt/up",
		"->../secret", "salt/out", "->../../x", "salt/dead", "->nothing", "salt/d", "->sub")
	one.git("branch", "dev")
	two.commit("a", "two-a", "c", "two-c")
	two.git("branch", "qa")
	for name, c := range map[string]struct {
		options string
		envs    string
		read    map[string]string // env:path → content
		files   string            // of base
	}{
		"root and mountpoint": {"gitfs_remotes: [{" + one.dir +
			": [root: salt, mountpoint: 'salt://m/n/']}]", "base dev",
			map[string]string{"base:m/n/a": "one-a", "base:a": "none", "base:m/n/../secret": "none",
				"base:m/n/up": "s", "base:m/n/out": "none", "base:m/n/d": "none",
				"dev:m/n/sub/b": "one-b", "base:m": "none"}, "m/n/a m/n/sub/b m/n/up"},
		"order of remotes": {"gitfs_remotes: [" + two.dir + ", {" + one.dir + ": [{root: salt}]}]",
			"base dev qa", map[string]string{"base:a": "two-a", "dev:a": "one-a", "qa:a": "two-a",
				"qa:sub/b": "none"}, "a c sub/b up"},
		"base": {"gitfs_base: dev\ngitfs_remotes: [" + one.dir + "]", "base master",
			map[string]string{"base:salt/a": "one-a"}, "salt/a salt/sub/b salt/up secret"},
		"commit as base": {"gitfs_remotes: [{" + one.dir + ": [base: " + first + "]}]",
			"base dev master", map[string]string{"base:secret": "s"}, "salt/a salt/sub/b salt/up secret"},
		"no commits": {"gitfs_ref_types: [branch]\ngitfs_remotes: [{" + one.dir +
			": [base: " + first + "]}]", "base dev master", map[string]string{"base:secret": "none"}, ""},
		"blacklist": {"gitfs_saltenv_blacklist: ['de*']\ngitfs_remotes: [" + one.dir + "]",
			"base", map[string]string{"dev:secret": "none", "base:secret": "s"},
			"salt/a salt/sub/b salt/up secret"},
		"whitelist": {"gitfs_remotes: [{" + one.dir + ": [saltenv_whitelist: dev]}]",
			"dev", map[string]string{"dev:secret": "s", "base:secret": "none"}, ""},
		"no mapping": {"gitfs_disable_saltenv_mapping: True\ngitfs_saltenv: [{own: " +
			"[{ref: dev}, {mountpoint: 'salt://x'}]}]\ngitfs_remotes: [" + one.dir +
			"]", "base own", map[string]string{"own:x/secret": "s", "dev:secret": "none",
			"base:secret": "s"}, "salt/a salt/sub/b salt/up secret"},
		"saltenv": {"gitfs_saltenv: [{own: [{ref: master}]}]\ngitfs_remotes: [{" +
			one.dir + ": [saltenv: [{base: [ref: dev]}, {own: [{ref: dev}, {root: salt}]}]]}]",
			"base master own", map[string]string{"own:a": "one-a", "own:secret": "none",
				"base:secret": "s"}, "salt/a salt/sub/b salt/up secret"},
		"fallback": {"gitfs_fallback: qa\ngitfs_remotes: [" + two.dir + "]", "base qa",
			map[string]string{"anything:c": "two-c", "../x:c": "two-c", "base:c": "two-c"}, "a c"},
		"all_saltenvs": {"gitfs_remotes: [" + one.dir + ", {" + two.dir +
			": [all_saltenvs: qa]}]", "base dev qa", map[string]string{"dev:c": "two-c",
			"none:c": "none"}, "a c salt/a salt/sub/b salt/up secret"},
		"the same under names": {"gitfs_remotes: [{" + one.dir + ": [name: x, root: salt/sub]}, {" +
			one.dir + ": [name: y, mountpoint: y]}]", "base dev",
			map[string]string{"base:b": "one-b", "dev:y/secret": "s"},
			"b y/salt/a y/salt/sub/b y/salt/up y/secret"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, c.options)
			if got := s.envs(); got != c.envs {
				t.Errorf("environments: %s, want %s", got, c.envs)
			}
			for at, want := range c.read {
				env, path, _ := strings.Cut(at, ":")
				if got := s.read(path, env); got != want {
					t.Errorf("%s = %q, want %q", at, got, want)
				}
			}
			if got := s.list("base", fileserver.Files); got != c.files {
				t.Errorf("files: %s, want %s", got, c.files)
			}
			for f := range strings.FieldsSeq(c.files) {
				if s.read(f, "base") == "none" {
					t.Errorf("%s is listed and cannot be read", f)
				}
			}
		})
	}
}

func TestLinksAndSubmodules(t *testing.T) {
	src := newSource(t)
	src.commit("a", "x", "l/up", "->../a", "l/abs", "->/etc/passwd", "l/out",
		"->../../../etc/passwd", "l/loop", "->loop", "l/two", "->up")
	src.git("update-index", "--add", "--cacheinfo", "160000,"+src.git("rev-parse", "HEAD")+",module")
	src.git("commit", "--quiet", "-m", "m")
	s := serve(t, "gitfs_remotes: ["+src.dir+"]")
	if got := s.list("base", fileserver.Files) + " | " +
		s.list("base", fileserver.Dirs); got != "a l/two l/up | l" {
		t.Errorf("files and folders: %s", got)
	}
	links, err := s.Symlinks(t.Context(), fileserver.ListOf{Env: "base"})
	want := data.NewMap("l/abs", "/etc/passwd", "l/loop", "loop", "l/out", "../../../etc/passwd",
		"l/two", "up", "l/up", "../a")
	if err != nil || !data.Equal(links, want) {
		t.Errorf("links: %v, %v", links, err)
	}
	for path, want := range map[string]string{"l/up": "x", "l/two": "x", "l/abs": "none",
		"l/out": "none", "l/loop": "none", "module": "none", "module/a": "none", "a/b": "none", "l": "none"} {
		if got := s.read(path, "base"); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
}

func TestLargeFilesInPieces(t *testing.T) {
	src := newSource(t)
	text := strings.Repeat("0123456789abcdef", 1<<16)
	src.commit("big", text)
	s := serve(t, "gitfs_remotes: ["+src.dir+"]")
	if s.read("big", "base") != text {
		t.Error("other bytes")
	}
	if failed := s.b.ClearCache(t.Context()); failed != nil {
		t.Fatal(failed)
	}
	s.Sweep(0)
	if got := s.read("big", "base") + s.envs(); got != "none" {
		t.Errorf("after clear_cache: %d bytes", len(got))
	}
	if c, err := s.b.Update(t.Context()); err != nil || !c.Changed {
		t.Errorf("update: %v, %v", c, err)
	}
	if s.read("big", "base") != text {
		t.Error("other bytes after an update")
	}
}

func TestLocksOfOperators(t *testing.T) {
	src := newSource(t)
	src.commit("a", "one")
	s := serve(t, "gitfs_remotes: ["+src.dir+"]")
	log, hook := logtest.NewNullLogger()
	s.b.log = log
	if done, failed := s.b.Lock(t.Context(), "*source"); len(done) != 1 ||
		done[0] != "Set update lock for gitfs remote '"+src.dir+"'" || failed != nil {
		t.Errorf("lock: %q, %q", done, failed)
	}
	src.commit("a", "two")
	for range 2 {
		if c, err := s.b.Update(t.Context()); err != nil || c.Changed {
			t.Errorf("update of a locked remote: %v, %v", c, err)
		}
	}
	if len(hook.Entries) != 1 {
		t.Errorf("the log has %d lines", len(hook.Entries))
	}
	if done, _, err := s.ClearLock(t.Context(), "gitfs", "", "update"); err != nil ||
		len(done) != 1 || done[0] != "Removed update lock for gitfs remote '"+src.dir+"'" {
		t.Errorf("clear_lock: %q, %v", done, err)
	}
	if done, _, _ := s.ClearLock(t.Context(), "gitfs", "", "update"); done != nil {
		t.Errorf("second clear_lock: %q", done)
	}
	if c, err := s.b.Update(t.Context()); err != nil || !c.Changed {
		t.Errorf("update: %v, %v", c, err)
	}
}

// TestARemoteThatFails checks that a failing remote does not affect the others and is logged once.
func TestARemoteThatFails(t *testing.T) {
	src, gone := newSource(t), newSource(t)
	src.commit("a", "one")
	gone.commit("b", "old")
	s := serve(t, "gitfs_remotes: ["+gone.dir+", "+src.dir+"]")
	log, hook := logtest.NewNullLogger()
	s.b.log = log
	if err := os.Rename(gone.dir, gone.dir+"-gone"); err != nil {
		t.Fatal(err)
	}
	src.commit("a", "two")
	for _, want := range []bool{true, false} {
		if c, err := s.b.Update(t.Context()); err != nil || c.Changed != want {
			t.Errorf("update: %v, %v", c, err)
		}
	}
	if len(hook.Entries) != 1 || hook.LastEntry().Level != logrus.ErrorLevel ||
		!strings.Contains(hook.LastEntry().Message, gone.dir) {
		t.Errorf("log: %v", hook.AllEntries())
	}
	if got := s.read("a", "base") + s.read("b", "base"); got != "twoold" {
		t.Errorf("served: %s", got)
	}
}

func TestOldMirrorsAreRemoved(t *testing.T) {
	src := newSource(t)
	src.commit("a", "one")
	s := serve(t, "gitfs_remotes: ["+src.dir+"]")
	old := filepath.Join(s.b.root, strings.Repeat("0", 64))
	if err := os.MkdirAll(filepath.Join(old, "git"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.b.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(old); err == nil {
			t.Error("the mirror of a remote that is no longer there is left")
		}
		if s.read("a", "base") != "one" {
			t.Error("the other mirror is gone")
		}
	}
}

func TestWrongOptions(t *testing.T) {
	const marker = "marker-4711"
	for text, want := range map[string]string{
		"gitfs_remotes: ['ext::sh -c id']":                      "remote 1 of gitfs_remotes: ",
		"gitfs_remotes: ['--upload-pack=id']":                   "begins with -",
		"gitfs_remotes: [[a]]":                                  "neither an address nor",
		"gitfs_remotes: {a: b}":                                 "gitfs_remotes is not a list",
		"gitfs_remotes: [{/a: }]":                               "no option",
		"gitfs_remotes: [{/a: [x]}]":                            "invalid entry",
		"gitfs_remotes: [{/a: [ssl_verify: 'no']}]":             "ssl_verify is not True or False",
		"gitfs_remotes: [{/a: [base: [x]]}]":                    "base is not a text",
		"gitfs_remotes: [{/a: [update_interval: x]}]":           "update_interval is not a number",
		"gitfs_remotes: [{/a: [root: ../x]}]":                   "stays inside",
		"gitfs_remotes: [{/a: [ref_types: [head]]}]":            "ref_types has",
		"gitfs_remotes: [{/a: [saltenv: [{x: [{other: y}]}]]}]": "saltenv has the unknown key \"other\"",
		"gitfs_remotes: [{/a: [refspecs: ['--x']]}]":            "is not a refspec",
		"gitfs_remotes: [{'http://h/a': [user: u, password: " + marker +
			"]}]": "insecure_auth",
		"gitfs_remotes: [{'https://h/a': [password: " + marker +
			"]}]": "user and password",
		"gitfs_remotes: [{'https://u:" + marker +
			"@h/a': [base: []]}]": "base is not",
		"gitfs_remotes: ['https://u:" + marker +
			"@h h/a']": "is not a URL",
		"gitfs_remotes: [{'git@h:a': [privkey: /nonexistent/key, passphrase: " + marker + "]}]": "privkey",
		"gitfs_provider: dulwich\ngitfs_remotes: [/a]":                                          "Invalid gitfs_provider 'dulwich'",
		"gitfs_base: [x]\ngitfs_remotes: [/a]":                                                  "gitfs_base is not a text",
		"gitfs_password: [" + marker +
			"]\ngitfs_remotes: [/a]": "gitfs_password is not a text",
	} {
		log, hook := logtest.NewNullLogger()
		_, err := Make(options(t, text), log)
		if err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), marker) || len(hook.Entries) > 0 {
			t.Errorf("%s: %v", text, err)
		}
	}
	log, hook := logtest.NewNullLogger()
	b, err := Make(options(t, "gitfs_update_interval: 90\ngitfs_remotes: [{/a: [rot: x, name: n, update_interval: 5]}, 'https://u:"+marker+"@h/b']"), log)
	if err != nil || len(hook.Entries) != 1 || !strings.Contains(hook.LastEntry().Message, `"rot"`) {
		t.Fatalf("an option that there is not: %v, %v", err, hook.AllEntries())
	}
	want := map[string]time.Duration{"n": 5 * time.Second, "https://h/b": 90 * time.Second}
	if got := b.(*Backend).Intervals(); !cmp.Equal(got, want) {
		t.Errorf("intervals: %v", got)
	}
	if b, err := Make(options(t, "gitfs_remotes: []"), log); b != nil || err != nil {
		t.Errorf("without remotes: %v, %v", b, err)
	}
}
