package saltclass_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar/saltclass"
	"github.com/brineproject/brine/yaml"
)

// wantPillar is the result of Salt 3006.0's external pillar for testdata/tree and the pillar base:
// mine, wantTop that of its master_tops without it.
const (
	wantPillar = `{"__saltclass__": {"states": ["users", "openssh", "common", "db", "web", "common", "deb", "node"],
"classes": ["default.users", "default.empty", "default", "roles.db", "roles.web", "app.debian"], "environment": "base", "nodename": "web1"},
"common": {"list": ["u", "a", "w", "d", "d"], "users": {"u1": {"uid": 1}},
"net": {"dns": {"srv": "192.168.0.1", "port": 53}}, "text": "192.168.0.1 and ${common:nothing} x192.168.0.1"},
"items": ["192.168.0.1", {"deep": "192.168.0.1"}, 5], "twice": ["t", "o", "r", "r"], "cut": ["x", 1, 2, 3],
"esc": "${common:x}", "kinds": {"a": [1, 1], "b": {"x": 1}, "see": "^-x-1-2-3 "}, "deep": {"one": 1, "two": 2},
"db": "web1", "base": "from debian", "own": {"l": [9], "os": "Debian", "see": "mine"}}`
	wantTop = `{base: [users, openssh, common, db, web, common, deb, node]}`
)

func node(t *testing.T, path, id string) (saltclass.Node, *logtest.Hook) {
	t.Helper()
	log, told := logtest.NewNullLogger()
	return saltclass.Node{ID: id, Path: path, Opts: data.NewMap(),
		Grains: data.NewMap("os", "Debian"), Log: log}, told
}

func read(t *testing.T, text string) any {
	t.Helper()
	v, err := yaml.Load([]byte(text), yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheTreeIsSalts(t *testing.T) {
	n, told := node(t, "testdata/tree", "web1")
	before := data.NewMap("base", "mine")
	for range 2 {
		n.Pillar = before
		got, seen, err := n.Pillars(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		data.Merge(seen, got, false)
		got = seen
		if want := read(t, wantPillar); !data.Equal(got, want) {
			t.Errorf("got  %s, %v\nwant %s", data.Repr(got), err, data.Repr(want))
		}
		n.Pillar = nil
		got, err = n.Top(t.Context())
		if want := read(t, wantTop); err != nil || !data.Equal(got, want) {
			t.Errorf("got  %s, %v\nwant %s", data.Repr(got), err, data.Repr(want))
		}
	}
	if data.Repr(before) != "{'base': 'mine'}" {
		t.Errorf("the pillar was changed to %s", data.Repr(before))
	}
	if log := told.LastEntry(); log == nil ||
		log.Message != "nothing.here: Class globbing did not yield any results" {
		t.Errorf("log %v", log)
	}
}

func TestMissingNode(t *testing.T) {
	n, told := node(t, "testdata/tree", "db1")
	got, _, err := n.Pillars(t.Context())
	if want := "{'__saltclass__': {'states': [], 'classes': [], 'environment': '', 'nodename': 'db1'}}"; err != nil || data.Repr(got) != want {
		t.Errorf("%s, %v", data.Repr(got), err)
	}
	if log := told.LastEntry(); log == nil || log.Message != "db1: Node definition not found" {
		t.Errorf("log %v", log)
	}
	for _, id := range []string{"", "../web1", "zone/web1"} {
		n.ID = id
		if got, err := n.Top(t.Context()); err == nil {
			t.Errorf("%q: %s", id, data.Repr(got))
		}
	}
}

// tree writes files, pairs of name and content.
func tree(t testing.TB, pairs ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(pairs); i += 2 {
		at := filepath.Join(dir, pairs[i])
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(pairs[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestErrorsHideSecrets(t *testing.T) {
	for _, c := range []struct{ node, class, want string }{
		{"classes: [c]", "pillars: {p: hunter2}\nx: {{ 1 / 0 }}",
			"/classes/c.yml does not render; please see the master's log"},
		{"classes: [c]", "p: [hunter2", "/classes/c.yml is not YAML; please see the master's log"},
		{"classes: [c]", "- hunter2", "/classes/c.yml is not a dictionary"},
		{"classes: c", "", "classes is not a list"},
		{"classes: [{c: 1}]", "", "classes contains {'c': 1}, which is not a name"},
		{"classes: [c]", "classes: d", "class c: classes is not a list"},
		{"classes: [c]", "states: s", "class c: states is not a list"},
		{"pillars: {a: '${b:c}', b: {c: 1}}", "", "the value of the variable ${b:c} is not a text"},
		{"pillars: {a: '${b:c}', b: x}", "",
			"the variable ${b:c} leads into a value that is not a dictionary"},
	} {
		dir := tree(t, "nodes/web1.yml", c.node, "classes/c.yml", c.class)
		n, _ := node(t, dir, "web1")
		_, _, err := n.Pillars(t.Context())
		if err == nil || strings.TrimPrefix(err.Error(), dir) != c.want ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", c.node, err, c.want)
		}
	}
	dir := tree(t, "nodes/web1.yml", "classes: [../secret, '../*', a/b]\n", "secret.yml",
		"states: [x]", "classes/a/b.yml", "states: [y]")
	n, _ := node(t, dir, "web1")
	if got, err := n.Top(t.Context()); err != nil || data.Repr(got) != "{'': []}" {
		t.Errorf("outside of the folder: %s, %v", data.Repr(got), err)
	}
}

func TestListsHaveAnEnd(t *testing.T) {
	long := strings.Repeat("1, ", 60_000)
	dir := tree(t, "nodes/web1.yml", "classes: [a, b]", "classes/a.yml", "pillars: {m: {x: 1}}",
		"classes/b.yml", "pillars: {m: {y: ["+long+"]}}")
	n, _ := node(t, dir, "web1")
	if _, _, err := n.Pillars(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "has more than 100000 elements") {
		t.Error(err)
	}
}

func TestClassesThatNameOneAnother(t *testing.T) {
	dir := tree(t, "nodes/web1.yml", "classes: [a]", "classes/a.yml", "classes: [b]\nstates: [a]",
		"classes/b.yml", "classes: [a, b]\nstates: [b]")
	n, _ := node(t, dir, "web1")
	if got, err := n.Top(t.Context()); err != nil || data.Repr(got) != "{'': ['b', 'a']}" {
		t.Errorf("%s, %v", data.Repr(got), err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "nodes", "loop")); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Top(t.Context()); err != nil {
		t.Error(err)
	}
}

func FuzzTree(f *testing.F) {
	f.Add("classes: [a]\npillars: {l: [^, 1], v: '${m:x} \\${y}', m: {x: z}}",
		"classes: ['*']\npillars: {l: [2], m: {x: '${v}'}}\nstates: [s]")
	f.Add("classes:\nstates:\npillars:", "pillars: {l: []}")
	f.Fuzz(func(t *testing.T, node, class string) {
		dir := tree(t, "nodes/web1.yml", node, "classes/a.yml", class, "classes/b.yml",
			"pillars: {l: [3], m: {x: y}}\nclasses: [a]")
		log, _ := logtest.NewNullLogger()
		n := saltclass.Node{ID: "web1", Path: dir, Opts: data.NewMap(), Grains: data.NewMap(), Log: log}
		if got, _, err := n.Pillars(t.Context()); err == nil && !got.Has("__saltclass__") {
			t.Error(data.Repr(got))
		}
	})
}
