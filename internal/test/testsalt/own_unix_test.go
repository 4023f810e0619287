//go:build unix

package testsalt_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
)

// An ownMaster is a master with users' own plug-ins, which lie in the directory m/ext.
type ownMaster struct {
	*testsalt.Master
	dir   string
	local *client.Local
}

// startOwn runs a master with own plug-ins and other files, by their names below its directory DIR,
// and with further lines of configuration.
func startOwn(t *testing.T, dir string, files map[string]string, lines ...string) *ownMaster {
	t.Helper()
	need.Time(t, "it starts Python")
	need.Program(t, "python3")
	o := &ownMaster{dir: dir}
	for name, text := range files {
		o.write(t, name, text)
	}
	lines = append(lines, "id: vm_master", "extension_modules: DIR/m/ext", "timeout: 20",
		"file_roots: {base: [DIR/salt]}", "pillar_roots: {base: [DIR/pillar]}")
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, "DIR", dir)
	}
	o.Master = testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m"), lines...))
	o.local = o.Client(t)
	return o
}

func (o *ownMaster) write(t *testing.T, name, text string) {
	t.Helper()
	write(t, filepath.Join(o.dir, name), strings.ReplaceAll(text, "DIR", o.dir))
}

// runner calls a runner in the master and returns its result.
func (o *ownMaster) runner(t *testing.T, fun string, args []any, words *data.Map) any {
	t.Helper()
	return o.control(t, "runner", fun, args, words).Value("return")
}

// pillar returns the pillar of a minion. That of the runner pillar.show_pillar is hidden in events.
func (o *ownMaster) pillar(t *testing.T, id string) *data.Map {
	t.Helper()
	found, err := o.Master.Master.CompilePillar(t.Context(), id, data.NewMap("id", id), loader.PillarQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (o *ownMaster) control(
	t *testing.T, kind, fun string, args []any, words *data.Map,
) *data.Map {
	t.Helper()
	job, err := o.local.Control(t.Context(), kind, fun, args, words)
	if err != nil {
		t.Fatalf("%s: %v", fun, err)
	}
	return job
}

// lines returns the lines that are written to a named pipe from now on.
func lines(t *testing.T, name string) <-chan string {
	t.Helper()
	f := pipe(t, name)
	all := make(chan string, 1000)
	go func() {
		in := bufio.NewScanner(f)
		for in.Scan() {
			all <- in.Text()
		}
	}()
	return all
}

// next returns the next line, without which the test fails after a minute.
func next(t *testing.T, all <-chan string) string {
	t.Helper()
	select {
	case line := <-all:
		return line
	case <-time.After(time.Minute):
		t.Fatal("there is no further line after a minute")
		return ""
	}
}

// A masterVector is the part of testdata/vectors/python/master.json that is replayed here: a master
// of Salt with users' own plug-ins.
type masterVector struct {
	Files map[string]string
	Calls []struct {
		ID    string
		JSON  json.RawMessage `json:"stdout_json"`
		Reads map[string]string
	}
}

func readMasterVector(t *testing.T) masterVector {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(vectors.Dir(), "python", "master.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v masterVector
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// want returns what Salt answers to a call, with the minion of these tests in it.
func (v masterVector) want(t *testing.T, id string) any {
	t.Helper()
	for _, c := range v.Calls {
		if c.ID != id {
			continue
		}
		var want any
		text := strings.ReplaceAll(string(c.JSON), `"m1"`, `"web1"`)
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		return want
	}
	t.Fatalf("there is no call %s", id)
	return nil
}

// same fails unless a value is Salt's answer to a call.
func (v masterVector) same(t *testing.T, id string, got any) {
	t.Helper()
	text, err := output.JSON(got)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	var have any
	if err := json.Unmarshal([]byte(text), &have); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	want := v.want(t, id)
	if m, ok := want.(map[string]any); ok && len(m) == 1 && m["web1"] != nil { // of one minion
		want = m["web1"]
	}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("%s: got %v\nwant %v", id, have, want)
	}
}

// files returns the files of the vector in their places: the master's plug-ins are synced.
func (v masterVector) files() map[string]string {
	placed := map[string]string{}
	for name, text := range v.Files {
		if kind, ok := strings.CutPrefix(name, "salt/_"); ok {
			name = "m/ext/" + kind
		}
		placed[name] = strings.ReplaceAll(text, "{ROOT}", "DIR")
	}
	return placed
}

// TestVectorOwnCodeOfAMaster replays Salt's answers that come from users' own code in the master.
func TestVectorOwnCodeOfAMaster(t *testing.T) {
	v, dir := readMasterVector(t), testsalt.Dir(t)
	engine, cache := lines(t, filepath.Join(dir, "eng.out")), lines(t, filepath.Join(dir, "mjc.log"))
	o := startOwn(t, dir, v.files(),
		"ext_pillar: [{epm: [a, b]}]", "master_tops: {mtop: 'on'}",
		"engines: [{eng: {path: DIR/eng.out, word: mw}}]",
		"external_auth: {oauth: {joe: ['.*'], 'grp%': ['test.ping']}}",
		"master_job_cache: mjc", "event_return: mjc", "event_return_whitelist: ['own/*']")
	last := v.Calls[len(v.Calls)-1]
	if got, want := next(t, engine), strings.TrimSpace(last.Reads["eng.out"]); got != want {
		t.Errorf("the engine: got %s\nwant %s", got, want)
	}
	bus := o.Listen(t, "salt/minion/")
	minionWith(t, filepath.Join(dir, "n"), o.Address, "grains: {own_g: gval}")
	testsalt.AwaitEvent(t, bus, "salt/minion/web1/start")

	for _, c := range []struct {
		id, fun string
		args    []any
		words   *data.Map
	}{
		{"master.3", "rr.hello", nil, nil},
		{"master.4", "rr.args", []any{1, "z"}, data.NewMap("k", "v")},
		{"master.6", "rr.args", []any{1, 2, 3}, data.NewMap("x", 1)},
		{"master.11", "rr.none", nil, nil},
		{"master.12", "rr.false", nil, nil},
		{"master.18", "rr.call", nil, nil},
		{"master.19", "rr.salt_cmd", nil, nil},
		{"master.20", "rr.has", nil, nil},
		{"master.25", "rr.retcode", nil, nil},
		{"master.26", "rr.nested", nil, nil},
		{"master.27", "rr.util", nil, nil},
	} {
		v.same(t, c.id, o.runner(t, c.fun, c.args, c.words))
	}
	for fun, want := range map[string]string{
		"rr.exc":  "Exception occurred in runner rr.exc: Traceback (most recent call last):\n",
		"rr.nope": "Exception occurred in runner rr.nope: ",
		"rv.f":    "Exception occurred in runner rv.f: ",
	} {
		if got := data.Str(o.runner(t, fun, nil, nil)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s", fun, got)
		}
	}
	v.same(t, "master.23", o.wheel(t, "wk.who"))
	v.same(t, "master.64", returned(t, o.Master, "pillar.items"))
	v.same(t, "master.65", returned(t, o.Master, "state.show_top"))
	o.checkJobCache(t, v, cache)
	o.checkLogins(t)
}

// wheel calls a wheel function.
func (o *ownMaster) wheel(t *testing.T, fun string) any {
	t.Helper()
	job := o.control(t, "wheel", fun, nil, nil)
	if inner, ok := job.Value("data").(*data.Map); ok {
		job = inner
	}
	return job.Value("return")
}

// checkJobCache expects the calls of a master_job_cache and an event_return, which write lines.
func (o *ownMaster) checkJobCache(t *testing.T, v masterVector, calls <-chan string) {
	t.Helper()
	if err := o.Listen(t, "none").Fire(t.Context(), "own/tag", data.NewMap("k", 1)); err != nil {
		t.Fatal(err)
	}
	waits := []string{
		`["prep_jid", false, true]`, `["save_load", "runner.rr.hello", `,
		`["returner", "runner.rr.hello", {`, `["save_load", "pillar.items", `,
		`["returner", "pillar.items", {"own": 1`, `["event", "own/tag", ["_stamp", "k"`,
	}
	for len(waits) > 0 {
		line := next(t, calls)
		waits = slices.DeleteFunc(waits, func(begin string) bool { return strings.HasPrefix(line, begin) })
	}
	got := o.runner(t, "jobs.lookup_jid", []any{"20240101000000000000"}, nil)
	if data.Repr(got) != "{'m1': 'from mjc'}" {
		t.Errorf("jobs.lookup_jid: %s", data.Repr(got))
	}
}

// checkLogins logs users in through an own system, by name and by group.
func (o *ownMaster) checkLogins(t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		name, password, fun string
		ok                  bool
	}{
		{"joe", "pw-joe", "test.ping", true},
		{"joe", "no", "test.ping", false},
		{"ann", "pw-ann", "test.ping", true},
		{"ann", "pw-ann", "test.version", false},
	} {
		l := o.Client(t)
		l.LogIn(data.NewMap("username", c.name, "password", c.password, "eauth", "oauth"))
		_, err := l.Publish(t.Context(), client.Request{Target: "web1", Kind: "list", Fun: c.fun,
			Timeout: 20 * time.Second})
		if (err == nil) != c.ok {
			t.Errorf("%s with %s, %s: %v", c.name, c.password, c.fun, err)
		}
	}
}

// TestOwnCodeRendersOnAMaster renders pillar, a reaction and an orchestration with files in Python
// and an own renderer; the orchestration has an own state, which calls an own execution module.
func TestOwnCodeRendersOnAMaster(t *testing.T) {
	dir := testsalt.Dir(t)
	told := lines(t, filepath.Join(dir, "told"))
	o := startOwn(t, dir, map[string]string{
		"pillar/top.sls": "base: {'*': [code, shouted]}\n",
		"pillar/code.sls": "#!py\ndef run():\n" +
			"    return {'who': opts['id'], 'own': salt['om.twice'](3)}\n",
		"pillar/shouted.sls": "#!shout|yaml\nloud: quiet\n",
		"m/ext/renderers/shout.py": "def render(text, saltenv='base', sls='', **kwargs):\n" +
			"    text = text if isinstance(text, str) else text.read()\n" +
			"    return text.replace('quiet', 'QUIET')\n",
		"m/ext/modules/om.py": "def twice(n):\n    return [n, 2 * n, __opts__['__role']]\n",
		"m/ext/states/os1.py": "def made(name):\n" +
			"    return {'name': name, 'result': True, 'comment': str(__salt__['om.twice'](4)), 'changes': {}}\n",
		"m/ext/runners/tell.py": "def line(text):\n    with open('DIR/told', 'a') as f:\n" +
			"        f.write(text + chr(10))\n",
		"react.sls": "#!py\ndef run():\n" +
			"    return {'x': {'runner.tell.line': [{'args': [{'text': 'reacted to ' + tag + ' ' + data['word']}]}]}}\n",
		"salt/orch.sls": "#!py\ndef run():\n" +
			"    return {'a': {'os1.made': []}, 'b': {'salt.runner': [{'name': 'tell.line'}, {'text': 'orchestrated'}]}}\n",
	}, "reactor: [{'own/*': [DIR/react.sls]}]")
	got := data.Repr(o.pillar(t, "web7"))
	if want := "{'who': 'web7', 'own': [3, 6, 'master'], 'loud': 'QUIET'}"; got != want {
		t.Errorf("pillar: got %s\nwant %s", got, want)
	}
	if err := o.Listen(t, "none").Fire(t.Context(), "own/it", data.NewMap("word", "hello")); err != nil {
		t.Fatal(err)
	}
	if got := next(t, told); got != "reacted to own/it hello" {
		t.Errorf("the reaction wrote %s", got)
	}
	result := data.Repr(o.runner(t, "state.orchestrate", []any{"orch"}, nil))
	for _, want := range []string{"'comment': \"[4, 8, 'master']\"", "Runner function 'tell.line' executed."} {
		if !strings.Contains(result, want) {
			t.Errorf("the orchestration lacks %s: %s", want, result)
		}
	}
	if got := next(t, told); got != "orchestrated" {
		t.Errorf("the orchestration wrote %s", got)
	}
}

// TestOwnPillars calls external pillars with each form of arguments, beside one that raises an
// exception and one that returns no dictionary.
func TestOwnPillars(t *testing.T) {
	o := startOwn(t, testsalt.Dir(t), map[string]string{
		"pillar/top.sls": "base: {'*': [p]}\n",
		"pillar/p.sls":   "seen: {{ pillar.get('alist', 'nothing') }}\nfiles: 1\n",
		"m/ext/pillar/alist.py": "def ext_pillar(minion_id, pillar, *args):\n" +
			"    return {'alist': list(args)}\n",
		"m/ext/pillar/adict.py": "def ext_pillar(minion_id, pillar, a, b=2):\n" +
			"    return {'adict': [a, b, __opts__['id'], sorted(pillar)]}\n",
		"m/ext/pillar/one.py": "def ext_pillar(minion_id, pillar, arg):\n" +
			"    pillar['one'] = arg\n    return pillar\n",
		"m/ext/pillar/bad.py": "def ext_pillar(minion_id, pillar, arg):\n" +
			"    raise ValueError('ext broke')\n",
		"m/ext/pillar/wrong.py": "def ext_pillar(minion_id, pillar, arg):\n    return [arg]\n",
		"m/ext/pillar/off.py": "def __virtual__():\n    return False, 'not here'\n\n\n" +
			"def ext_pillar(minion_id, pillar, arg):\n    return {'off': arg}\n",
		// an own file replaces the external pillar of that name
		"m/ext/pillar/cmd_json.py": "def ext_pillar(minion_id, pillar, arg):\n    return {'cmd_json': arg}\n",
	}, "ext_pillar_first: True", "ext_pillar: [{alist: [1, x]}, {adict: {a: 5}}, {one: text}, "+
		"{bad: 1}, {wrong: 1}, {off: 1}, {cmd_json: mine}]")
	got := o.pillar(t, "web7")
	for name, want := range map[string]string{
		"alist": "[1, 'x']", "adict": "[5, 2, 'web7', ['alist']]", "one": "'text'", "seen": "[1, 'x']",
		"files": "1", "off": "None", "cmd_json": "'mine'",
		"_errors": "['Failed to load ext_pillar bad: ext broke', " +
			"'Failed to load ext_pillar wrong: Cannot update using non-dict types in dictupdate.update()']",
	} {
		if have := data.Repr(got.Value(name)); have != want {
			t.Errorf("%s: got %s, want %s", name, have, want)
		}
	}
}

// TestSlowOwnPillarDelaysNoOther holds the pillar of one minion up while others get theirs, and
// runners run.
func TestSlowOwnPillarDelaysNoOther(t *testing.T) {
	dir := testsalt.Dir(t)
	g := newGate(t, dir)
	o := startOwn(t, dir, map[string]string{
		"m/ext/pillar/slow.py": "def ext_pillar(minion_id, pillar, arg):\n    if minion_id == 'slow':\n" +
			"        with open('DIR/up', 'w') as f:\n            f.write('x' + chr(10))\n" +
			"        with open('DIR/down') as f:\n            f.readline()\n    return {'got': minion_id}\n",
	}, "ext_pillar: [{slow: 1}]")
	done := make(chan any, 1)
	go func() {
		found, err := o.Master.Master.CompilePillar(t.Context(), "slow", data.NewMap("id", "slow"),
			loader.PillarQuery{})
		if err != nil {
			done <- err
			return
		}
		done <- found
	}()
	g.await(t)
	bus := o.Listen(t, "salt/minion/")
	minionWith(t, filepath.Join(dir, "n"), o.Address) // it signs in and gets its pillar
	testsalt.AwaitEvent(t, bus, "salt/minion/web1/start")
	if got := data.Repr(returned(t, o.Master, "pillar.get", "got")); got != "'web1'" {
		t.Errorf("pillar of another minion: %s", got)
	}
	g.open(t)
	if got := data.Repr(<-done); got != "{'got': 'slow'}" {
		t.Errorf("the slow pillar: %s", got)
	}
}

// TestFaultsOfOwnCodeStopNoMaster runs code that crashes, raises exceptions and cannot be loaded.
// An engine that fails is started again, and a file that was mended is found.
func TestFaultsOfOwnCodeStopNoMaster(t *testing.T) {
	dir := testsalt.Dir(t)
	starts, sour := lines(t, filepath.Join(dir, "starts")), lines(t, filepath.Join(dir, "sour"))
	o := startOwn(t, dir, map[string]string{
		"m/ext/runners/r.py": "import os\n\n\ndef crash():\n    os._exit(3)\n\n\n" +
			"def fine():\n    return 'fine'\n",
		"m/ext/runners/broken.py": "def f(:\n",
		"m/ext/engines/fails.py": "def start():\n    with open('DIR/starts', 'a') as f:\n" +
			"        f.write('start' + chr(10))\n    raise ValueError('engine broke')\n",
		"m/ext/returners/sour.py": "def _fail(name):\n" +
			"    with open('DIR/sour', 'a') as f:\n        f.write(name + chr(10))\n" +
			"    raise ValueError('no')\n\n\n" +
			"def save_load(jid, load, minions=None):\n    _fail('save_load')\n\n\n" +
			"def returner(ret):\n    _fail('returner')\n\n\n" +
			"def event_return(events):\n    _fail('event_return')\n",
		"m/ext/tops/badtop.py": "def top(**kwargs):\n    raise ValueError('no top')\n",
	}, "engines: [fails, absent]", "master_job_cache: sour", "event_return: sour",
		"master_tops: {badtop: 1, ext_nodes: echo}")
	for range 3 {
		next(t, starts)
	}
	for _, c := range []struct{ fun, want string }{
		{"r.crash", "ended"}, {"r.fine", "fine"}, {"broken.f", "'broken' __virtual__ returned False"},
	} {
		if got := data.Str(o.runner(t, c.fun, nil, nil)); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.fun, got, c.want)
		}
	}
	o.write(t, "m/ext/runners/broken.py", "def f():\n    return 'mended'\n")
	o.write(t, "m/ext/runners/fresh.py", "def f():\n    return 'fresh'\n")
	for fun, want := range map[string]string{"broken.f": "mended", "fresh.f": "fresh"} {
		if got := o.runner(t, fun, nil, nil); got != want {
			t.Errorf("%s: got %s, want %s", fun, data.Repr(got), want)
		}
	}
	bus := o.Listen(t, "salt/minion/")
	minionWith(t, filepath.Join(dir, "n"), o.Address)
	testsalt.AwaitEvent(t, bus, "salt/minion/web1/start")
	if got := data.Repr(returned(t, o.Master, "state.show_top")); got != "{}" {
		t.Errorf("state.show_top: %s", got)
	}
	for missing := map[string]bool{"save_load": true, "returner": true, "event_return": true}; len(missing) > 0; {
		delete(missing, next(t, sour))
	}
}

// TestExtJobCacheOfOwnCode saves the jobs of a master in an own returner.
func TestExtJobCacheOfOwnCode(t *testing.T) {
	dir := testsalt.Dir(t)
	saved := lines(t, filepath.Join(dir, "saved"))
	o := startOwn(t, dir, map[string]string{
		"m/ext/returners/ext1.py": "def save_load(jid, load, minions=None):\n" +
			"    with open('DIR/saved', 'a') as f:\n" +
			"        f.write('%s %s %s' % (load['fun'], minions, len(jid)) + chr(10))\n",
	}, "ext_job_cache: ext1")
	bus := o.Listen(t, "salt/minion/")
	minionWith(t, filepath.Join(dir, "n"), o.Address)
	testsalt.AwaitEvent(t, bus, "salt/minion/web1/start")
	if _, err := o.local.Publish(t.Context(), client.Request{Target: "web1", Kind: "list",
		Fun: "test.ping", Timeout: 20 * time.Second}); err != nil {
		t.Fatal(err)
	}
	if got, want := next(t, saved), fmt.Sprint("test.ping ['web1'] ", 20); got != want {
		t.Errorf("saved %s, want %s", got, want)
	}
}
