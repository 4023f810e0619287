package saltcall

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/internal/test/answers"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/vectors"
)

// A pluginGroup is a file of testdata/vectors/python: a tree with users' Python plug-ins, and what
// salt-call of Salt 3006.0 answers there.
type pluginGroup struct {
	Files  map[string]string
	Config struct{ Minion json.RawMessage }
	Setup  [][]string
	Calls  []pluginCall
}

type pluginCall struct {
	answers.Answer
	Write  map[string]string
	Delete []string
	Reads  map[string]*string
	Only   []string
}

// pluginDifferences are the calls whose answers differ on purpose, with the reason.
var pluginDifferences = map[string]string{
	"states.8":           "a return without changes fails its state alone",
	"states.9":           "a malformed return keeps its SLS and number",
	"states.10":          "a malformed return keeps its SLS and number",
	"states.12":          "a malformed return keeps its SLS and number",
	"states.23":          "the documentation of state.apply is not Salt's",
	"states.35":          "the documentation of state.apply is not Salt's",
	"states.36":          "the documentation of state.apply is not Salt's",
	"states.37":          "comments in a list are joined for parallel states as well",
	"mod-virtual-list.1": "a list returned by __virtual__ is taken for a tuple",
	"mod-virtual-list.3": "a list returned by __virtual__ is taken for a tuple",
	"mod-virtual-list.5": "a list returned by __virtual__ is taken for a tuple",
	"mod-virtual-list.6": "a list returned by __virtual__ is taken for a tuple",
	"mod-virtual.30":     "Salt has more modules",
	"mod-dunders.14":     "a utility finds __salt__, as under Salt 3006.18",
	"listcache.1":        "a new file is synced at once",
	"ep-list2.1":         "an external pillar that returns a list fails alone",
	"py-sls.11":          "an SLS that renders to a list fails as one that renders to a text",
	"kinds.12":           "an unknown renderer is named in the result",
	"kinds.17":           "the documentation of test.echo is not Salt's",
	"sdb-config.1":       "a value of a driver that is not synced yet stays as it is",
}

// pluginGroups are the groups whose kinds of plug-ins this version runs.
var pluginGroups = []string{"mod-args", "mod-errors", "mod-returns", "mod-virtual", "mod-virtual-list",
	"mod-dunders", "states", "grains", "grains-deep", "sync", "autosync-sls", "autosync-jinja",
	"autosync-off", "autosync-high", "listcache", "py-sls", "py-sls2", "ep-dict", "ep-first",
	"ep-list", "ep-list2", "ep-none", "ep-null", "ep-raise", "ep-same", "ep-str", "ep-two",
	"ep-virt", "kinds", "sdb-config"}

// TestVectorPythonPlugins replays what Salt answers with users' Python plug-ins.
func TestVectorPythonPlugins(t *testing.T) {
	need.Time(t, "it starts Python for each call")
	need.Program(t, "python3")
	for _, name := range pluginGroups {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(vectors.Dir(), "python", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var g pluginGroup
			text = []byte(answers.QuoteNaN(string(text)))
			if err := json.Unmarshal(text, &g); err != nil {
				t.Fatal(err)
			}
			r := newPluginRoot(t, g)
			for _, args := range g.Setup {
				r.run(t, args)
			}
			for _, c := range g.Calls {
				r.check(t, c)
			}
		})
	}
}

// A pluginRoot is the tree of a group.
type pluginRoot struct {
	answers.Root
	dir string
}

func newPluginRoot(t *testing.T, g pluginGroup) pluginRoot {
	t.Helper()
	dir := t.TempDir()
	r := pluginRoot{answers.Root(dir), dir}
	r.Write(t, g.Files)
	conf := map[string]any{
		"root_dir": dir, "pki_dir": dir + "/pki", "cachedir": dir + "/cache", "sock_dir": dir + "/sock",
		"log_file": dir + "/log", "file_client": "local", "id": "m1",
		"file_roots":          map[string]any{"base": []string{dir + "/salt"}},
		"pillar_roots":        map[string]any{"base": []string{dir + "/pillar"}},
		"enable_fqdns_grains": false, "enable_gpu_grains": false,
	}
	for _, name := range []string{"salt", "pillar"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if len(g.Config.Minion) > 0 {
		if err := json.Unmarshal([]byte(r.Placed(string(g.Config.Minion))), &conf); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(conf)
	if err != nil {
		t.Fatal(err)
	}
	r.Write(t, map[string]string{"etc/minion": string(text)})
	return r
}

func (r pluginRoot) run(t *testing.T, args []string) (code int, stdout, stderr string) {
	t.Helper()
	all := []string{"-c", r.dir + "/etc", "--local", "-l", "quiet", "--out=json"}
	for _, a := range args {
		all = append(all, r.Placed(a))
	}
	var out, errs bytes.Buffer
	code = Run(t.Context(), cli.Invocation{Args: all, Dir: r.dir, Env: os.Getenv}, &out, &errs)
	return code, out.String(), errs.String()
}

// check makes a call and compares what it prints and leaves with Salt's answer.
func (r pluginRoot) check(t *testing.T, c pluginCall) {
	t.Helper()
	r.Write(t, c.Write)
	for _, name := range c.Delete {
		if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := r.run(t, c.Args)
	if _, ok := pluginDifferences[c.ID]; ok {
		return
	}
	r.Compare(t, c.Answer, answers.Output{Code: code, Stdout: stdout, Stderr: stderr}, c.picked)
	for name, want := range c.Reads {
		b, err := os.ReadFile(filepath.Join(r.dir, name))
		if want == nil != (err != nil) || want != nil && r.Plain(string(b)) != *want {
			t.Errorf("%s: file %s has %q, want %v", c.ID, name, b, want)
		}
	}
}

// picked leaves the recorded keys of a dictionary in what was printed.
func (c pluginCall) picked(printed any) any {
	if m, ok := printed.(map[string]any); ok && len(c.Only) > 0 {
		if local, ok := m["local"].(map[string]any); ok {
			m["local"] = only(local, c.Only)
		}
	}
	return printed
}

func only(m map[string]any, keys []string) map[string]any {
	some := map[string]any{}
	for _, key := range keys {
		some[key] = "<absent>"
		if v, ok := m[key]; ok {
			some[key] = v
		}
	}
	return some
}

// TestPluginDifferencesExist checks that each difference is one of a call.
func TestPluginDifferencesExist(t *testing.T) {
	for id := range pluginDifferences {
		group, _, _ := strings.Cut(id, ".")
		if !slices.Contains(pluginGroups, group) {
			t.Errorf("%s: there is no such group", id)
		}
	}
}
