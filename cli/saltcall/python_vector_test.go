package saltcall

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli"
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
	ID      string
	Args    []string
	Retcode int
	Stdout  *string
	JSON    json.RawMessage `json:"stdout_json"`
	Stderr  string
	Write   map[string]string
	Delete  []string
	Reads   map[string]*string
	Only    []string
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
			text = []byte(quoteNaN(string(text)))
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
type pluginRoot struct{ dir string }

func newPluginRoot(t *testing.T, g pluginGroup) pluginRoot {
	t.Helper()
	r := pluginRoot{t.TempDir()}
	r.write(t, g.Files)
	conf := map[string]any{
		"root_dir": r.dir, "pki_dir": r.dir + "/pki", "cachedir": r.dir + "/cache", "sock_dir": r.dir + "/sock",
		"log_file": r.dir + "/log", "file_client": "local", "id": "m1",
		"file_roots":          map[string]any{"base": []string{r.dir + "/salt"}},
		"pillar_roots":        map[string]any{"base": []string{r.dir + "/pillar"}},
		"enable_fqdns_grains": false, "enable_gpu_grains": false,
	}
	for _, dir := range []string{"salt", "pillar"} {
		if err := os.MkdirAll(filepath.Join(r.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if len(g.Config.Minion) > 0 {
		own := bytes.ReplaceAll(g.Config.Minion, []byte("{ROOT}"), []byte(r.dir))
		if err := json.Unmarshal(own, &conf); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(conf)
	if err != nil {
		t.Fatal(err)
	}
	r.write(t, map[string]string{"etc/minion": string(text)})
	return r
}

func (r pluginRoot) write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, "{ROOT}", r.dir)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (r pluginRoot) run(t *testing.T, args []string) (code int, stdout, stderr string) {
	t.Helper()
	all := []string{"-c", r.dir + "/etc", "--local", "-l", "quiet", "--out=json"}
	for _, a := range args {
		all = append(all, strings.ReplaceAll(a, "{ROOT}", r.dir))
	}
	var out, errs bytes.Buffer
	code = Run(t.Context(), cli.Invocation{Args: all, Dir: r.dir, Env: os.Getenv}, &out, &errs)
	return code, out.String(), errs.String()
}

// check makes a call and compares what it prints and leaves with Salt's answer.
func (r pluginRoot) check(t *testing.T, c pluginCall) {
	t.Helper()
	r.write(t, c.Write)
	for _, name := range c.Delete {
		if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := r.run(t, c.Args)
	if _, ok := pluginDifferences[c.ID]; ok {
		return
	}
	if code != c.Retcode {
		t.Errorf("%s %q: exit code %d, want %d\n%s%s", c.ID, c.Args, code, c.Retcode, stdout, stderr)
	}
	got, want := r.printed(stdout), c.wanted(t)
	if m, ok := got.(map[string]any); ok && len(c.Only) > 0 {
		if local, ok := m["local"].(map[string]any); ok {
			m["local"] = only(local, c.Only)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s %q: prints\n%v\nwant\n%v", c.ID, c.Args, got, want)
	}
	if last := lastLine(r.plain(stderr)); c.Stderr != "" && last != lastLine(c.Stderr) {
		t.Errorf("%s %q: standard error ends with %q, want %q", c.ID, c.Args, last, lastLine(c.Stderr))
	}
	for name, want := range c.Reads {
		b, err := os.ReadFile(filepath.Join(r.dir, name))
		if want == nil != (err != nil) || want != nil && r.plain(string(b)) != *want {
			t.Errorf("%s: file %s has %q, want %v", c.ID, name, b, want)
		}
	}
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

// wanted returns what Salt prints: a value of JSON, or text.
func (c pluginCall) wanted(t *testing.T) any {
	t.Helper()
	if c.JSON == nil {
		if c.Stdout == nil {
			return ""
		}
		return *c.Stdout
	}
	return decoded(string(c.JSON))
}

// printed returns the value that a text holds as JSON, or the text, without what changes from run
// to run.
func (r pluginRoot) printed(text string) any {
	v := decoded(text)
	if v == nil {
		return r.plain(text)
	}
	return r.masked(v)
}

var bareNaN = regexp.MustCompile(`([:\[,] *)NaN\b`)

// quoteNaN makes a text of NaN, which JSON does not have.
func quoteNaN(text string) string { return bareNaN.ReplaceAllString(text, `$1"NaN"`) }

// decoded returns the value of a JSON text, nil if it is none.
func decoded(text string) any {
	d := json.NewDecoder(strings.NewReader(quoteNaN(text)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

func (r pluginRoot) masked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		_, numbered := v["__run_num__"]
		_, result := v["result"]
		_, comment := v["comment"]
		for key, e := range v {
			switch {
			case (numbered || result && comment) && (key == "start_time" || key == "duration"):
			case key == "__pub_pid":
				m[key] = "PID"
			case key == "_stamp":
				m[key] = "STAMP"
			default:
				m[r.plain(key)] = r.masked(e)
			}
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = r.masked(e)
		}
		return list
	case string:
		return r.plain(v)
	}
	return v
}

var (
	traceback = regexp.MustCompile(`Traceback \(most recent call last\):\n(?s:.*)`)
	hint      = regexp.MustCompile(`\nIs '.*' meant\?\n?$`)
	address   = regexp.MustCompile(` at 0x[0-9a-f]+`)
	jid       = regexp.MustCompile(`\b20\d{18}\b`)
	pid       = regexp.MustCompile(`'__pub_pid': \d+`)
)

// plain returns a text without what changes from run to run. A traceback is cut to its first line,
// as in the capture; a hint at a similar name is ours.
func (r pluginRoot) plain(s string) string {
	s = strings.ReplaceAll(s, r.dir, "{ROOT}")
	s = hint.ReplaceAllString(s, "")
	s = traceback.ReplaceAllString(s, "Traceback (most recent call last) @TRACEBACK@")
	s = address.ReplaceAllString(s, " at 0xADDR")
	s = jid.ReplaceAllString(s, "{JID}")
	return pid.ReplaceAllString(s, "'__pub_pid': PID")
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
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
