//go:build unix

package testsalt_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// A gate is a pair of pipes through which a state reports that it runs and waits until it may end.
type gate struct{ up, down *os.File }

func newGate(t *testing.T, dir string) gate {
	t.Helper()
	return gate{pipe(t, filepath.Join(dir, "up")), pipe(t, filepath.Join(dir, "down"))}
}

// pipe makes a named pipe and keeps both of its ends open.
func pipe(t *testing.T, name string) *os.File {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// waiting returns the command of a state that waits at the gate.
func (g gate) waiting() string {
	return fmt.Sprintf("echo x > %s; read -r line < %s", g.up.Name(), g.down.Name())
}

// await waits until somebody is at the gate; after a minute the test fails.
func (g gate) await(t *testing.T) {
	t.Helper()
	if err := g.up.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReaderSize(g.up, 16).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
}

func (g gate) open(t *testing.T) {
	t.Helper()
	if _, err := g.down.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
}

// TestSubset submits a job to a random subset of the minions.
func TestSubset(t *testing.T) {
	c := newConductor(t, map[string]string{"srv/same.sls": "ok:\n  test.nop: []\n"})
	for _, order := range []string{"salt.state: [{tgt: 'web*'}, {sls: same}, {subset: 1}]",
		"salt.function: [{name: test.ping}, {tgt: 'web*'}, {subset: 1}]"} {
		c.write(t, "srv/orch.sls", "s:\n  "+order+"\n")
		for range 2 {
			got := played(t, c.run(t, "state.orchestrate", []any{"orch"}, nil))
			if !strings.HasPrefix(got, "s True ") ||
				strings.Contains(got, "web1") == strings.Contains(got, "web2") {
				t.Errorf("%s: %s", order, got)
			}
		}
	}
}

// begin submits a job to web1 and returns its id, and a function that waits for the return.
func (c *conductor) begin(t *testing.T, fun string, args ...any) (jid string, answer func() any) {
	t.Helper()
	l := c.m.Client(t)
	j, err := l.Publish(t.Context(),
		client.Request{Target: "web1", Kind: "list", Fun: fun, Arg: args, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return string(j.ID), func() any {
		t.Helper()
		for r, err := range l.Results(t.Context(), j,
			client.Wait{Timeout: 60 * time.Second, Gather: 5 * time.Second}) {
			if err != nil || r.Missing {
				t.Fatalf("%s: %v, missing %v", fun, err, r.Missing)
			}
			return r.Value
		}
		return nil
	}
}

// steps returns the ids and results of a state run, or the text of any other value.
func steps(v any) string {
	results, ok := v.(*data.Map)
	if !ok {
		return data.Repr(v)
	}
	var done []string
	for _, v := range results.All() {
		r, _ := v.(*data.Map)
		done = append(done, r.Text("__id__")+" "+data.Repr(r.Value("result")))
	}
	return strings.Join(done, ", ")
}

func keyword(name string, v any) *data.Map { return data.NewMap("__kwarg__", true, name, v) }

// TestStatesOfARealMinionAreControlled makes a state run wait, and controls it from the master
// meanwhile.
func TestStatesOfARealMinionAreControlled(t *testing.T) {
	need.Time(t, "runs of states wait for one another")
	t.Parallel()
	dir := testsalt.Dir(t)
	g := newGate(t, dir)
	c := newConductor(t, map[string]string{
		"srv/long.sls": "first:\n  cmd.run:\n    - name: '" + g.waiting() +
			"'\nsecond:\n  test.nop: []\nthird:\n  test.nop: []\n",
		"srv/short.sls": "ok:\n  test.nop: []\n",
	})
	for _, end := range []struct {
		name, want string
		orders     func(jid string) // given while the first state runs
		later      func(jid string) // given when it is over
	}{
		{"left alone", "first True, second True, third True", func(string) {}, func(string) {}},
		{"ended before a state", "first True, second True",
			func(jid string) { c.order(t, "state.soft_kill", jid, "third") }, func(string) {}},
		{"ended before the next state", "first True",
			func(jid string) { c.order(t, "state.soft_kill", jid) }, func(string) {}},
		{"paused for a moment", "first True, second True, third True",
			func(jid string) { c.order(t, "state.pause", jid, "second", 0.1) }, func(string) {}},
		{"paused and resumed", "first True, second True, third True", func(jid string) {
			c.order(t, "state.pause", jid, "third")
			if got, want := data.Repr(c.order(t, "state.get_pauses", jid)), "{'"+jid+
				"': {'third': {}}}"; got != want {
				t.Errorf("pauses: got %s, want %s", got, want)
			}
		}, func(jid string) { c.order(t, "state.resume", jid, "third") }},
		{"paused and ended", "first True", func(jid string) { c.order(t, "state.pause", jid) },
			func(jid string) { c.order(t, "state.soft_kill", jid) }},
	} {
		t.Run(end.name, func(t *testing.T) {
			jid, answer := c.begin(t, "state.sls", "long")
			g.await(t)
			text := c.refused(t, jid)
			if got := data.Repr(c.order(t, "state.running")); got != text {
				t.Errorf("state.running: %s", got)
			}
			if got := steps(c.order(t, "state.sls", "short", keyword("concurrent", true))); got != "ok True" {
				t.Errorf("concurrent: %s", got)
			}
			_, queued := c.begin(t, "state.sls", "short", keyword("queue", true))
			end.orders(jid)
			g.open(t)
			end.later(jid)
			if got := steps(answer()); got != end.want {
				t.Errorf("got %s, want %s", got, end.want)
			}
			if got := steps(queued()); got != "ok True" {
				t.Errorf("what waited for it: %s", got)
			}
		})
	}
	if got := data.Repr(c.order(t, "state.running")) + data.Repr(c.order(t,
		"state.get_pauses")); got != "[]{}" {
		t.Errorf("at the end there is %s", got)
	}
}

// order submits a job to web1 and returns its return.
func (c *conductor) order(t *testing.T, fun string, args ...any) any {
	t.Helper()
	_, answer := c.begin(t, fun, args...)
	return answer()
}

// refused submits a second run, which is refused, and returns its text.
func (c *conductor) refused(t *testing.T, jid string) string {
	t.Helper()
	text := data.Repr(c.order(t, "state.sls", "short"))
	if !strings.HasPrefix(text, `['The function "state.sls" is running as PID `) ||
		!strings.HasSuffix(text, " with jid "+jid+"']") {
		t.Errorf("a second run is told %s", text)
	}
	return text
}

// TestOrchestratedRunsWait lets orchestrations meet a state run: without queue they fail, and with
// it they wait.
func TestOrchestratedRunsWait(t *testing.T) {
	t.Parallel()
	dir := testsalt.Dir(t)
	g := newGate(t, dir)
	c := newConductor(t, map[string]string{
		"srv/long.sls":  "first:\n  cmd.run:\n    - name: '" + g.waiting() + "'\n",
		"srv/short.sls": "ok:\n  test.nop: []\n",
		"srv/now.sls":   "s:\n  salt.state: [{tgt: web1}, {sls: short}]\n",
		"srv/side.sls":  "s:\n  salt.state: [{tgt: web1}, {sls: short}, {concurrent: True}]\n",
		"srv/later.sls": "open:\n  salt.function: [{name: cmd.run}, {tgt: web2}, {arg: ['echo go > " + g.down.Name() + "']}]\ns:\n  salt.state: [{tgt: web1}, {sls: short}, {queue: True}]\n",
	})
	_, answer := c.begin(t, "state.sls", "long")
	g.await(t)
	for _, tt := range []struct{ sls, want string }{
		{"now", "s False Run failed on minions: web1"},
		{"side", "s True States ran successfully. No changes made to web1."},
	} {
		for range 2 {
			if got := played(t, c.run(t, "state.orchestrate", []any{tt.sls}, nil)); got != tt.want {
				t.Errorf("%s: got %s, want %s", tt.sls, got, tt.want)
			}
		}
	}
	want := "open True Function ran successfully. Function cmd.run ran on web2.\ns True States ran successfully. No changes made to web1."
	if got := played(t, c.run(t, "state.orchestrate", []any{"later"}, nil)); got != want {
		t.Errorf("with queue: got %s, want %s", got, want)
	}
	if got := steps(answer()); got != "first True" {
		t.Errorf("the run that was waited for: %s", got)
	}
}

// TestOrchestratedReturners uses a returner of the minion in salt.state and salt.function, with
// alternative settings.
func TestOrchestratedReturners(t *testing.T) {
	dir := testsalt.Dir(t)
	plain, other := pipe(t, filepath.Join(dir, "plain")), pipe(t, filepath.Join(dir, "other"))
	c := &conductor{dir: dir}
	c.write(t, "srv/short.sls", "ok:\n  test.nop: []\n")
	c.m = testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m"), "id: boss_master",
		"timeout: 10", "gather_job_timeout: 5",
		fmt.Sprintf("file_roots: {base: [%s/srv]}", dir)))
	bus := c.m.Listen(t, "salt/minion/")
	minionWith(t, filepath.Join(dir, "n"), c.m.Address, "rawfile_json.filename: "+plain.Name(),
		"alternative.rawfile_json.filename: "+other.Name())
	testsalt.AwaitEvent(t, bus, "salt/minion/web1/start")
	c.local = c.m.Client(t)
	for _, tt := range []struct {
		order, fun string
		from       *os.File
	}{
		{"salt.state: [{tgt: web1}, {sls: short}, {ret: rawfile_json}]", "state.sls", plain},
		{"salt.state: [{tgt: web1}, {sls: short}, {ret: rawfile_json}, {ret_config: alternative}]",
			"state.sls", other},
		{"salt.function: [{name: test.ping}, {tgt: web1}, {ret: rawfile_json}, {ret_config: alternative}, {ret_kwargs: {filename: /nowhere}}]", "test.ping", other},
		{"salt.function: [{name: test.ping}, {tgt: web1}, {ret: rawfile_json}, {batch: 1}]",
			"test.ping", plain},
	} {
		c.write(t, "srv/orch.sls", "s:\n  "+tt.order+"\n")
		for range 2 {
			if got := played(t, c.run(t, "state.orchestrate", []any{"orch"},
				nil)); !strings.HasPrefix(got, "s True ") {
				t.Errorf("%s: %s", tt.order, got)
			}
			line, err := bufio.NewReader(tt.from).ReadString('\n')
			if err != nil || !strings.Contains(line, `"fun": "`+tt.fun+`"`) ||
				!strings.Contains(line, `"id": "web1"`) {
				t.Errorf("%s\nthe returner has %s, %v", tt.order, line, err)
			}
		}
	}
}
