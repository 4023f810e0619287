package reactor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// TestFiles gives files to one event and looks at what is ordered, and at what the log says (Salt's
// ReactWrap and Compiler).
func TestFiles(t *testing.T) {
	for _, tt := range []struct {
		name, sls string
		want      []string
		log       string
	}{
		{"new form of local", "a:\n  local.cmd.run:\n  - tgt: web1\n  - tgt_type: list\n  - ret: redis\n  - args:\n    - cmd: uptime\n    - python_shell: false\n",
			[]string{"local web1 list cmd.run [{'__kwarg__': True, 'cmd': 'uptime', 'python_shell': False}] redis {}"}, ""},
		{"old name and form of local",
			"a:\n  cmd.cmd.run:\n  - tgt: '*'\n  - arg: [uptime]\n  - kwarg: {cwd: /}\n  - metadata: {a: 1}\n",
			[]string{"local * glob cmd.run ['uptime', {'__kwarg__': True, 'cwd': '/'}]  {'metadata': {'a': 1}}"}, ""},
		{"a single argument", "a:\n  local.cmd.run:\n  - tgt: w\n  - arg: uptime\n",
			[]string{"local w glob cmd.run ['uptime']  {}"}, ""},
		{"the function among the arguments", "a:\n  local:\n  - test.ping\n  - tgt: w\n",
			[]string{"local w glob test.ping []  {}"}, ""},
		{"args is a map", "a:\n  runner.state.orchestrate:\n  - args: {mods: orch.x, pillar: {a: 1}}\n", []string{"runner state.orchestrate [] {'mods': 'orch.x', 'pillar': {'a': 1}}"}, ""},
		{"new form of wheel", "a:\n  wheel.key.accept:\n  - args:\n    - match: web1\n",
			[]string{"wheel key.accept [] {'match': 'web1'}"}, ""},
		{"old form of runner", "a:\n  runner.event.send:\n  - tag: x/y\n  - data: {a: 1}\n",
			[]string{"runner event.send ['x/y'] {'data': {'a': 1}}"}, ""},
		{"old form with arg alone", "a:\n  runner.error.error:\n  - arg: [E]\n",
			[]string{"runner error.error ['E'] {'name': 'a', 'message': ''}"}, ""},
		{"old form with both", "a:\n  runner.un.known:\n  - arg: [1]\n  - kwarg: {b: 2}\n",
			[]string{"runner un.known [1] {'b': 2}"}, ""},
		{"old form with **kwargs", "a:\n  runner.cache.grains:\n  - tgt: w\n  - more: 1\n",
			[]string{"runner cache.grains ['w'] {'more': 1}"}, ""},
		{"old form of an unknown function", "a:\n  runner.un.known:\n  - b: 2\n", nil,
			"Reactor 'a' failed to execute runner 'un.known': function not available"},
		{"args that are none", "a:\n  runner.event.send:\n  - args: []\n", nil, "Incorrect argument format"},
		{"args and arg", "a:\n  local.test.arg:\n  - tgt: w\n  - arg: [1]\n  - args:\n    - b: 2\n",
			[]string{"local w glob test.arg [{'__kwarg__': True, 'b': 2}]  {}"},
			"Reactor 'a' is ignoring 'arg' param [1] due to presence of 'args' param"},
		{"no target", "a:\n  local.test.ping: []\n", nil, "tgt is missing"},
		{"caller", "a:\n  caller.test.ping: []\n", []string{"caller test.ping [] None"}, ""},
		{"caller with words", "a:\n  caller.file.touch:\n  - args:\n    - name: /x\n",
			[]string{"caller file.touch [] {'name': '/x'}"}, ""},
		{"caller with positional arguments", "a:\n  caller.file.touch:\n  - args: [/x, 1]\n",
			[]string{"caller file.touch ['/x', 1] None"}, ""},
		{"the oldest form of caller", "a:\n  caller.file.touch:\n  - arg: [/x]\n  - kwarg: {atime: 1}\n", []string{"caller file.touch ['/x'] {'atime': 1}"}, ""},
		{"an unknown type", "a:\n  remote.test.ping: []\n", nil,
			"ReactWrap is missing a wrapper function for 'remote'"},
		{"several functions", "a:\n  local.test.ping:\n  - tgt: w\n  local.test.version:\n  - tgt: w\n  runner.un.known:\n  - arg: []\n  - kwarg: {}\n",
			[]string{"local w glob test.ping []  {}", "local w glob test.version []  {}",
				"runner un.known [] {}"}, ""},
		{"the order of the file, and another",
			"b:\n  local.t.b: [{tgt: w}]\na:\n  local.t.a: [{tgt: w}]\nc:\n  local.t.c: [{tgt: w}, {order: last}]\nd:\n  local.t.d: [{tgt: w}]\ne:\n  local.t.e: [{tgt: w}, {order: 1}]\n",
			[]string{"local w glob t.e []  {}", "local w glob t.b []  {}",
				"local w glob t.a []  {}", "local w glob t.d []  {}", "local w glob t.c []  {}"}, ""},
		{"names", "a:\n  runner.error.error:\n  - names: [x, {y: [{message: m}]}]\n",
			[]string{"runner error.error [] {'name': 'x', 'message': ''}",
				"runner error.error [] {'name': 'y', 'message': 'm'}"}, ""},
		{"one fault is the fault of all",
			"a:\n  local.test.ping: [{tgt: w}]\nb:\n  local.test.ping: {tgt: w}\n", nil,
			"State 'b' in SLS 'P' is not formed as a list"},
		{"no function", "a:\n  local: [{tgt: w}]\n", nil, "No function declared in state 'a' in SLS 'P'"},
		{"two functions", "a:\n  local.test.ping: [test.version, {tgt: w}]\n", nil,
			"Too many functions declared in state 'a' in SLS 'P'"},
		{"a number for an id", "1:\n  local.test.ping: [{tgt: w}]\n", nil, "is not formed as a string"},
		{"a list", "- a\n", nil, "High data is not a dictionary and is invalid"},
		{"no YAML", "a: [\n", nil, "Failed to render"},
		{"a shebang", "#!yaml\na:\n  local.t.a: [{tgt: w}]\n", []string{"local w glob t.a []  {}"}, ""},
		{"another renderer", "#!py\n", nil, "P:1: the renderers py are not there; only yaml is"},
		{"a template", "a:\n  local.t.a:\n  - tgt: {{ data['id'] }}\n", nil,
			"P:3: {{ needs a template engine, which is not there"},
		{"nothing", "# nothing\n", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, "a.sls", tt.sls)
			got, log := reactTo(t, path)
			if !slices.Equal(got, tt.want) {
				t.Errorf("ordered\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			if log = strings.ReplaceAll(log, path, "P"); !strings.Contains(log, tt.log) ||
				tt.log == "" && log != "" {
				t.Errorf("log: %q, want %q", log, tt.log)
			}
		})
	}
}

func reactTo(t testing.TB, files ...string) (ordered []string, text string) {
	t.Helper()
	log, hook := logtest.NewNullLogger()
	o := &orders{}
	r, err := New(Options{Bus: eventbus.New(eventbus.Options{}), Orders: o, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	r.react(t.Context(), eventbus.Event{Tag: "a/b"}, data.NewMap("id", "web1"), files, nil)
	var lines []string
	for _, e := range hook.AllEntries() {
		lines = append(lines, e.Message)
	}
	return o.all(), strings.Join(lines, "\n")
}

// TestSeveralFiles names files by a glob, one that is missing and one that is broken.
func TestSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"1.sls": "a: {local.t.one: [{tgt: w}]}\nb: {local.t.two: [{tgt: w}]}\n",
		"2.sls": "a: {local.t.three: [{tgt: w}]}\n", "3.sls": "{",
		".4.sls": "d: {local.t.four: [{tgt: w}]}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, log := reactTo(t, filepath.Join(dir, "[!x]*.sls"), filepath.Join(dir, "missing.sls"), dir)
	if want := []string{"local w glob t.three []  {}",
		"local w glob t.two []  {}"}; !slices.Equal(got, want) {
		t.Errorf("ordered %q, want %q", got, want)
	}
	for _, want := range []string{"Failed to render",
		"missing.sls for tag a/b. File missing or not found.", dir} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q: %s", want, log)
		}
	}
}

func TestParseRules(t *testing.T) {
	for _, tt := range []struct {
		name   string
		option any
		tag    string
		want   []string
		err    string
	}{
		{"nothing", nil, "a", nil, ""},
		{"no list", int64(1), "a", nil, "expected a list"},
		{"all that match, in order", []any{data.NewMap("a/*", "1"), data.NewMap("b", "2"),
			data.NewMap("*", []any{"3", "4"})}, "a/x/y", []string{"1", "3", "4"}, ""},
		{"case counts", []any{data.NewMap("A", "1")}, "a", nil, ""},
		{"entries that are none", []any{data.NewMap("a", "1", "b", "2"),
			"a", data.NewMap("a", int64(1)), data.NewMap("a", []any{nil}), data.NewMap("a", "5")},
			"a", []string{"5"}, "entry 1: expected one tag with its files, got a mapping of 2; write"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules, err := ParseRules(tt.option)
			if tt.err == "" && err != nil ||
				tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if got := newTable(rules).files(tt.tag); !slices.Equal(got, tt.want) {
				t.Errorf("files %q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzFile compiles what may stand in a file of reactions: it ends, and each reaction has what it
// needs.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{"a:\n  local.cmd.run:\n  - tgt: w\n  - args:\n    - cmd: x\n",
		"a: cmd.run\n", "a:\n  runner.x.y:\n  - names: [1, {b: [{c: d}]}]\n  - order: last\n",
		"#!yaml\n? [1]\n: x\n", "a: &x {local: [*x]}", "a: {wheel.k: [{args: [{a: 1}, b]}]}",
		"a: {local.x: [{tgt: w, arg: {a: b}, order: .nan}]}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Plain(t.Context(), "a.sls", text, nil)
		if err != nil {
			return
		}
		h := &High{}
		if h.Add("a.sls", v) != nil {
			return
		}
		reactions, err := h.Compile()
		if err != nil && len(reactions) > 0 {
			t.Fatal("reactions beside an error")
		}
		log, _ := logtest.NewNullLogger()
		for _, r := range reactions {
			if r.Fun == "" || r.Low.Value("__id__") != r.ID {
				t.Fatalf("%+v", r)
			}
			_ = r.do(t.Context(), &orders{}, log)
		}
	})
}
