package pillar_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/yaml"
)

// firstTree is for ext_pillar_first, decryption and the environment __env__.
var firstTree = data.NewMap("base", data.NewMap(
	"top.sls", "base:\n  '*':\n    - p\n    - q\n  'I@from:ext':\n    - ip\n  'nope.*':\n    - match: pcre\n    - q\n",
	"p.sls", `a: 1
seen: {{ pillar.get("from", "no") }}
secret: "{\"x\": 1}"
m: {in: "[1,2]", bad: "{{ "{" }}", n: {z: "{}"}}
`,
	"q.sls", "include: {a: b}\nq: 1\n",
	"ip.sls", "ip: 1\n",
), "dev_qa", data.NewMap(
	"top.sls", "qa:\n  \"*\":\n    - z\nbase:\n  \"*\":\n    - p\n",
	"z.sls", "z: {{ saltenv }} {{ opts.pillarenv }}\ninclude:\n  - w\n",
))

// wantFirst and wantDynamic are the results of salt-call of Salt 3006.0, in its order; the second
// for pillarenv=qa and pillar='{o: 1}'.
const (
	wantFirst = `
from: ext
a: 1
e: 1
seen: ext
secret: {x: 1}
m: {in: [1, 2], bad: "{", n: {z: "{}"}}
include: {a: b}
q: 1
ip: 1
_errors:
  - Include Declaration in SLS 'q' is not formed as a list
  - "Failed to decrypt pillar key 'm:bad': Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
  - "Failed to decrypt pillar key 'a': 'yaml' is not a valid decryption renderer. Valid choices are: json"
`
	wantDynamic = `
o: 1
from: ext
a: ext
e: 1
z: qa qa
_errors:
  - Specified SLS 'w' in environment 'qa' is not available on the salt master
  - "Failed to decrypt pillar key 'a': 'yaml' is not a valid decryption renderer. Valid choices are: json"
`
)

func firstOptions(t *testing.T) *data.Map {
	dir := t.TempDir()
	write(t, dir, firstTree)
	return options(data.NewMap("base", []any{dir + "/base"},
		"__env__", []any{dir + "/dev___env__"}), data.NewMap(
		"ext_pillar_first", true, "ssh_merge_pillar", false, "exclude_ext_pillar", []any{"cmd_json"},
		"decrypt_pillar", []any{data.NewMap("secret", "json"), data.NewMap("m:in", "json"),
			data.NewMap("m:bad", "json"), "gone", data.NewMap("a", "yaml")},
		"decrypt_pillar_renderers", []any{"json"},
		"ext_pillar", []any{data.NewMap("cmd_yaml", `echo "{from: ext, a: ext, e: 1}"`),
			data.NewMap("cmd_json", "echo 1")}))
}

func same(t *testing.T, got *data.Map, want string) {
	t.Helper()
	v, err := yaml.Load([]byte(want), yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if data.Repr(got) != data.Repr(v) {
		t.Errorf("got  %s\nwant %s", data.Repr(got), data.Repr(v))
	}
}

func TestExternalFirstAndDecryptionAreSalts(t *testing.T) {
	c := compiler(t, pillar.Options{Opts: firstOptions(t), Engine: withCommands, Sources: pillar.Sources()})
	same(t, compile(t, c, pillar.Request{ID: "web1", Grains: baseGrains()}), wantFirst)
}

func TestDynamicEnvironmentIsSalts(t *testing.T) {
	c := compiler(t, pillar.Options{Opts: firstOptions(t), Engine: withCommands, Sources: pillar.Sources()})
	override := data.NewMap("o", int64(1))
	got := compile(t, c, pillar.Request{ID: "web1", Grains: baseGrains(),
		PillarEnv: "qa", Override: override})
	same(t, got, wantDynamic)
	if override.Len() != 1 {
		t.Errorf("the request was changed: %s", data.Repr(override))
	}
}

// TestOverrideIsNeverDecrypted sends values for keys of decrypt_pillar in the override: as a value
// of its own, below a map of the sources, and over a value of the sources.
func TestOverrideIsNeverDecrypted(t *testing.T) {
	files := data.NewMap("top.sls", topOfAll, "p.sls", `
secret: "{\"own\": 1}"
m: {in: "[1, 2]"}
kept: "{}"
`)
	override := data.NewMap("stolen", `{"theirs": 1}`, "m", data.NewMap("stolen", "[3]"), "kept",
		`{"theirs": 2}`)
	want := `
stolen: '{"theirs": 1}'
m: {in: [1, 2], stolen: "[3]"}
kept: '{"theirs": 2}'
secret: {own: 1}
`
	for _, first := range []bool{false, true} {
		t.Run(fmt.Sprint("external pillars first: ", first), func(t *testing.T) {
			c := tree(t, files, data.NewMap("decrypt_pillar",
				[]any{"secret", "m:in", "stolen", "m:stolen", "kept"},
				"decrypt_pillar_default", "json", "decrypt_pillar_renderers", []any{"json"},
				"ext_pillar_first", first, "ext_pillar", []any{data.NewMap("cmd_yaml", "echo '{}'")}))
			same(t, compile(t, c, pillar.Request{ID: "web1", Grains: baseGrains(), Override: override}), want)
		})
	}
}

// tree is a compiler for one environment, base, with more options.
func tree(t *testing.T, files, more *data.Map) *pillar.Compiler {
	return compiler(t, pillar.Options{Opts: options(write(t, t.TempDir(),
		data.NewMap("base", files)), more), Engine: withCommands,
		Sources: pillar.Sources(), Version: "3006.0"})
}

const topOfAll = "base:\n  '*':\n    - p\n"

func TestErrorsShowNoSecretUnlessAllowed(t *testing.T) {
	files := data.NewMap("top.sls", topOfAll, "p.sls", "password: hunter2\nx: {{ nothing.there }}\n")
	for _, safe := range []bool{true, false} {
		c := tree(t, files, data.NewMap("pillar_safe_render_error", safe))
		text := data.Repr(compile(t, c, pillar.Request{ID: "web1"}).Value("_errors"))
		if strings.Contains(text, "hunter2") == safe ||
			!strings.Contains(text, "Rendering SLS \\'p\\' failed") &&
				!strings.Contains(text, "Rendering SLS 'p' failed") {
			t.Errorf("safe %v: %s", safe, text)
		}
	}
}

func TestLogOfUnreadableOutputShowsNone(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	opts := options(data.NewMap(),
		data.NewMap("ext_pillar", []any{data.NewMap("cmd_yaml", "echo '{hunter'2")}))
	c := compiler(t, pillar.Options{Opts: opts, Engine: withCommands, Sources: pillar.Sources(), Log: log})
	same(t, compile(t, c, pillar.Request{ID: "web1"}), "{}")
	hideError := false
	for _, e := range hook.AllEntries() {
		hideError = hideError || strings.Contains(e.Message, "failed to parse at line 1, column ")
		if strings.Contains(e.Message, "hunter") {
			t.Errorf("the log shows %s", e.Message)
		}
	}
	if !hideError {
		t.Error("the log tells nothing")
	}
}

// TestLogHasErrors checks that the log has the errors that minions do not see, and shows no
// line of a source.
func TestLogHasErrors(t *testing.T) {
	const lib = "{% macro m() %}\n{% set x = 'hunter2' %}\n{{ nope }}{% endmacro %}"
	for _, tt := range []struct{ name, top, sls, want string }{
		{"a list", "- hunter2\n", "", "It has a list where environments should stand"},
		{"an environment that is none", "base:\n'*':\n  - p\n", "",
			"Below base it has nothing where targets should stand, each with a list of SLS"},
		{"a target without a list", "base:\n  '*': p\n", "",
			"The target * has a single value in place of a list of SLS"},
		{"a number as environment", "1: {}\n", "", "The environment 1 is not a text"},
		{"a top file with a tab", "base:\n\t'*': [p]\n", "",
			"Rendering Primary Top file failed, render error: found character that cannot start any token; line 2"},
		{"an include with a tab", "include: [p]\n", "a:\n\t- hunter2\n",
			"Rendering Top file p failed, render error: found character that cannot start any token; line 2"},
		{"another template", topOfAll, "{% from 'lib.j' import m %}{{ m() }}",
			"Jinja variable 'nope' is undefined; line 3 of "},
		{"YAML that is loaded", topOfAll, "\n{% load_yaml as x %}\na: b\nhunter2: b: c\n{% endload %}",
			"; line 2: YAML that it loads: mapping values are not allowed in this context; line 3"},
		{"JSON that is loaded", topOfAll, "\n{% load_json as x %}{\"hunter2\": 1,}{% endload %}",
			"Jinja syntax error: Unable to load json: Expecting property name enclosed in double quotes: line 1 column 15 (char 14); line 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log, hook := logtest.NewNullLogger()
			opts := options(write(t, t.TempDir(),
				data.NewMap("base", data.NewMap("top.sls", tt.top, "p.sls", tt.sls, "lib.j", lib))), nil)
			compile(t, compiler(t, pillar.Options{Opts: opts, Engine: withCommands, Log: log}),
				pillar.Request{ID: "web1"})
			var lines []string
			for _, e := range hook.AllEntries() {
				lines = append(lines, e.Message)
			}
			if text := strings.Join(lines, "\n"); !strings.Contains(text, tt.want) ||
				strings.Contains(text, "hunter") {
				t.Errorf("the log shows %s\nwant %s", text, tt.want)
			}
		})
	}
}

// TestCancelledCompilationIsLoggedOnce has the first of many external pillars hang.
func TestCancelledCompilationIsLoggedOnce(t *testing.T) {
	for _, first := range []bool{false, true} {
		log, hook := logtest.NewNullLogger()
		opts := options(write(t, t.TempDir(),
			data.NewMap("base", data.NewMap("top.sls", topOfAll, "p.sls", "a: 1"))),
			data.NewMap("ext_pillar_first", first,
				"ext_pillar", []any{data.NewMap("cmd_yaml", "sleep 30"),
					data.NewMap("cmd_yaml", "echo 'b: 1'"), data.NewMap("stack", "/none")}))
		c := compiler(t, pillar.Options{Opts: opts, Engine: withCommands,
			Sources: pillar.Sources(), Log: log})
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if got, err := c.Compile(ctx, pillar.Request{ID: "web1"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %s, %v", data.Repr(got), err)
		}
		var failed, others []string
		for _, e := range hook.AllEntries() {
			if strings.Contains(e.Message, "Failed to load ext_pillar cmd_yaml: ") {
				failed = append(failed, e.Message)
			} else if !strings.Contains(e.Message, "cmd_yaml") {
				others = append(others, e.Message)
			}
		}
		if len(failed) != 1 || len(others) > 0 {
			t.Errorf("ext_pillar_first %v: the log has %q and %q", first, failed, others)
		}
	}
}

func TestExternalPillarOnDemand(t *testing.T) {
	files := write(t, t.TempDir(), data.NewMap("base", data.NewMap("top.sls", topOfAll, "p.sls", "a: 1\n")))
	demand := data.NewMap("nodegroups", data.NewMap("pillar_name", "a"))
	for allowed, want := range map[string]string{"nodegroups": "a: [web]", "libvirt": "a: 1"} {
		o := data.NewMap("on_demand_ext_pillar", []any{allowed}, "nodegroups", data.NewMap("web", "web*"))
		c := compiler(t, pillar.Options{Opts: options(files, o), Engine: withCommands,
			Sources: pillar.Sources()})
		same(t, compile(t, c, pillar.Request{ID: "web1", Demand: demand}), want)
		same(t, compile(t, c, pillar.Request{ID: "web1", Demand: demand, NoExternal: true}), "a: 1")
	}
}

func TestNoMinionChoosesACommand(t *testing.T) {
	files := write(t, t.TempDir(), data.NewMap("base", data.NewMap("top.sls", topOfAll, "p.sls", "a: 1\n")))
	for _, name := range []string{"cmd_yaml", "cmd_json", "cmd_yamlex"} {
		log, hook := logtest.NewNullLogger()
		o := options(files, data.NewMap("on_demand_ext_pillar", []any{name}))
		c := compiler(t, pillar.Options{Opts: o, Engine: withCommands, Sources: pillar.Sources(), Log: log})
		same(t, compile(t, c, pillar.Request{ID: "web1",
			Demand: data.NewMap(name, `echo '{"a": 2}'`)}), "a: 1")
		want := "The ext_pillar module " + name +
			" is not for on-demand pillar data of web1: a minion may not choose a command that the master runs"
		if e := hook.LastEntry(); e == nil || e.Message != want {
			t.Errorf("%s: the log says %v", name, e)
		}
	}
}

// TestForbiddenExternalPillar checks, in Salt's words, the log about a minion's request and
// what it may request.
func TestForbiddenExternalPillar(t *testing.T) {
	const refused = "The following ext_pillar modules are not allowed for on-demand pillar data: %s. Valid on-demand ext_pillar modules are: %s. " +
		"The valid modules can be adjusted by setting the 'on_demand_ext_pillar' config option."
	files := write(t, t.TempDir(), data.NewMap("base", data.NewMap("top.sls", topOfAll, "p.sls", "a: 1\n")))
	for name, c := range map[string]struct {
		option any
		want   string
	}{
		"other names": {[]any{"libvirt", "cmd_yaml"}, fmt.Sprintf(refused, "a, z", "libvirt, cmd_yaml")},
		"no names":    {[]any{}, fmt.Sprintf(refused, "a, cmd_yaml, z", "")},
		"nothing":     {nil, "The 'on_demand_ext_pillar' configuration option is malformed, it should be a list of ext_pillar module names"},
		"a truth":     {true, "The 'on_demand_ext_pillar' configuration option is malformed, it should be a list of ext_pillar module names"},
	} {
		log, hook := logtest.NewNullLogger()
		p := compiler(t, pillar.Options{Opts: options(files,
			data.NewMap("on_demand_ext_pillar", c.option)), Engine: withCommands,
			Sources: pillar.Sources(), Log: log})
		same(t, compile(t, p, pillar.Request{ID: "web1",
			Demand: data.NewMap("z", 1, "cmd_yaml", "echo 'a: 2'", "a", 1)}), "a: 1")
		if e := hook.LastEntry(); e == nil || e.Message != c.want || e.Level != logrus.ErrorLevel {
			t.Errorf("%s: the log says %v, want %s", name, e, c.want)
		}
	}
}

func TestMalformedOptionsAreReported(t *testing.T) {
	files := data.NewMap("top.sls", topOfAll, "p.sls", "a: 1\n")
	c := tree(t, files, data.NewMap("ext_pillar", "cmd_yaml", "decrypt_pillar", []any{[]any{}}))
	same(t, compile(t, c, pillar.Request{ID: "web1"}), `
a: 1
_errors:
  - The "ext_pillar" option is malformed
  - decrypt_pillar config option is malformed
`)
}

func TestMalformedTopFileIsReported(t *testing.T) {
	for _, top := range []string{"- a\n", "base: x\n", "base:\n  '*': 1\n", "1: {}\n"} {
		c := tree(t, data.NewMap("top.sls", top), nil)
		same(t, compile(t, c, pillar.Request{ID: "web1"}),
			"_errors: [Error encountered while rendering pillar top file.]")
	}
}

func TestCommandsTakeNoIDThatAShellReads(t *testing.T) {
	c := tree(t, data.NewMap(), data.NewMap("ext_pillar", []any{data.NewMap("cmd_yaml", "echo 'a: %s'")}))
	for _, id := range []string{"x';echo b", "-n", "--help"} {
		same(t, compile(t, c, pillar.Request{ID: id}),
			`_errors: ["Failed to load ext_pillar cmd_yaml: the minion's id is not fit for a command line"]`)
	}
	same(t, compile(t, c, pillar.Request{ID: "web-1"}), "a: web-1")
	same(t, compile(t, c, pillar.Request{ID: "web1.example.net"}), "a: web1.example.net")
}

func TestOptionsAreShownWithoutGrains(t *testing.T) {
	c := tree(t, data.NewMap(), data.NewMap("pillar_opts", true))
	master, _ := compile(t, c, pillar.Request{ID: "web1", Grains: baseGrains()}).Value("master").(*data.Map)
	if master.Has("grains") || master.Text("saltversion") != "3006.0" ||
		master.Text("state_top") != "top.sls" {
		t.Errorf("got %s", data.Repr(master))
	}
}

func TestPillarEnvironmentFromSaltEnvironment(t *testing.T) {
	roots := write(t, t.TempDir(), data.NewMap("base", data.NewMap("top.sls", topOfAll, "p.sls", "a: base\n"),
		"dev", data.NewMap("top.sls", "dev:\n  '*':\n    - p\n", "p.sls", "a: dev\n")))
	c := compiler(t, pillar.Options{Opts: options(roots, data.NewMap("pillarenv_from_saltenv", true))})
	same(t, compile(t, c, pillar.Request{ID: "web1", SaltEnv: "dev"}), "a: dev")
	same(t, compile(t, c, pillar.Request{ID: "web1", SaltEnv: "base"}), "a: base")
	same(t, compile(t, c, pillar.Request{ID: "web1", PillarEnv: "none"}), "{}")
}

// TestPartsAreNotShared compiles twice: a merge must not change an earlier result or the request.
func TestPartsAreNotShared(t *testing.T) {
	c := tree(t, data.NewMap("top.sls", topOfAll, "p.sls", "m: {a: 1}\n"), nil)
	known := compile(t, c, pillar.Request{ID: "web1"})
	override := data.NewMap("m", data.NewMap("b", int64(2)))
	same(t, compile(t, c, pillar.Request{ID: "web1", Known: known, Override: override}), "m: {a: 1, b: 2}")
	same(t, known, "m: {a: 1}")
	same(t, override, "m: {b: 2}")
}

func TestCompilationEndsWithItsContext(t *testing.T) {
	c := tree(t, data.NewMap("top.sls", topOfAll, "p.sls", "a: 1\n"), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := c.Compile(ctx, pillar.Request{ID: "web1"}); err == nil {
		t.Errorf("got %s", data.Repr(got))
	}
}

func TestTwoSourcesOfOneNameAreAnError(t *testing.T) {
	o := pillar.Options{Opts: data.NewMap(), Engine: engines,
		Sources: []pillar.Source{pillar.CSV{}, pillar.CSV{}}}
	if _, err := pillar.New(o); err == nil || !strings.Contains(err.Error(), "csv") {
		t.Errorf("got %v", err)
	}
}
