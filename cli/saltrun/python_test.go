package saltrun_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
)

// A libraryCall is a call of a function of testdata/python with what it prints.
type libraryCall struct{ tool, call, want string }

// TestPythonLibrary has users' own runners, execution modules and states use Salt's library, with a
// running master and a minion.
func TestPythonLibrary(t *testing.T) {
	need.Time(t, "it starts Python for each call")
	need.Program(t, "python3")
	need.Root(t, "since the configuration names root as the user of the master")
	g := masterGroup{Files: map[string]string{
		"salt/_grains/og.py": "def f():\n    return {'own_g': 'gval'}\n",
		"salt/live.sls":      "a:\n  live.seen: []\nb:\n  live.seen: []\n",
		"pillar/top.sls":     "base:\n  'm1': [p]\n",
		"pillar/p.sls":       "own: 1\n",
	}}
	for kind, name := range map[string]string{"_runners": "lib.py", "_modules": "mlib.py", "_states": "live.py"} {
		text, err := os.ReadFile(filepath.Join("testdata", "python", name))
		if err != nil {
			t.Fatal(err)
		}
		g.Files["salt/"+kind+"/"+name] = string(text)
	}
	g.Config.Master, g.Config.Minion = map[string]any{}, map[string]any{}
	for name, v := range map[string]any{
		"interface": "127.0.0.1", "user": "root", "root_dir": "{ROOT}", "log_file": "{ROOT}/log",
		"enable_fqdns_grains": false, "enable_gpu_grains": false,
	} {
		g.Config.Master[name], g.Config.Minion[name] = v, v
	}
	for name, v := range map[string]any{
		"sock_dir": "{ROOT}/sm", "pki_dir": "{ROOT}/pkim", "cachedir": "{ROOT}/cm", "auto_accept": true,
		"file_roots":   map[string]any{"base": []string{"{ROOT}/salt"}},
		"pillar_roots": map[string]any{"base": []string{"{ROOT}/pillar"}},
		"peer":         map[string]any{".*": []string{".*"}}, "peer_run": map[string]any{".*": []string{".*"}},
	} {
		g.Config.Master[name] = v
	}
	for name, v := range map[string]any{
		"sock_dir": "{ROOT}/sn", "pki_dir": "{ROOT}/pkin", "cachedir": "{ROOT}/cn", "master": "127.0.0.1", "id": "m1",
	} {
		g.Config.Minion[name] = v
	}
	r := newMasterRoot(t, g)
	if code, out, errs := r.run(t, "salt-run", []string{"saltutil.sync_all"}); code != 0 {
		t.Fatalf("sync: exit %d\n%s%s", code, out, errs)
	}
	r.start(t)
	libraryStates(t, r)
	nobody := "No minions matched the target. No command was sent, no jid was assigned.\n{}\n"
	if _, out, _ := r.run(t, "salt-run", []string{"--out=json", "lib.nobody"}); out != nobody {
		t.Errorf("a target that matches nobody: printed %q, want %q", out, nobody)
	}
	for _, c := range libraryCalls {
		args := append([]string{"--out=json", "--log-level=quiet"},
			strings.Fields(strings.ReplaceAll(c.call, "DIR", r.dir))...)
		if c.tool == "salt" {
			args = append([]string{"--static", "-t", "60"}, args...)
		}
		code, stdout, stderr := r.run(t, c.tool, args)
		stdout = restOfMissing.ReplaceAllString(stdout, "")
		got, want := any(nil), any(nil)
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s %s: exit %d, printed %s%s\nwant %s", c.tool, c.call, code, stdout, stderr, c.want)
		}
	}
}

// TestSync fetches users' own plug-ins to a master that does not run, and calls a runner.
func TestSync(t *testing.T) {
	need.Time(t, "it starts Python for each call")
	need.Program(t, "python3")
	need.Root(t, "since the configuration names root as the user of the master")
	dir := place(t, "")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("srv/_runners/own.py", "def f():\n    return 1\n")
	write("srv/_runners/other.py", "def f():\n    raise ValueError('no')\n")
	write("srv/_proxy/p.py", "")
	write("srv/_tokens/t.py", "")
	for _, tt := range []struct {
		change     func()
		call, want string
		code       int
	}{
		{nil, "own.f", "'own.f' is not available.", 0},
		{nil, "saltutil.sync_runners extmod_blacklist=other", `["runners.own"]`, 0},
		{nil, "saltutil.sync_runners", `["runners.other"]`, 0},
		{nil, "saltutil.sync_runners", `[]`, 0},
		{nil, "saltutil.sync_proxymodules", `["proxy.p"]`, 0},
		{nil, "saltutil.sync_eauth_tokens", `["tokens.t"]`, 0},
		{nil, "own.f", "1", 0},
		{func() { write("srv/_runners/own.py", "def f():\n    return 2\n") }, "own.f", "1", 0},
		{nil, "saltutil.sync_runners extmod_whitelist=own", `["runners.own"]`, 0},
		{nil, "own.f", "2", 0},
		{nil, "other.f", "'other.f' is not available.", 0},
		{nil, "saltutil.sync_all", `{"clouds": [], "modules": [], "states": [], "grains": [], "renderers": [], ` +
			`"returners": [], "output": [], "proxymodules": [], "runners": ["runners.other"], "wheel": [], ` +
			`"engines": [], "thorium": [], "queues": [], "pillar": [], "utils": [], "sdb": [], "cache": [], ` +
			`"fileserver": [], "tops": [], "tokens": [], "serializers": [], "executors": [], "roster": []}`, 0},
		{nil, "other.f", "ValueError: no", 1},
		{func() {
			if err := os.Remove(filepath.Join(dir, "srv/_runners/own.py")); err != nil {
				t.Fatal(err)
			}
		}, "saltutil.sync_runners", `[]`, 0},
		{nil, "own.f", "'own.f' is not available.", 0},
	} {
		if tt.change != nil {
			tt.change()
		}
		args := append([]string{"--out=json", "--out-indent=-1"}, strings.Fields(tt.call)...)
		stdout, stderr, code := run(t, dir, args...)
		if code != tt.code || !strings.Contains(stdout, tt.want) {
			t.Errorf("%s: exit %d, printed %s%s\nwant %s", tt.call, code, stdout, stderr, tt.want)
		}
	}
}

// libraryStates applies states in Python that read __running__ and __lowstate__.
func libraryStates(t *testing.T, r *masterRoot) {
	t.Helper()
	_, stdout, stderr := r.run(t, "salt", []string{"--static", "-t", "60", "--out=json", "m1", "state.apply", "live"})
	var got map[string]map[string]struct{ Comment string }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	for id, want := range map[string]string{"a": "[] of ['a', 'b']", "b": "['a'] of ['a', 'b']"} {
		if is := got["m1"]["live_|-"+id+"_|-"+id+"_|-seen"].Comment; is != want {
			t.Errorf("state %s sees %q, want %q", id, is, want)
		}
	}
}

// restOfMissing is the end of the text about a minion that did not reply.
var restOfMissing = regexp.MustCompile(`\\nThe minions may not have all finished running[^"]*`)

var libraryCalls = []libraryCall{
	{"salt-run", "lib.cmd", `{"m1": [["a"], {"w": [2], "k": 1}]}`},
	{"salt-run", "lib.cmd_full", `{"m1": ["x", 0]}`},
	{"salt-run", "lib.cmd_full_return", `{"m1": ["x", true]}`},
	{"salt-run", "lib.cmd_list", `{"m1": true, "m2": "Minion did not return. [No response]"}`},
	{"salt-run", "lib.cmd_several", `{"m1": {"test.ping": true, "test.echo": "x"}}`},
	{"salt-run", "lib.cmd_iter", `[["m1", true]]`},
	{"salt-run", "lib.cmd_batch", `[{"m1": true}]`},
	{"salt-run", "lib.cmd_subset", `{"m1": true}`},
	{"salt-run", "lib.job", `[["m1"], {"m1": "later"}]`},
	{"salt-run", "lib.cmd_async", `["str", 20]`},
	{"salt-run", "lib.runner", `[{"args": ["a"], "kwargs": {"k": 1}}, "Exception occurred in runner l"]`},
	{"salt-run", "lib.runner_async", `[true, {"args": ["a"], "kwargs": {"k": 1}}]`},
	{"salt-run", "lib.wheel", `[["m1"], {"minions": ["m1"]}]`},
	{"salt-run", "lib.events", `[true, "my/tag", 2, null]`},
	{"salt-run", "lib.started", `[true, true, "m1"]`},
	{"salt-run", "lib.cache", `[{"a": [1, null]}, ["key"], {}, true, {"own": 1}]`},
	{"salt-run", "lib.keys DIR", `[true, 256, true, false]`},
	{"salt-run", "lib.pillar", `{"own": 1}`},
	{"salt-run", "lib.match", `[["m1"], ["m1"], []]`},
	{"salt-run", "lib.config", `[true, true]`},
	{"salt-run", "lib.template DIR/t", `[{"n": 2}, {"a": 2}]`},
	{"salt-run", "lib.user", `["root", true]`},
	{"salt-run", "lib.execute", `{"m1": "x"}`},
	{"salt", "m1 mlib.caller", `{"m1": [{"args": [1], "kwargs": {"k": "a"}}, "x"]}`},
	{"salt", "m1 mlib.event", `{"m1": 1}`},
	{"salt", "m1 mlib.runner", `{"m1": [{"args": ["a"], "kwargs": {"k": 1}}, {"args": ["b"], "kwargs": {}}]}`},
	{"salt", "m1 mlib.wheel", `{"m1": ["m1"]}`},
	{"salt", "m1 mlib.publish", `{"m1": [{"m1": "x"}, true]}`},
	{"salt", "m1 mlib.local", `{"m1": {"m1": "x"}}`},
	{"salt", "m1 mlib.mods", `{"m1": "x"}`},
}
