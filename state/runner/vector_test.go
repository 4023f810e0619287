package runner_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
	"github.com/brineproject/brine/state"
	"github.com/brineproject/brine/state/runner"
	"github.com/brineproject/brine/states"
	"github.com/brineproject/brine/yaml"
)

// needs lists the cases whose conditions call execution modules.
var needs = map[string]string{"req-onlyif": "file.file_exists"}

// notOurs lists the cases that are never supported.
var notOurs = map[string]string{"custom-py-state": "a state written in Python"}

func TestVectorRunOrder(t *testing.T) { checkFile(t, "states/run-order.json", 6) }
func TestVectorRun(t *testing.T)      { checkFile(t, "states/run.json", 60) }

// checkFile runs the cases of a file whose states are available. At least this many must run.
func checkFile(t *testing.T, file string, least int) {
	checkCases(t, vectors.Load(t, file).List, least)
}

// TestRandomTrees runs random trees of test states with requisites, and compares the results with
// those of Salt 3006.0. The order of several failed requisites in a comment is not compared.
func TestRandomTrees(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "random.json"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	checkCases(t, list.([]any), 18)
}

func checkCases(t *testing.T, cases []any, least int) {
	ran := 0
	for _, c := range vectors.Cases(t, cases) {
		id := c.Text("id")
		if why := notOurs[id]; why != "" {
			t.Logf("%s is not run: %s", id, why)
			continue
		}
		t.Run(id, func(t *testing.T) {
			if id == "file-symlink" || id == "file-copy" {
				need.Root(t, "to give files to root")
			}
			h := newHost(t, c.On(t))
			if waits := h.waits(t, id); waits != "" {
				t.Fatalf("%s waits for %s", id, waits)
			}
			ran++
			if id == "req-retry" { // it waits for seconds
				synctest.Test(t, func(t *testing.T) { h.steps(t, c.On(t)) })
				return
			}
			h.steps(t, c.On(t))
		})
	}
	if ran < least {
		t.Errorf("%d cases ran, want %d", ran, least)
	}
}

// A host is a minion of the vectors with its own directory for files.
type host struct {
	dir, tmp             string
	opts, grains, pillar *data.Map
}

func newHost(t *testing.T, c *vectors.Case) *host {
	c.Only("id", "group", "files", "pillar_files", "config", "tmp_files", "tmp_modes", "steps",
		"volatile_paths")
	h := &host{dir: t.TempDir(), tmp: t.TempDir(), grains: baseGrains(), pillar: &data.Map{}}
	fileRoots := &data.Map{}
	for saltenv, tree := range c.Object("files").All() {
		root := filepath.Join(h.dir, "srv", saltenv.(string))
		fileRoots.Set(saltenv, []any{root})
		h.write(t, root, tree.(*data.Map))
	}
	h.opts = data.NewMap("id", "web1", "file_client", "local", "local", true, "user", "root",
		"cachedir", filepath.Join(h.dir, "cache"), "conf_file", filepath.Join(h.dir, "etc", "minion"),
		"fileserver_backend", []any{"roots"}, "file_roots", fileRoots, "hash_type", "sha256",
		"saltenv", nil, "renderer", "jinja|yaml", "state_top", "top.sls",
		"top_file_merging_strategy", "merge", "default_top", "base", "state_auto_order", true,
		"nodegroups", data.NewMap(), "file_buffer_size", int64(262144), "failhard", false, "test", false)
	if err := os.Mkdir(filepath.Join(h.dir, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if c.Has("config") {
		h.opts.Update(c.Object("config"))
	}
	if c.Has("tmp_files") {
		h.write(t, h.tmp, c.Object("tmp_files"))
	}
	if c.Has("tmp_modes") {
		for name, mode := range c.Object("tmp_modes").All() {
			var perm fs.FileMode
			fmt.Sscanf(data.Str(mode), "%o", &perm)
			if err := os.Chmod(filepath.Join(h.tmp, name.(string)), perm); err != nil {
				t.Fatal(err)
			}
		}
	}
	if c.Has("pillar_files") {
		h.pillar = h.pillarOf(t, c.Object("pillar_files").Value("base").(*data.Map))
	}
	return h
}

func (h *host) write(t *testing.T, dir string, files *data.Map) {
	t.Helper()
	for name, text := range files.All() {
		at := filepath.Join(dir, name.(string))
		body := strings.ReplaceAll(text.(string), "@TMP@", h.tmp)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755),
			os.WriteFile(at, []byte(body), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func baseGrains() *data.Map {
	return data.NewMap("id", "web1", "os", "Debian", "os_family", "Debian", "osrelease", "12",
		"osmajorrelease", int64(12), "kernel", "Linux", "shell", "/bin/sh", "host", "web1", "roles",
		[]any{"web", "cache"}, "ps", "ps -efHww")
}

// pillarOf returns the only pillar SLS of the cases, which all minions get.
func (h *host) pillarOf(t *testing.T, files *data.Map) *data.Map {
	t.Helper()
	e, _ := h.engine(t, false)
	pillar, err := e.Render(t.Context(), render.Input{Text: files.Text("p.sls"), SLS: "p", SaltEnv: "base"})
	if err != nil {
		t.Fatal(err)
	}
	return pillar.(*data.Map)
}

// engine returns the host's render engine and its registry of states.
func (h *host) engine(t *testing.T, test bool) (*render.Engine, *loader.Registry) {
	t.Helper()
	log := logging.Discard()
	opts := h.opts.Clone()
	opts.Set("test", test)
	env := &loader.Env{Opts: opts, Log: log, Grains: func() *data.Map { return h.grains },
		Pillar: func() *data.Map { return h.pillar }}
	functions, err := loader.NewRegistry(env, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	shelf, err := loader.NewRegistry(functions.Env(), states.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	e, err := render.New(render.Options{Env: functions.Env(), Renderers: stdrender.Renderers()})
	if err != nil {
		t.Fatal(err)
	}
	return e, shelf
}

// chunks compiles an SLS.
func (h *host) chunks(t *testing.T, sls string) []state.Chunk {
	t.Helper()
	e, _ := h.engine(t, false)
	files, err := fileclient.ForEnv(e.Env(),
		fileclient.Brought{Local: fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})})
	if err != nil {
		t.Fatal(err)
	}
	c, err := state.New(state.Options{Engine: e, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	high, problems, err := c.SLS(t.Context(), strings.Split(sls, ","), "base")
	if err == nil && len(problems) == 0 {
		problems = c.Resolve(high)
	}
	if err != nil || len(problems) > 0 {
		t.Fatalf("compile: %v %q", err, problems)
	}
	return state.Low(high)
}

// waits returns what a case needs but this version does not have.
func (h *host) waits(t *testing.T, id string) string {
	t.Helper()
	e, shelf := h.engine(t, false)
	if fun := needs[id]; fun != "" && !e.Env().Functions.Has(fun) {
		return "function " + fun
	}
	modules := shelf.Modules()
	var missing []string
	for _, chunk := range h.chunks(t, "a") {
		if module := chunk.Text("state"); !slices.Contains(modules, module) &&
			!slices.Contains(missing, "state "+module) {
			missing = append(missing, "state "+module)
		}
	}
	return strings.Join(missing, ", ")
}

func (h *host) steps(t *testing.T, c *vectors.Case) {
	for i, step := range c.Sub("steps") {
		step := step.On(t)
		step.Only("argv", "expect")
		argv, want := step.List("argv"), step.Object("expect")
		if argv[0] == "state.show_low_sls" {
			continue // tested by package state
		}
		got, code := h.call(t, argv)
		got = h.neutral(got)
		volatile(t, c, i, got)
		sorted(got)
		sorted(want.Value("return"))
		if c.Text("id") == "env-grains" && i == 1 {
			// Salt shows a list in the changes of one state after a later state added to it. Here
			// changes stay as they were.
			a3 := want.Value("return").(*data.Map).Value("grains_|-a3_|-h4list_|-list_present").(*data.Map)
			a3.Set("changes", data.NewMap("new", data.NewMap("h4list", []any{"x", "y"})))
		}
		if !same(got, h.neutral(want.Value("return"))) || int64(code) != want.Value("retcode") {
			t.Errorf("step %d %v\ngot  %d %s\nwant %d %s", i, argv, code, data.Repr(got),
				want.Value("retcode"), data.Repr(want.Value("return")))
		}
		if tree, ok := want.Value("tree").(*data.Map); ok {
			h.checkTree(t, tree)
		}
	}
}

// restart resets the host to the state of a new process. The vectors used a new process for each
// step.
func (h *host) restart(t *testing.T) {
	t.Helper()
	if err := os.Unsetenv("H4_TEST_X"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(h.dir, "etc", "grains"))
	if err != nil {
		return
	}
	stored, err := yaml.Load(text, yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h.grains = baseGrains()
	h.grains.Update(stored.(*data.Map))
}

// call acts like a function of the module state.
func (h *host) call(t *testing.T, argv []any) (any, int) {
	t.Helper()
	var words []string
	test := false
	for _, arg := range argv[1:] {
		if arg == "test=True" {
			test = true
			continue
		}
		words = append(words, arg.(string))
	}
	h.restart(t)
	_, shelf := h.engine(t, test)
	r, err := runner.New(runner.Options{Env: shelf.Env(), States: shelf, JID: "20260101000000000000"})
	if err != nil {
		t.Fatal(err)
	}
	var results *data.Map
	switch argv[0] {
	case "state.apply":
		results, err = r.Chunks(t.Context(), h.chunks(t, words[0]))
	case "state.single":
		name := strings.TrimPrefix(words[1], "name=")
		kind, fun, _ := strings.Cut(words[0], ".")
		low := state.Chunk{Map: data.NewMap("state", kind, "fun", fun, "name", name,
			"__id__", name)}
		if wrong := r.Verify(low); wrong != nil {
			list := []any{}
			for _, s := range wrong {
				list = append(list, s)
			}
			return list, 1
		}
		var ret *data.Map
		ret, err = r.Call(t.Context(), low)
		results = data.NewMap(low.Tag(), ret)
	default:
		t.Fatalf("unknown step %v", argv)
	}
	if err != nil {
		t.Fatalf("%v: %v", argv, err)
	}
	for _, ret := range results.All() {
		if ret.(*data.Map).Value("result") == false {
			return results, 2
		}
	}
	return results, 0
}

var tracebacks = regexp.MustCompile(`(?s)(An exception occurred in this state: ).*`)

// neutral returns results without the values that differ between runs.
func (h *host) neutral(v any) any {
	switch v := v.(type) {
	case *data.Map:
		n := &data.Map{}
		for key, item := range v.All() {
			if key == "start_time" || key == "duration" {
				continue
			}
			if key == "pid" {
				item = "@PID@"
			}
			n.Set(h.neutral(key), h.neutral(item))
		}
		return n
	case data.Tuple:
		return h.neutral([]any(v))
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = h.neutral(item)
		}
		return list
	case string:
		if names, ok := strings.CutPrefix(v, "One or more requisite failed: "); ok {
			list := strings.Split(names, ", ")
			slices.Sort(list)
			return strings.Join(list, ", ")
		}
		return tracebacks.ReplaceAllString(strings.ReplaceAll(v, h.tmp, "@TMP@"), "$1@TRACEBACK@")
	}
	return v
}

// same reports whether two results are equal, including the order of their keys.
func same(got, want any) bool {
	return data.Equal(got, want) && order(got) == order(want)
}

// order returns the keys of a result and of nested results, in order.
func order(v any) string {
	m, ok := v.(*data.Map)
	if !ok {
		return ""
	}
	var b strings.Builder
	for key, item := range m.All() {
		b.WriteString(data.Str(key) + "(" + order(item) + ")")
	}
	return b.String()
}

// sorted sorts the changes and the comment lines of file.recurse, which iterates over sets.
func sorted(ret any) {
	all, _ := ret.(*data.Map)
	for tag, v := range all.All() {
		one, _ := v.(*data.Map)
		if !strings.HasSuffix(data.Str(tag), "_|-recurse") || one == nil {
			continue
		}
		parts := strings.Split("\n\n"+strings.TrimSpace(one.Text("comment")), "\n\n#### ")
		slices.Sort(parts)
		one.Set("comment", strings.Join(parts, "\n\n#### "))
		changes, _ := one.Value("changes").(*data.Map)
		var keys []string
		for key := range changes.All() {
			keys = append(keys, data.Str(key))
		}
		slices.Sort(keys)
		again := data.NewMap()
		for _, key := range keys {
			again.Set(key, changes.Value(key))
		}
		one.Set("changes", again)
	}
}

// loose is volatile for a field of a state whose name is a path: TAG/FIELD, or TAG/FIELD (order) if
// only the order differs.
func loose(got, want any, place string) bool {
	wants, _ := want.(*data.Map)
	gots, _ := got.(*data.Map)
	for tag, v := range wants.All() {
		field, ok := strings.CutPrefix(place, tag.(string)+"/")
		wanted, _ := v.(*data.Map)
		have, _ := gots.Value(tag).(*data.Map)
		field, order := strings.CutSuffix(field, " (order)")
		if !ok || !strings.Contains(tag.(string), "/") || !wanted.Has(field) || !have.Has(field) {
			continue
		}
		if !order || data.Equal(have.Value(field), wanted.Value(field)) {
			have.Set(field, wanted.Value(field))
		}
		return true
	}
	return false
}

// volatile replaces values that differ between runs by those of the vectors.
func volatile(t *testing.T, c *vectors.Case, step int, got any) {
	if !c.Has("volatile_paths") {
		return
	}
	for _, path := range c.List("volatile_paths") {
		place, ok := strings.CutPrefix(path.(string), fmt.Sprintf("step %d: /return/", step))
		if !ok {
			continue
		}
		want := c.Sub("steps")[step].Object("expect").Value("return")
		if loose(got, want, place) {
			continue
		}
		wanted, ok := data.Lookup(want, place, "/")
		if !ok {
			t.Fatalf("the case has no %s", path)
		}
		keys := strings.Split(place, "/")
		holder, _ := data.Lookup(got, strings.Join(keys[:len(keys)-1], "/"), "/")
		switch holder := holder.(type) {
		case data.Tuple:
			var at int
			fmt.Sscan(keys[len(keys)-1], &at)
			holder[at] = wanted
		case []any:
			var at int
			fmt.Sscan(keys[len(keys)-1], &at)
			if at < len(holder) {
				holder[at] = wanted
			}
		case *data.Map:
			if holder.Has(keys[len(keys)-1]) {
				holder.Set(keys[len(keys)-1], wanted)
			}
		}
	}
}

// checkTree compares the directory of the case with the one in the vectors.
func (h *host) checkTree(t *testing.T, want *data.Map) {
	t.Helper()
	got := &data.Map{}
	err := filepath.WalkDir(h.tmp, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == h.tmp {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(h.tmp, path)
		got.Set(name, h.entry(path, info))
		return nil
	})
	if err != nil || !data.Equal(got, want) {
		t.Errorf("files are %s, %v\nwant %s", data.Repr(got), err, data.Repr(want))
	}
}

func (h *host) entry(path string, info fs.FileInfo) *data.Map {
	mode := fmt.Sprintf("%04o", info.Mode().Perm())
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(path)
		return data.NewMap("type", "link", "target", h.neutral(target))
	case info.IsDir():
		return data.NewMap("type", "dir", "mode", mode)
	}
	body, _ := os.ReadFile(path)
	return data.NewMap("type", "file", "mode", mode, "content", h.neutral(string(body)))
}
