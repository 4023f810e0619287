package saltrun_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltrun"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/internal/test/vectors"
)

// masterDifferences are the calls whose answers differ on purpose, with the reason.
var masterDifferences = map[int]string{
	7:  "a failed runner exits with 1, as under Salt 3006.18",
	9:  "a failed runner exits with 1, as under Salt 3006.18",
	28: "a failed runner exits with 1, as under Salt 3006.18",
	29: "a failed runner exits with 1, as under Salt 3006.18",
	56: "a minion that publishes gets what minions return, not what an own job cache reads",
	66: "salt lets a user log in with an own system of authentication, as the master does",
	67: "as 66",
	68: "as 66",
	69: "as 66",
}

// A masterGroup is the file testdata/vectors/python/master.json: a tree with users' plug-ins in
// Python, and what salt and salt-run of Salt 3006.0 answer there.
type masterGroup struct {
	Files  map[string]string
	Config struct{ Master, Minion map[string]any }
	Calls  []masterCall
}

type masterCall struct {
	ID      string
	Tool    string
	Args    []string
	Retcode int
	Stdout  *string
	JSON    json.RawMessage `json:"stdout_json"`
	Stderr  string
}

// number returns N of master.N.
func (c masterCall) number(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(c.ID, "master."))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestVectorPythonMaster replays what salt and salt-run answer with users' Python plug-ins, with a
// running master and a minion.
func TestVectorPythonMaster(t *testing.T) {
	need.Time(t, "it starts Python for each call")
	need.Program(t, "python3")
	need.Root(t, "since the configuration names root as the user of the master")
	text, err := os.ReadFile(filepath.Join(vectors.Dir(), "python", "master.json"))
	if err != nil {
		t.Fatal(err)
	}
	var g masterGroup
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	r := newMasterRoot(t, g)
	for _, c := range g.Calls {
		n := c.number(t)
		if n == 2 {
			r.start(t)
		}
		r.check(t, n, c)
	}
	for tool, args := range map[string][]string{
		"salt-run": {"--out=mout", "rr.nested"}, "salt-key": {"--out=mout", "-l", "acc"},
	} {
		want := map[string]string{"salt-run": "MOUT [('a', True), ('b', [1, {'c': None}])]\n",
			"salt-key": "MOUT [('minions', ['m1'])]\n"}[tool]
		if code, out, errs := r.run(t, tool, args); code != 0 || out != want {
			t.Errorf("%s with an own outputter: exit %d, %q, want %q\n%s", tool, code, out, want, errs)
		}
	}
}

// A masterRoot is the tree of a group.
type masterRoot struct {
	dir   string
	group masterGroup
}

func newMasterRoot(t *testing.T, g masterGroup) *masterRoot {
	t.Helper()
	r := &masterRoot{testsalt.Dir(t), g}
	r.write(t, g.Files)
	r.configure(t, "master", g.Config.Master, nil)
	return r
}

func (r *masterRoot) write(t *testing.T, files map[string]string) {
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

// configure writes the configuration of a daemon.
func (r *masterRoot) configure(t *testing.T, role string, conf, more map[string]any) {
	t.Helper()
	all := map[string]any{"pidfile": ""}
	maps.Copy(all, conf)
	maps.Copy(all, more)
	if role == "master" {
		all["id"] = "vm_master"
		if err := os.MkdirAll(filepath.Join(r.dir, "cm"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	r.write(t, map[string]string{"etc/" + role: string(text)})
}

// start starts the master and the minion, which fetches its plug-ins.
func (r *masterRoot) start(t *testing.T) {
	t.Helper()
	etc := filepath.Join(r.dir, "etc")
	cfg, _, err := config.LoadMaster(etc, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	cfg.PublishPort, cfg.RetPort = 0, 0
	m := testsalt.StartMaster(t, cfg)
	ports := map[string]any{"ret_port": m.Config.RetPort, "publish_port": m.Config.PublishPort}
	r.configure(t, "master", r.group.Config.Master, ports)
	r.configure(t, "minion", r.group.Config.Minion, map[string]any{
		"master_port": m.Config.RetPort, "publish_port": m.Config.PublishPort,
	})
	mc, _, err := config.LoadMinion(etc, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	starts := m.Listen(t, "salt/minion/")
	testsalt.StartOwnMinion(t, mc)
	testsalt.AwaitEvent(t, starts, "salt/minion/m1/start")
	if code, out, errs := r.run(t, "salt", []string{"-t", "60", "m1", "saltutil.sync_all"}); code != 0 {
		t.Fatalf("sync: exit %d\n%s%s", code, out, errs)
	}
}

func (r *masterRoot) run(t *testing.T, tool string, args []string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	in := cli.Invocation{Args: append([]string{"-c", filepath.Join(r.dir, "etc")}, args...), Dir: r.dir,
		Env: os.Getenv, Stdin: strings.NewReader("")}
	program := saltrun.Run
	switch tool {
	case "salt":
		program = cli.Salt
	case "salt-key":
		program = cli.Key
	}
	code = program(t.Context(), in, &out, &errs)
	return code, out.String(), errs.String()
}

// check makes a call and compares what it prints with Salt's answer.
func (r *masterRoot) check(t *testing.T, n int, c masterCall) {
	t.Helper()
	code, stdout, stderr := r.run(t, c.Tool, c.Args)
	if _, ok := masterDifferences[n]; ok {
		return
	}
	if code != c.Retcode {
		t.Errorf("%s %q: exit code %d, want %d\n%s%s", c.ID, c.Args, code, c.Retcode, stdout, stderr)
	}
	var got, want any = r.plain(stdout), ""
	switch {
	case c.JSON != nil:
		got, want = r.decoded(stdout), r.decoded(string(c.JSON))
	case c.Stdout != nil:
		want = *c.Stdout
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s %q: prints\n%v\nwant\n%v\n%s", c.ID, c.Args, got, want, stderr)
	}
	if c.Stderr != "" && !strings.Contains(stderr, c.Stderr) {
		t.Errorf("%s %q: standard error has %q, not %q", c.ID, c.Args, stderr, c.Stderr)
	}
}

// decoded returns the value of a JSON text without what changes from run to run, or the text.
func (r *masterRoot) decoded(text string) any {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return r.plain(text)
	}
	return r.masked(v)
}

func (r *masterRoot) masked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for key, e := range v {
			if key == "start_time" || key == "duration" {
				continue
			}
			m[r.plain(key)] = r.masked(e)
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
	jid       = regexp.MustCompile(`\b20\d{18}\b`)
	stamp     = regexp.MustCompile(`"_stamp": "[^"]*"`)
)

// plain returns a text without what changes from run to run. A traceback is cut to its first line,
// as in the capture.
func (r *masterRoot) plain(s string) string {
	s = strings.ReplaceAll(s, r.dir, "{ROOT}")
	s = traceback.ReplaceAllString(s, "Traceback (most recent call last) @TRACEBACK@")
	s = jid.ReplaceAllString(s, "{JID}")
	return stamp.ReplaceAllString(s, `"_stamp": "STAMP"`)
}
