package state_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
	"github.com/brineproject/brine/state"
)

// waits lists the cases whose templates call execution modules that are not supported yet.
var waits = map[string]string{
	"map-filterby":  "pillar",
	"fn-pillar-get": "pillar",
	"fn-misc":       "file",
}

// shows lists the functions that only compile.
var shows = []string{"state.show_sls", "state.show_low_sls", "state.show_top",
	"state.show_highstate", "state.show_lowstate"}

func TestVectorCompile(t *testing.T) { checkFile(t, inVectors("compile"), 56) }
func TestVectorError(t *testing.T)   { checkFile(t, inVectors("error"), 47) }
func TestVectorTop(t *testing.T)     { checkFile(t, inVectors("top"), 17) }
func TestVectorRender(t *testing.T)  { checkFile(t, inVectors("render"), 17) }

// TestResolve runs cases in the same format with the results of Salt 3006.0: requisites of the _in
// forms, use, prereq, extend, exclude, order, aliases, environments and top files.
func TestResolve(t *testing.T) { checkFile(t, filepath.Join("testdata", "resolve.json"), 30) }

func inVectors(name string) string { return filepath.Join(vectors.Dir(), "states", name+".json") }

// checkFile runs the steps of a file that only compile. At least this many must run without other
// modules.
func checkFile(t *testing.T, file string, least int) {
	ran := 0
	for _, c := range vectors.Cases(t, load(t, file)) {
		if module := waits[c.Text("id")]; module != "" && !has(module) {
			t.Logf("%s: the templates call the module %s, which this version does not have",
				c.Text("id"), module)
			continue
		}
		t.Run(c.Text("id"), func(t *testing.T) {
			ran += checkCase(t, c.On(t))
		})
	}
	if ran < least {
		t.Errorf("%d steps, want %d", ran, least)
	}
}

// load reads a file of cases. Numbers may be Infinity, as written by Python.
func load(t *testing.T, file string) []any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pyjson.Load(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return list.([]any)
}

func has(module string) bool {
	return slices.ContainsFunc(modules.Plugins(modules.Brought()),
		func(p loader.Plugin) bool { return p.Name == module })
}

func checkCase(t *testing.T, c *vectors.Case) int {
	c.Only("id", "group", "files", "pillar_files", "config", "grains", "steps")
	dir, ran := t.TempDir(), 0
	writeTree(t, filepath.Join(dir, "srv"), c.Object("files"))
	for _, step := range c.Sub("steps") {
		argv := step.On(t).List("argv")
		if slices.Contains(shows, argv[0].(string)) {
			ran++
			checkStep(t, minion(t, c, dir), argv, step.Object("expect"))
		}
	}
	return ran
}

func writeTree(t *testing.T, dir string, files *data.Map) {
	t.Helper()
	for saltenv, tree := range files.All() {
		for name, text := range tree.(*data.Map).All() {
			at := filepath.Join(dir, saltenv.(string), name.(string))
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755),
				os.WriteFile(at, []byte(text.(string)), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// testMinion is the minion of a case.
type testMinion struct {
	opts, grains, pillar *data.Map
	env                  *loader.Env
}

// minion returns the base configuration of the vectors with the additions of the case.
func minion(t *testing.T, c *vectors.Case, dir string) *testMinion {
	fileRoots := data.NewMap("base", []any{filepath.Join(dir, "srv", "base")})
	for saltenv := range c.Object("files").All() {
		fileRoots.Set(saltenv, []any{filepath.Join(dir, "srv", saltenv.(string))})
	}
	m := &testMinion{
		opts: data.NewMap("id", "web1", "file_client", "local", "user", "root",
			"cachedir", filepath.Join(dir, "cache"), "fileserver_backend", []any{"roots"},
			"file_roots", fileRoots, "hash_type", "sha256", "saltenv", nil,
			"renderer", "jinja|yaml", "state_top", "top.sls", "top_file_merging_strategy", "merge",
			"default_top", "base", "state_auto_order", true, "nodegroups", data.NewMap(),
			"file_buffer_size", int64(262144)),
		grains: baseGrains(), pillar: data.NewMap(),
	}
	for field, into := range map[string]*data.Map{"config": m.opts, "grains": m.grains} {
		if c.Has(field) {
			into.Update(c.Object(field))
		}
	}
	if c.Has("pillar_files") {
		m.pillar = pillarOf(t, c.Object("pillar_files").Value("base").(*data.Map))
	}
	return m
}

func baseGrains() *data.Map {
	return data.NewMap("id", "web1", "os", "Debian", "os_family", "Debian", "osrelease", "12",
		"osmajorrelease", int64(12), "oscodename", "bookworm", "osfinger", "Debian-12",
		"osfullname", "Debian", "cpuarch", "x86_64", "osarch", "amd64",
		"kernel", "Linux", "fqdn", "web1.example.net", "host", "web1", "localhost", "web1",
		"nodename", "web1", "domain", "example.net", "num_cpus", int64(4), "mem_total", int64(8192),
		"ipv4", []any{"10.1.2.3", "127.0.0.1"}, "ipv6", []any{"::1", "fd00::3"}, "fqdn_ip4",
		[]any{"10.1.2.3"}, "virtual", "kvm", "init", "systemd",
		"roles", []any{"web", "cache"}, "datacenter", "ams1", "machine_id",
		"0123456789abcdef0123456789abcdef")
}

// pillarOf returns the only pillar SLS of the cases, which all minions get.
func pillarOf(t *testing.T, files *data.Map) *data.Map {
	t.Helper()
	if files.Len() != 2 || !strings.Contains(files.Text("top.sls"), "\"*\":\n    - p\n") {
		t.Fatalf("the pillar is more than one SLS p for all: %s", data.Repr(files))
	}
	e := (&testMinion{opts: data.NewMap(), grains: baseGrains(), pillar: data.NewMap()}).engine(t, nil)
	pillar, err := e.Render(t.Context(), render.Input{Text: files.Text("p.sls"), SLS: "p", SaltEnv: "base"})
	if err != nil {
		t.Fatal(err)
	}
	return pillar.(*data.Map)
}

func (m *testMinion) engine(t *testing.T, plugins []loader.Plugin) *render.Engine {
	t.Helper()
	log := logging.Discard()
	env := &loader.Env{Opts: m.opts, Log: log, Grains: func() *data.Map { return m.grains },
		Pillar: func() *data.Map { return m.pillar }}
	reg, err := loader.NewRegistry(env, plugins)
	if err != nil {
		t.Fatal(err)
	}
	m.env = reg.Env()
	fileRoots := render.Roots{}
	tree, _ := m.opts.Value("file_roots").(*data.Map)
	for saltenv, dirs := range tree.All() {
		fileRoots[saltenv.(string)] = []string{dirs.([]any)[0].(string)}
	}
	e, err := render.New(render.Options{Env: m.env, Files: fileRoots, Renderers: stdrender.Renderers()})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (m *testMinion) compiler(t *testing.T) *state.Compiler {
	t.Helper()
	e := m.engine(t, modules.Plugins(modules.Brought()))
	files, err := fileclient.ForEnv(m.env,
		fileclient.Brought{Local: fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})})
	if err != nil {
		t.Fatal(err)
	}
	c, err := state.New(state.Options{Engine: e, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func checkStep(t *testing.T, m *testMinion, argv []any, want *data.Map) {
	t.Helper()
	saltenv, _ := m.opts.Value("saltenv").(string)
	var names []string
	for _, arg := range argv[1:] {
		if env, ok := strings.CutPrefix(arg.(string), "saltenv="); ok {
			saltenv = env
			m.opts.Set("saltenv", env)
			continue
		}
		names = strings.Split(arg.(string), ",")
	}
	if want.Has("return") && slices.Equal(argv, []any{"state.show_sls", "a"}) && unknownRenderer(m) {
		// Salt logs that the renderer is unknown and renders nothing. Here it is a problem, see
		// package render.
		want = data.NewMap("return", []any{"Rendering SLS 'base:a' failed: The renderer \"nosuchrenderer\" of SLS a @TRACEBACK@"})
	}
	got, problems, err := show(t.Context(), m.compiler(t), argv[0].(string), names, saltenv)
	switch gist, fails := want.Get("fails_with"); {
	case fails:
		if err == nil || !strings.HasSuffix(gist.(string), ": "+err.Error()) {
			t.Errorf("%v: got %s, %v, want %s", argv, data.Repr(got), err, gist)
		}
	case err != nil:
		t.Errorf("%v: %v", argv, err)
	case len(problems) > 0 || isProblems(want.Value("return")):
		checkProblems(t, argv, problems, want.Value("return"))
	case !data.Equal(got, want.Value("return")):
		t.Errorf("%v\ngot  %s\nwant %s", argv, data.Repr(got), data.Repr(want.Value("return")))
	}
}

func unknownRenderer(m *testMinion) bool {
	dir := m.opts.Value("file_roots").(*data.Map).Value("base").([]any)[0].(string)
	text, _ := os.ReadFile(filepath.Join(dir, "a.sls"))
	return strings.HasPrefix(string(text), "#!nosuchrenderer\n")
}

// show acts like a function of the module state.
func show(
	ctx context.Context, c *state.Compiler, fun string, names []string, saltenv string,
) (any, []string, error) {
	switch fun {
	case "state.show_sls":
		return value(c.SLS(ctx, names, saltenv))
	case "state.show_low_sls":
		high, problems, err := c.SLS(ctx, names, saltenv)
		if err != nil || len(problems) > 0 {
			return nil, problems, err
		}
		return state.List(state.Low(high)), nil, nil
	case "state.show_highstate":
		return value(c.HighState(ctx))
	case "state.show_lowstate":
		chunks, problems, err := c.LowState(ctx)
		return state.List(chunks), problems, err
	}
	top, problems, err := c.Top(ctx)
	if err != nil || len(problems) > 0 {
		return nil, problems, err
	}
	matches, err := c.Matches(ctx, top)
	return matches, nil, err
}

func value(high *data.Map, problems []string, err error) (any, []string, error) {
	return high, problems, err
}

func isProblems(v any) bool {
	list, _ := v.([]any)
	if len(list) == 0 {
		return false
	}
	_, ok := list[0].(string)
	return ok
}

func checkProblems(t *testing.T, argv []any, got []string, want any) {
	t.Helper()
	list, _ := want.([]any)
	same := slices.EqualFunc(got, list, func(got string, want any) bool {
		expr := regexp.QuoteMeta(data.Str(want))
		expr = strings.ReplaceAll(expr, "\n@TRACEBACK@\n", `\n(?:(?s:.*)\n)?`)
		expr = regexp.MustCompile(`\s+@TRACEBACK@$`).ReplaceAllString(expr, `(?s:.*)`)
		return regexp.MustCompile(`\A` + expr + `\z`).MatchString(got)
	})
	if !same {
		t.Errorf("%v\ngot  %q\nwant %s", argv, got, data.Repr(want))
	}
}
