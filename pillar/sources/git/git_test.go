package git_test

import (
	"fmt"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pillar/sources/git"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
	"github.com/brineproject/brine/yaml"
)

// A repository is one that tests write to.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	_, err := exec.LookPath("git")
	need.That(t, "git program", err)
	r := &repository{t, filepath.Join(t.TempDir(), "repo")}
	r.run("init", "--quiet", "-b", "master", r.dir)
	return r
}

func (r *repository) run(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	if args[0] != "init" {
		cmd.Dir = r.dir
	}
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files, pairs of name and content, to a branch.
func (r *repository) commit(branch string, pairs ...string) {
	r.t.Helper()
	if branch != "master" {
		r.run("checkout", "--quiet", "-B", branch)
	}
	for i := 0; i < len(pairs); i += 2 {
		at := filepath.Join(r.dir, pairs[i])
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(pairs[i+1]), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	r.run("add", "-A")
	r.run("commit", "--quiet", "--allow-empty", "-m", "c")
	if branch != "master" {
		r.run("checkout", "--quiet", "master")
	}
}

// A master compiles pillars with git only.
type master struct {
	t      *testing.T
	opts   *data.Map
	source *git.Source
	told   *logtest.Hook
	log    *logrus.Logger
}

func newMaster(t *testing.T, more *data.Map, remotes ...any) *master {
	t.Helper()
	opts := data.NewMap("id", "m", "__role", "master", "cachedir", t.TempDir(), "renderer",
		"jinja|yaml", "state_top", "top.sls", "pillar_roots", data.NewMap(),
		"ext_pillar", []any{data.NewMap("git", remotes)})
	opts.Update(more)
	log, told := logtest.NewNullLogger()
	return &master{t, opts, git.New(), told, log}
}

func (m *master) compile(r pillar.Request) *data.Map {
	m.t.Helper()
	engines := func(s pillar.Scope) (*render.Engine, error) {
		reg, err := loader.NewRegistry(&loader.Env{Opts: s.Opts,
			Grains: func() *data.Map { return s.Grains }, Pillar: func() *data.Map { return s.Pillar }}, nil)
		if err != nil {
			return nil, err
		}
		return render.New(render.Options{Env: reg.Env(), Files: s.Files, Renderers: stdrender.Renderers()})
	}
	c, err := pillar.New(pillar.Options{Opts: m.opts, Engine: engines,
		Sources: []pillar.Source{m.source}, Log: m.log})
	if err != nil {
		m.t.Fatal(err)
	}
	r.ID, r.Grains = "web1", data.NewMap("os", "Debian")
	got, err := c.Compile(m.t.Context(), r)
	if err != nil {
		m.t.Fatal(err)
	}
	return got
}

func (m *master) want(r pillar.Request, text string) {
	m.t.Helper()
	want, err := yaml.Load([]byte(text), yaml.Options{})
	if err != nil {
		m.t.Fatal(err)
	}
	for range 2 {
		if got := m.compile(r); data.Repr(got) != data.Repr(want) {
			m.t.Errorf("got  %s\nwant %s\nlog %s", data.Repr(got), data.Repr(want), m.logged())
		}
	}
}

func (m *master) logged() string {
	var lines []string
	for _, e := range m.told.AllEntries() {
		if e.Level <= logrus.WarnLevel {
			lines = append(lines, e.Message)
		}
	}
	return strings.Join(lines, "\n")
}

func (m *master) update() *data.Map {
	m.t.Helper()
	got, err := m.source.Fetch(m.t.Context(), m.opts, nil, m.log)
	if err != nil {
		m.t.Fatal(err)
	}
	return got
}

func TestSLSOfABranchAndItsUpdates(t *testing.T) {
	r := newRepository(t)
	r.commit("master", "top.sls", "base: {'*': [a, sub.b], 'db*': [c]}", "a.sls",
		"{% from 'lib.jinja' import v %}\na: {{ v }} {{ grains.os }} {{ tplpath.split('/')[-1] }}",
		"lib.jinja", "{% set v = 'one' %}", "sub/b/init.sls", "include: [.d]\nb: {{ tpldir }}",
		"sub/b/d.sls", "d: 1")
	m := newMaster(t, nil, "master "+r.dir)
	m.want(pillar.Request{}, "{a: one Debian a.sls, d: 1, b: sub/b}")
	if got := data.Repr(m.update()); got != "{'master "+r.dir+"': None}" {
		t.Error(got)
	}
	r.commit("master", "a.sls", "a: two")
	if got := data.Repr(m.update()); got != "{'master "+r.dir+"': True}" {
		t.Error(got)
	}
	m.want(pillar.Request{}, "{a: two, d: 1, b: sub/b}")
	if err := os.Rename(r.dir, r.dir+".away"); err != nil {
		t.Fatal(err)
	}
	if got := data.Repr(m.update()); got != "{'master "+r.dir+"': False}" ||
		!strings.Contains(m.logged(), "what was fetched before is in use") {
		t.Errorf("%s, log %s", got, m.logged())
	}
	m.want(pillar.Request{}, "{a: two, d: 1, b: sub/b}")
}

func TestBranchesAreEnvironments(t *testing.T) {
	r := newRepository(t)
	r.commit("master", "top.sls", "base: {'*': [a]}", "a.sls", "a: {{ saltenv }}")
	r.commit("dev", "top.sls", "dev: {'*': [a]}", "a.sls", "a: {{ saltenv }} {{ opts.pillarenv }}")
	r.run("tag", "v1", "dev")
	m := newMaster(t, nil, "__env__ "+r.dir)
	m.want(pillar.Request{}, "{a: base}")
	m.want(pillar.Request{SaltEnv: "dev"}, "{a: dev None}")
	m.want(pillar.Request{PillarEnv: "dev"}, "{a: dev dev}")
	m.want(pillar.Request{PillarEnv: "nothing"}, "{}")
	if !strings.Contains(m.logged(), "Failed to checkout nothing from git_pillar remote '"+r.dir+
		"': remote ref does not exist") {
		t.Error(m.logged())
	}
	// The text is that of Salt 3006.0 for a top file of another environment than its branch.
	const other = "_errors: [\"No matching pillar environment for environment 'dev' found\"]"
	newMaster(t, data.NewMap("git_pillar_branch", "dev"), r.dir).want(pillar.Request{}, "{a: dev None}")
	newMaster(t, data.NewMap("git_pillar_base", "dev"), "dev "+r.dir).want(pillar.Request{}, other)
	newMaster(t, nil, "dev "+r.dir).want(pillar.Request{PillarEnv: "base"}, "{}")
	option := func(pairs ...any) any { return data.NewMap("__env__ "+r.dir, []any{data.NewMap(pairs...)}) }
	newMaster(t, nil, option("base", "dev")).want(pillar.Request{}, other)
	newMaster(t, nil, option("fallback", "master")).want(pillar.Request{SaltEnv: "base"}, "{a: base}")
	newMaster(t, nil, option("all_saltenvs", "v1")).want(pillar.Request{SaltEnv: "dev"}, "{a: dev None}")
	newMaster(t, nil, data.NewMap("dev "+r.dir, data.NewMap("env", "base"))).want(pillar.Request{}, other)
	newMaster(t, nil, data.NewMap("v1 "+r.dir, data.NewMap("env", "dev"))).want(pillar.Request{},
		"{a: dev None}")
	// without an environment it is git_pillar_base
	newMaster(t, nil, data.NewMap("master "+r.dir,
		data.NewMap("env", "__env__"))).want(pillar.Request{}, "{}")
	newMaster(t, nil, data.NewMap("master "+r.dir,
		data.NewMap("env", "__env__"))).want(pillar.Request{SaltEnv: "base"}, "{a: base}")
}

func TestRemotesSeeOneAnother(t *testing.T) {
	first, second, shared := newRepository(t), newRepository(t), newRepository(t)
	first.commit("master", "pillar/top.sls", "base: {'*': [a, shared.x]}", "pillar/a.sls",
		"a: first\nm: {x: 1}", "top.sls", "base: {'*': [nothing]}")
	second.commit("master", "top.sls", "base: {'*': [b]}", "b.sls", "b: 1\nm: {y: 2}", "a.sls", "a: second")
	shared.commit("master", "x.sls", "x: shared", "top.sls", "base: {'*': [x]}", "y.sls", "y: 1")
	remotes := []any{data.NewMap("master "+first.dir, []any{data.NewMap("root", "pillar")}),
		"master " + second.dir,
		data.NewMap("master "+shared.dir, []any{data.NewMap("mountpoint", "salt://shared/")})}
	newMaster(t, nil, remotes...).want(pillar.Request{}, "{a: first, m: {x: 1, y: 2}, x: shared, b: 1}")
	newMaster(t, data.NewMap("git_pillar_includes", false), remotes...).want(pillar.Request{},
		"{a: first, m: {x: 1, y: 2}, "+
			"_errors: [\"Specified SLS 'shared.x' in environment 'base' is not available on the salt master\"], b: 1}")
	m := newMaster(t, nil, data.NewMap("master "+first.dir, data.NewMap("root", "nowhere")))
	m.want(pillar.Request{}, "{}")
	if !strings.Contains(m.logged(), "Root path 'nowhere' not present in git_pillar remote '"+
		first.dir+"', skipping.") {
		t.Error(m.logged())
	}
}

func TestOverHTTPWithAPassword(t *testing.T) {
	r := newRepository(t)
	r.commit("master", "top.sls", "base: {'*': [a]}", "a.sls", "a: 1")
	path, err := exec.LookPath("git")
	need.That(t, "git program", err)
	backend := &cgi.Handler{Path: path, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=u"}}
	s := httptest.NewServer(backend)
	defer s.Close()
	url := strings.Replace(s.URL, "http://", "http://me:hunter2@", 1) + "/repo"
	newMaster(t, data.NewMap("git_pillar_insecure_auth", true), "master "+
		url).want(pillar.Request{}, "{a: 1}")
	s.Close()
	m := newMaster(t, data.NewMap("git_pillar_insecure_auth", true), "master "+url)
	got := m.compile(pillar.Request{})
	want := "{'_errors': ['Failed to load ext_pillar git: the repository " + s.URL +
		"/repo could not be fetched yet; please see the master\\'s log']}"
	if text := strings.ReplaceAll(data.Repr(got), `"`, `'`); text != want &&
		text != strings.ReplaceAll(want, `\'`, `'`) {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if strings.Contains(data.Repr(got)+m.logged(), "hunter2") {
		t.Error(m.logged())
	}
}

func TestAMinionWithoutAMasterFetchesEachTime(t *testing.T) {
	r := newRepository(t)
	r.commit("master", "top.sls", "base: {'*': [a]}", "a.sls", "a: 1")
	m := newMaster(t, data.NewMap("__role", "minion"), "master "+r.dir)
	m.want(pillar.Request{}, "{a: 1}")
	r.commit("master", "a.sls", "a: 2")
	m.want(pillar.Request{}, "{a: 2}")
}

func TestTheRunnersChoice(t *testing.T) {
	one, two := newRepository(t), newRepository(t)
	one.commit("master", "a", "")
	two.commit("master", "a", "")
	m := newMaster(t, nil, "master "+one.dir, data.NewMap("dev "+two.dir, data.NewMap("name", "second")))
	for _, c := range []struct {
		branch, repo, want string
	}{
		{"dev", "", "{'dev " + two.dir + "': True}"},
		{"", "second", "{'dev " + two.dir + "': None}"},
		{"", one.dir, "{'master " + one.dir + "': True}"},
		{"master", "second", "{}"},
	} {
		got, err := m.source.Fetch(t.Context(), m.opts, func(branch, url, name string) bool {
			return (c.branch == "" || c.branch == branch) && (c.repo == "" || c.repo == url || c.repo == name)
		}, m.log)
		if err != nil || data.Repr(got) != c.want {
			t.Errorf("%s %s: %s, %v, want %s", c.branch, c.repo, data.Repr(got), err, c.want)
		}
	}
	if err := m.source.Update(t.Context(), m.opts, m.log); err != nil {
		t.Error(err)
	}
}

func TestEntriesAreChecked(t *testing.T) {
	for _, c := range []struct {
		argument any
		want     string
	}{
		{[]any{"master https://example.com/a.git",
			data.NewMap("__env__ https://example.com/a.git",
				[]any{data.NewMap("base", "main"), data.NewMap("root", "x")})}, ""},
		{"https://example.com/a.git", ""},
		{data.NewMap("master", "x"), "expected a list of remotes, each of the form BRANCH ADDRESS"},
		{[]any{int64(1)}, "remote 1: expected BRANCH ADDRESS"},
		{[]any{"master gopher://me:hunter2@example.com/a"}, "remote 1: "},
		{[]any{data.NewMap("master https://example.com/a.git", nil)},
			"remote 1: there is a colon behind the address, and no option"},
		{[]any{data.NewMap("master https://example.com/a.git", []any{data.NewMap("rot", "x")})},
			`remote 1: it has the option "rot", which there is not: there are base, `},
		{[]any{data.NewMap("master https://example.com/a.git", []any{data.NewMap("base", "x")})},
			"remote 1: base can only be specified if __env__"},
		{[]any{data.NewMap("master https://example.com/a.git", []any{data.NewMap("root", "../x")})},
			"remote 1: https://example.com/a.git: root or mountpoint has"},
	} {
		err := git.New().Check(c.argument, data.NewMap())
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) ||
			err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", data.Repr(c.argument), err, c.want)
		}
	}
}

func TestWhatMinionsMayAskFor(t *testing.T) {
	const address = "master https://example.com/a.git"
	with := func(pairs ...any) any { return data.NewMap(address, []any{data.NewMap(pairs...)}) }
	for _, c := range []struct {
		remote, opts any
		want         string
	}{
		{address, nil, ""},
		{with("root", "x", "user", "u", "password", "p"),
			data.NewMap("git_pillar_user", "u", "git_pillar_password", "hunter2"), ""},
		{"master /srv/git/a", nil, "the repository is on the master's disk"},
		{"master FILE:///srv/git/a", nil, "the repository is on the master's disk"},
		{data.NewMap("/srv/git/a", []any{data.NewMap("root", "x")}), nil,
			"the repository is on the master's disk"},
		{"master ../a", nil, "not an address of a git repository (URL, USER@HOST:PATH or absolute path)"},
		{with("privkey", "/root/.ssh/id"), nil, "the option privkey names a file of the master"},
		{with("pubkey", "/root/.ssh/id.pub"), nil, "the option pubkey names a file of the master"},
		{address, data.NewMap("git_pillar_user", "u", "git_pillar_password", "hunter2"),
			"git_pillar_password is for the repositories of ext_pillar alone"},
		{address, data.NewMap("git_pillar_privkey", "/root/.ssh/id"),
			"git_pillar_privkey is for the repositories of ext_pillar alone"},
		{data.NewMap(), nil, "expected BRANCH ADDRESS, or that with a list of options"},
	} {
		opts, _ := c.opts.(*data.Map)
		err := git.New().CheckOnDemand([]any{with("user", "u", "password", "p"), c.remote}, opts)
		if first := git.New().CheckOnDemand([]any{c.remote}, opts); fmt.Sprint(first) != fmt.Sprint(err) {
			t.Errorf("%s alone: %v", data.Repr(c.remote), first)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %q", data.Repr(c.remote), err, c.want)
		}
	}
	r := newRepository(t)
	r.commit("master", "top.sls", "base: {'*': [a]}", "a.sls", "a: 1")
	m := newMaster(t, data.NewMap("ext_pillar", []any{}, "on_demand_ext_pillar", []any{"git"}))
	m.want(pillar.Request{Demand: data.NewMap("git", []any{"master " + r.dir})}, "{}")
	if !strings.Contains(m.logged(),
		"The ext_pillar module git is not for on-demand pillar data of web1: the repository is on the master's disk") {
		t.Error(m.logged())
	}
}
