package saltrun_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltrun"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/test/answers"
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
	answers.Answer
	Tool string
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
	answers.Root
	dir   string
	group masterGroup
}

func newMasterRoot(t *testing.T, g masterGroup) *masterRoot {
	t.Helper()
	dir := testsalt.Dir(t)
	r := &masterRoot{answers.Root(dir), dir, g}
	r.Write(t, g.Files)
	r.configure(t, "master", g.Config.Master, nil)
	return r
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
	r.Write(t, map[string]string{"etc/" + role: string(text)})
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
	if _, ok := masterDifferences[n]; !ok {
		r.Compare(t, c.Answer, answers.Output{Code: code, Stdout: stdout, Stderr: stderr}, nil)
	}
}
