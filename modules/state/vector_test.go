package state_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltcall"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/states"
	"github.com/brineproject/brine/yaml"
)

// The cases run in the way in which Salt's answers were recorded: with the program salt-call,
// without a master.
func TestVectorCompile(t *testing.T) { checkFile(t, vectors.Load(t, "states/compile.json").List, 63) }
func TestVectorError(t *testing.T)   { checkFile(t, vectors.Load(t, "states/error.json").List, 47) }
func TestVectorTop(t *testing.T)     { checkFile(t, vectors.Load(t, "states/top.json").List, 17) }
func TestVectorRender(t *testing.T)  { checkFile(t, vectors.Load(t, "states/render.json").List, 17) }
func TestVectorPillar(t *testing.T)  { checkFile(t, vectors.Load(t, "states/pillar.json").List, 2) }

// TestShow runs further cases with the recorded answers of Salt 3006.0: forms of names, include,
// extend, exclude and top files, what templates see, and broken files.
func TestShow(t *testing.T) { checkFile(t, captured(t, "show.json"), 150) }

// TestRandom runs random cases with the recorded answers of Salt 3006.0, in two environments with
// top files.
func TestRandom(t *testing.T) { checkFile(t, captured(t, "random.json"), 200) }

// captured reads a file of cases in testdata.
func captured(t *testing.T, name string) []any {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	return v.([]any)
}

// checkFile runs all steps of cases, which must be at least the given number.
func checkFile(t *testing.T, cases []any, least int) {
	ran := 0
	for _, c := range vectors.Cases(t, cases) {
		t.Run(c.Text("id"), func(t *testing.T) { ran += checkCase(t, c.On(t)) })
	}
	if ran < least {
		t.Errorf("%d steps ran, want %d", ran, least)
	}
}

func checkCase(t *testing.T, c *vectors.Case) int {
	c.Only("id", "group", "files", "pillar_files", "config", "grains", "steps")
	if what := needs(c); what != "" {
		t.Errorf("the templates need %s, which this version does not have", what)
		return 0
	}
	m, ran := newMinion(t, c.Map), 0
	for _, step := range c.Sub("steps") {
		argv := step.On(t).List("argv")
		if !has(argv[0].(string)) {
			t.Errorf("%s is a function that this version does not have", argv[0])
			continue
		}
		want := step.Object("expect")
		if module := missingModule(want.Value("return")); module != "" {
			t.Errorf("%v runs the state %s, which this version does not have", argv, module)
			continue
		}
		if c.Text("id") == "err-shebang-unknown" && argv[0] == "state.show_sls" {
			// Salt logs that it does not know the renderer and renders nothing. Here it is an
			// error; see package render.
			want = data.NewMap("return", []any{"Rendering SLS 'base:a' failed: The renderer \"nosuchrenderer\" of SLS a @TRACEBACK@"}, "retcode", int64(1))
		}
		ran++
		m.check(t, argv, want)
	}
	return ran
}

// missingModule returns the module of a state in results that this version does not have, "" if
// there is none.
func missingModule(results any) string {
	m, _ := results.(*data.Map)
	shelf, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()}, states.Plugins())
	for tag := range m.All() {
		module, _, isTag := strings.Cut(data.Str(tag), "_|-")
		if err != nil || isTag && !slices.Contains([]string{"no", "nosuchmod"}, module) &&
			shelf.Provider(module) == "" {
			return module
		}
	}
	return ""
}

// untimed returns results without their times.
func untimed(v any) any {
	m, ok := v.(*data.Map)
	if !ok {
		return v
	}
	left := data.NewMap()
	for key, item := range m.All() {
		if key != "start_time" && key != "duration" {
			left.Set(key, untimed(item))
		}
	}
	return left
}

// needs returns a module or renderer that the templates of a case use and that is not available.
func needs(c *vectors.Case) string {
	b := modules.Brought()
	if strings.Contains(data.Repr(c.Map), "yamlex") &&
		!slices.ContainsFunc(b.Renderers, func(r render.Renderer) bool { return r.Name() == "yamlex" }) {
		return "the renderer yamlex"
	}
	for _, call := range templateCall.FindAllStringSubmatch(data.Repr(c.Map), -1) {
		if module := call[1] + call[2]; slices.Contains([]string{"pillar", "slsutil", "file"},
			module) && !has(module+".") {
			return "the module " + module
		}
	}
	return ""
}

var templateCall = regexp.MustCompile(`salt\[\\?["'](\w+)\.\w+\\?["']\]|salt\.(\w+)\.\w+\(`)

// has reports whether a function exists, or a module for MODULE. with a dot.
func has(fun string) bool {
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()}, modules.Plugins(modules.Brought()))
	module, name, _ := strings.Cut(fun, ".")
	return err == nil && (r.Has(fun) || name == "" && r.Provider(module) != "")
}

// A testMinion is a configuration without a master in a directory of its own.
type testMinion struct{ dir string }

// newMinion writes the files, the pillar and the configuration of a case, on top of the base
// configuration of the vectors.
func newMinion(t *testing.T, c *data.Map) *testMinion {
	t.Helper()
	dir := t.TempDir()
	opts := data.NewMap("id", "web1", "file_client", "local", "user", "root", "state_queue", true,
		"multiprocessing", false, "enable_fqdns_grains", false, "root_dir", dir, "log_level",
		"quiet", "log_file", filepath.Join(dir, "log"))
	for option, field := range map[string]string{"file_roots": "files", "pillar_roots": "pillar_files"} {
		tree, _ := c.Value(field).(*data.Map)
		opts.Set(option, layOut(t, filepath.Join(dir, option), tree))
	}
	grains := baseGrains()
	if more, ok := c.Value("grains").(*data.Map); ok {
		grains.Update(more)
	}
	opts.Set("grains", grains)
	if more, ok := c.Value("config").(*data.Map); ok {
		opts.Update(more)
	}
	text, err := yaml.Dump(opts, yaml.DumpOptions{})
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, "minion"), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	return &testMinion{dir: dir}
}

// layOut writes the files of each environment and returns the option with their directories.
func layOut(t *testing.T, dir string, tree *data.Map) *data.Map {
	t.Helper()
	roots := data.NewMap("base", []any{filepath.Join(dir, "base")})
	err := os.MkdirAll(filepath.Join(dir, "base"), 0o755)
	for saltenv, files := range tree.All() {
		roots.Set(saltenv, []any{filepath.Join(dir, saltenv.(string))})
		for name, text := range files.(*data.Map).All() {
			at := filepath.Join(dir, saltenv.(string), name.(string))
			err = errors.Join(err, os.MkdirAll(filepath.Dir(at), 0o755),
				os.WriteFile(at, []byte(strings.ReplaceAll(text.(string),
					"@TMP@", scratch(filepath.Dir(dir)))), 0o644))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return roots
}

// scratch returns the directory below that of a minion that cases call @TMP@.
func scratch(minion string) string { return filepath.Join(minion, "scratch") }

// baseGrains returns the grains in the README of the vectors.
func baseGrains() *data.Map {
	return data.NewMap("os", "Debian", "os_family", "Debian", "osrelease", "12", "osmajorrelease", int64(12),
		"oscodename", "bookworm", "osfinger", "Debian-12", "osfullname", "Debian", "cpuarch",
		"x86_64", "osarch", "amd64", "kernel", "Linux", "fqdn", "web1.example.net", "host", "web1",
		"localhost", "web1", "nodename", "web1", "domain", "example.net", "num_cpus", int64(4),
		"mem_total", int64(8192), "ipv4", []any{"10.1.2.3", "127.0.0.1"}, "ipv6", []any{"::1",
			"fd00::3"}, "fqdn_ip4",
		[]any{"10.1.2.3"}, "virtual", "kvm", "init", "systemd",
		"roles", []any{"web", "cache"}, "datacenter", "ams1", "machine_id",
		"0123456789abcdef0123456789abcdef")
}

// An answer is the output of salt-call.
type answer struct {
	code           int
	stdout, stderr string
}

func (m *testMinion) call(t *testing.T, args ...string) answer {
	var stdout, stderr bytes.Buffer
	in := cli.Invocation{Args: append([]string{"-c", m.dir, "--local", "--retcode-passthrough"},
		args...), Dir: m.dir, Env: func(string) string { return "" }}
	code := saltcall.Run(t.Context(), in, &stdout, &stderr)
	return answer{code, stdout.String(), stderr.String()}
}

// check runs a function and compares what it returns and the exit code.
func (m *testMinion) check(t *testing.T, argv []any, want *data.Map) {
	t.Helper()
	args := []string{"--out", "json"}
	for _, v := range argv {
		args = append(args, v.(string))
	}
	got := m.call(t, args...)
	said := fmt.Sprintf("%q: exit code %d\n%s%s", argv, got.code, got.stdout, got.stderr)
	if gist, fails := want.Get("fails_with"); fails {
		text := gist.(string)[strings.LastIndex(gist.(string), ": ")+1:]
		if got.code == 0 || !strings.Contains(got.stderr+got.stdout, strings.TrimSpace(text)) {
			t.Errorf("%s\nwant it to fail with %s", said, text)
		}
		return
	}
	v, err := vectors.Decode([]byte(strings.ReplaceAll(got.stdout, scratch(m.dir), "@TMP@")))
	top, _ := v.(*data.Map)
	if result := want.Value("return"); err != nil || !alike(untimed(top.Value("local")), result) {
		t.Errorf("%s\ngot  %s\nwant %s", said, data.Repr(top.Value("local")), data.Repr(result))
	}
	if code := want.Value("retcode"); int64(got.code) != code {
		t.Errorf("%s\nwant the exit code %v", said, code)
	}
}

// alike compares values. @TRACEBACK@ in a text matches anything.
func alike(got, want any) bool {
	switch want := want.(type) {
	case string:
		text, ok := got.(string)
		return ok && pattern(want).MatchString(text)
	case []any:
		list, ok := got.([]any)
		return ok && slices.EqualFunc(list, want, alike)
	case *data.Map:
		m, ok := got.(*data.Map)
		if !ok || m.Len() != want.Len() {
			return false
		}
		for k, v := range want.All() {
			if !m.Has(k) || !alike(m.Value(k), v) {
				return false
			}
		}
		return true
	}
	return data.Equal(got, want)
}

func pattern(text string) *regexp.Regexp {
	expr := regexp.QuoteMeta(text)
	expr = strings.ReplaceAll(expr, "\n@TRACEBACK@\n", `\n(?:(?s:.*)\n)?`)
	expr = regexp.MustCompile(`\s+@TRACEBACK@$`).ReplaceAllString(expr, `(?s:.*)`)
	return regexp.MustCompile(`\A` + expr + `\z`)
}
