package testsalt_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
	stdrunners "github.com/brineproject/brine/runners/standard"
)

// TestReactorAnswersTheStartOfAMinion starts a minion and reacts with a job, which returns; then
// the runner adds a rule and an event of another program is handled.
func TestReactorAnswersTheStartOfAMinion(t *testing.T) {
	dir := testsalt.Dir(t)
	sls := filepath.Join(dir, "start.sls")
	if err := os.WriteFile(sls, []byte("greet:\n  local.test.echo:\n  - tgt: web1\n  - args:\n    - text: welcome\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m"),
		fmt.Sprintf("reactor: [{'salt/minion/*/start': ['%s']}]", sls)))
	events := m.Listen(t, "salt/job/", "salt/reactors/manage/")
	minionWith(t, filepath.Join(dir, "n"), m.Address)
	expectReturn(t, events, "test.echo", "welcome")
	run := salts(t, m)
	if got := data.Repr(run("reactor.list")); !strings.Contains(got, "salt/minion/*/start") {
		t.Errorf("reactor.list: %s", got)
	}
	if got := data.Repr(run("reactor.add",
		"my/*", sls)); got != "{'status': True, 'comment': 'Reactor added.'}" {
		t.Errorf("reactor.add: %s", got)
	}
	if err := events.Fire(t.Context(), "my/event", data.NewMap()); err != nil {
		t.Fatal(err)
	}
	expectReturn(t, events, "test.echo", "welcome")
	if got := data.Repr(run("reactor.delete",
		"my/*")); got != "{'status': True, 'comment': 'Reactor deleted.'}" {
		t.Errorf("reactor.delete: %s", got)
	}
	if got := []any{run("reactor.is_leader"), run("reactor.set_leader", false),
		run("reactor.is_leader")}; data.Repr(got) != "[True, False, False]" {
		t.Errorf("leader: %s", data.Repr(got))
	}
}

// TestReactorCallsFunctionsOfItsHost reacts to an event with a function on the master's host that
// creates a file and fires an event.
func TestReactorCallsFunctionsOfItsHost(t *testing.T) {
	dir := testsalt.Dir(t)
	sls, made := filepath.Join(dir, "touch.sls"), filepath.Join(dir, "made")
	text := fmt.Sprintf("make:\n  caller.file.touch:\n  - args:\n    - name: {{ " +
		"data['data']['path'] }}\nunknown:\n  caller.no.such: []\ntell:\n" +
		"  runner.event.send:\n  - args:\n    - tag: done/{{ data['data']['n'] }}/{{ " +
		"grains['num_cpus'] is number }}\n")
	if err := os.WriteFile(sls, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m := testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m"),
		fmt.Sprintf("reactor: [{'make/*': ['%s']}]", sls)))
	events := m.Listen(t, "done/")
	for n := range 2 {
		if err := events.Fire(t.Context(),
			"make/it", data.NewMap("data", data.NewMap("path", made, "n", int64(n)))); err != nil {
			t.Fatal(err)
		}
		testsalt.AwaitEvent(t, events, fmt.Sprintf("done/%d/True", n))
		if _, err := os.Stat(made); err != nil {
			t.Errorf("after event %d: %v", n, err)
		}
	}
}

// expectReturn waits for a return and compares it.
func expectReturn(t *testing.T, events *eventbus.Client, fun, want string) {
	t.Helper()
	for {
		event := testsalt.AwaitEvent(t, events, "salt/job/")
		body, err := event.Map()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(event.Tag, "/ret/") && body.Text("fun") == fun {
			if got := body.Value("return"); got != want {
				t.Errorf("%s returned %v, want %q", fun, got, want)
			}
			return
		}
	}
}

// salts returns a caller of runners outside of the master, like salt-run.
func salts(t *testing.T, m *testsalt.Master) func(fun string, args ...any) any {
	t.Helper()
	env := &loader.Env{Opts: m.Config.Map(), Log: m.Log}
	client := m.Listen(t, "none")
	env.Host.FireMaster = client.Fire
	shelf, err := loader.NewRegistry(env, stdrunners.Plugins(stdrunners.Needs{}))
	if err != nil {
		t.Fatal(err)
	}
	c := runners.New(runners.Options{Kind: runners.Runner, Functions: shelf,
		Fire: func(context.Context, string, *data.Map) error { return nil }, ID: m.Config.ID, Log: m.Log})
	return func(fun string, args ...any) any {
		return c.Run(t.Context(), runners.Call{Fun: fun, Args: args,
			JID: "20261122000000000000"}).Value("return")
	}
}

// TestEngines runs a script and a program that answers events, beside one that fails and one that
// does not exist.
func TestEngines(t *testing.T) {
	dir := testsalt.Dir(t)
	script := filepath.Join(dir, "look.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho no event\necho '{\"tag\": \"look/'$1'\", \"data\": {\"n\": 1}}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	echo := filepath.Join(dir, "echo.sh")
	if err := os.WriteFile(echo, []byte("#!/bin/sh\n[ ! -e "+dir+"/once ] || echo '{\"tag\": \"begun\"}'\n"+
		"while read -r line; do echo \"{\\\"tag\\\": \\\"heard\\\", \\\"data\\\": $line}\"; [ -e "+dir+"/once ] || { touch "+dir+"/once; exit 1; }; done\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	m := testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m"), "id: m1_master", "engines:",
		"- slack", "- script: {cmd: '"+script+" disk', interval: 0.05, onchange: true}",
		"- program: {cmd: ['"+echo+"'], tags: ['ask/*']}"))
	begun, events := m.Listen(t, "begun"), m.Listen(t, "heard", "look/")
	for _, n := range []int64{1, 2} { // the program ends after the first one, and the second finds the next
		if n > 1 {
			testsalt.AwaitEvent(t, begun, "begun")
		}
		ask := m.Listen(t, "none")
		if err := ask.Fire(t.Context(), "ask/x", data.NewMap("n", n)); err != nil {
			t.Fatal(err)
		}
		body, err := testsalt.AwaitEvent(t, events, "heard").Map()
		if err != nil {
			t.Fatal(err)
		}
		inner, _ := body.Value("data").(*data.Map)
		if body.Value("tag") != "ask/x" || inner.Value("n") != n || body.Value("id") != "m1_master" {
			t.Errorf("heard %s", data.Repr(body))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for {
		event, err := events.Next(ctx)
		if err != nil {
			break // nothing has changed
		}
		if strings.HasPrefix(event.Tag, "look/") {
			t.Errorf("event %s came once more", event.Tag)
		}
	}
}
