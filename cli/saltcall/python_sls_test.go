package saltcall

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
)

// comments returns the comments of the states of a run, by their ids, and its exit code.
func (r pluginRoot) comments(t *testing.T, args ...string) (map[string]string, int) {
	t.Helper()
	code, stdout, stderr := r.run(t, args)
	var out struct {
		Local map[string]struct {
			ID      string `json:"__id__"`
			Comment string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil {
		t.Fatalf("%q: %v\n%s%s", args, err, stdout, stderr)
	}
	found := map[string]string{}
	for _, state := range out.Local {
		found[state.ID] = state.Comment
	}
	return found, code
}

// wantComments checks the comments of a run in the form "id: comment".
func (r pluginRoot) wantComments(t *testing.T, want string, args ...string) {
	t.Helper()
	got, code := r.comments(t, args...)
	id, comment, _ := strings.Cut(want, ": ")
	if len(got) != 1 || got[id] != comment || code != 0 {
		t.Errorf("%q: exit code %d, %q, want %s", args, code, got, want)
	}
}

// TestHighstateSyncs checks that a run of the top file uses new, changed and removed plug-ins of all
// kinds at once, and that one of an SLS does not.
func TestHighstateSyncs(t *testing.T) {
	need.Time(t, "it starts Python for each call")
	need.Program(t, "python3")
	r := newPluginRoot(t, pluginGroup{Files: map[string]string{
		"salt/top.sls": "base: {'*': [high]}\n",
		"salt/high.sls": "#!jinja|shout|yaml\na:\n  test.show_notification:\n" +
			"    - text: LOUD {{ grains.get('own') }} {{ salt['own.f']() if 'own.f' in salt else 'none' }} {{ pillar.get('p') }}\n",
		"salt/_renderers/shout.py": "def render(s, *a, **k):\n" +
			"    s = s if isinstance(s, str) else s.read()\n" +
			"    return s.replace('LOUD', 'quiet')\n",
		"salt/_grains/own.py":  "def f():\n    return {'own': 'one'}\n",
		"salt/_modules/own.py": "def f():\n    return 'first'\n",
		"pillar/top.sls":       "base: {'*': [p]}\n",
		"pillar/p.sls":         "p: {{ grains.get('own') }}\n",
	}})
	if code, _, _ := r.run(t, []string{"state.apply", "high"}); code == 0 {
		t.Error("state.apply NAME syncs")
	}
	r.wantComments(t, "a: quiet one first one", "state.apply")
	r.wantComments(t, "a: quiet one first one", "state.highstate")
	r.wantComments(t, "a: quiet one first one", "state.apply", "high")
	r.Write(t, map[string]string{
		"salt/_grains/own.py":  "def f():\n    return {'own': 'two'}\n",
		"salt/_modules/own.py": "def f():\n    return 'second' + __grains__['own']\n",
	})
	r.wantComments(t, "a: quiet one first one", "state.apply", "high")
	r.wantComments(t, "a: quiet two secondtwo two", "state.top", "top.sls")
	if err := os.Remove(filepath.Join(r.dir, "salt/_modules/own.py")); err != nil {
		t.Fatal(err)
	}
	r.wantComments(t, "a: quiet two none two", "state.apply")
}

// TestPluginsSeeTheirRun checks that plug-ins find the pillar of the run that they belong to, though
// one Python process compiles the pillar as well.
func TestPluginsSeeTheirRun(t *testing.T) {
	need.Time(t, "it starts Python for each call")
	need.Program(t, "python3")
	r := newPluginRoot(t, pluginGroup{Files: map[string]string{
		"cache/extmods/modules/own.py": "def p():\n" +
			"    return '%s %s %s' % (__pillar__.get('a'), __opts__['pillar'].get('a'), __pillar__.get('b'))\n",
		"cache/extmods/states/own.py": "def f(name):\n" +
			"    return {'name': name, 'changes': {}, 'result': True, 'comment': __salt__['own.p']() + ' ' + str(__pillar__.get('a'))}\n",
		"cache/extmods/pillar/ext.py": "def ext_pillar(minion_id, pillar):\n" +
			"    return {'b': str(__pillar__.get('a')) + str(pillar.get('a'))}\n",
		"salt/py.sls": "#!py\ndef run():\n" +
			"    return {'x': {'own.f': []}, 'y': {'test.show_notification': [{'text': '%s %s' % (pillar.get('a'), salt['own.p']())}]}}\n",
		"pillar/top.sls": "base: {'*': [p]}\n",
		"pillar/p.sls": "#!py\ndef run():\n" +
			"    return {'a': 'file' + str(pillar.get('a')) + salt['own.p']()}\n",
	}, Config: struct{ Minion json.RawMessage }{json.RawMessage(`{"ext_pillar": [{"ext": []}], "extension_modules": "{ROOT}/cache/extmods"}`)}})
	const file = "fileNoneNone None None"
	for range 2 {
		got, code := r.comments(t, "state.apply", "py")
		b := "None" + file
		if want := file + " " + file + " " + b; code != 0 || got["x"] != want+" "+file || got["y"] != file+" "+want {
			t.Errorf("%d %q", code, got)
		}
		got, code = r.comments(t, "state.apply", "py", "pillar={a: line}")
		if want := "line line " + file + "line"; code != 0 || got["x"] != want+" line" || got["y"] != "line "+want {
			t.Errorf("with pillar=: %d %q", code, got)
		}
	}
}

// TestStatesAreKnownWhileTheyLoad checks that the __virtual__ of a state finds all states of Brine in
// __states__, also those that need execution modules.
func TestStatesAreKnownWhileTheyLoad(t *testing.T) {
	need.Time(t, "it starts Python for each call")
	need.Program(t, "python3")
	r := newPluginRoot(t, pluginGroup{Files: map[string]string{
		"salt/_states/own.py": "SEEN = set()\n\n\n" +
			"def __virtual__():\n    SEEN.update(__states__)\n    return 'file.managed' in __states__\n\n\n" +
			"def f(name):\n" +
			"    missing = sorted(n for n in __states__ if n not in SEEN and not n.startswith('own.'))\n" +
			"    return {'name': name, 'changes': {}, 'result': True, 'comment': ' '.join(missing)}\n",
		"salt/own.sls": "x:\n  own.f: []\n",
	}})
	r.run(t, []string{"saltutil.sync_states"})
	r.wantComments(t, "x: ", "state.apply", "own")
}
