package testsalt_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/pki"
)

// A conductor is a master that runs orchestrations over web1 and web2; gone1 has an accepted key
// and is offline.
type conductor struct {
	m     *testsalt.Master
	local *client.Local
	dir   string
}

func newConductor(t *testing.T, files map[string]string) *conductor {
	t.Helper()
	dir := testsalt.Dir(t)
	c := &conductor{dir: dir}
	for name, text := range files {
		c.write(t, name, text)
	}
	c.m = testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m"), "id: boss_master",
		"timeout: 4", "gather_job_timeout: 2",
		fmt.Sprintf("file_roots: {base: [%[1]s/srv], dev: [%[1]s/dev]}\npillar_roots: {base: [%[1]s/pillar], dev: [%[1]s/devpillar]}", dir)))
	bus := c.m.Listen(t, "salt/minion/")
	for _, id := range []string{"web1", "web2"} {
		testsalt.StartMinion(t, testsalt.MinionConfig(filepath.Join(dir, id), id, c.m.Address))
		testsalt.AwaitEvent(t, bus, "salt/minion/"+id+"/start")
	}
	key, err := os.ReadFile(filepath.Join(c.m.Config.PKIDir, pki.Accepted.Dir(), "web1"))
	if err == nil {
		err = os.WriteFile(filepath.Join(c.m.Config.PKIDir, pki.Accepted.Dir(), "gone1"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.local = c.m.Client(t)
	return c
}

// write writes a file of the file roots (srv) or the pillar.
func (c *conductor) write(t *testing.T, name, text string) {
	t.Helper()
	at := filepath.Join(c.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755),
		os.WriteFile(at, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// run calls a runner of the master and returns its job.
func (c *conductor) run(t *testing.T, fun string, args []any, words *data.Map) *data.Map {
	t.Helper()
	job, err := c.local.Control(t.Context(), "runner", fun, args, words)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// played returns the result of an orchestration: a line for each state, with its id, its result and
// its comment.
func played(t *testing.T, job *data.Map) string {
	t.Helper()
	ret, _ := job.Value("return").(*data.Map)
	all, _ := ret.Value("data").(*data.Map)
	results, ok := all.Value("boss_master").(*data.Map)
	if !ok {
		return data.Str(job.Value("return"))
	}
	var lines []string
	for _, v := range results.All() {
		r := v.(*data.Map)
		lines = append(lines, fmt.Sprintf("%s %s %s", r.Text("__id__"), data.Str(r.Value("result")),
			r.Text("comment")))
	}
	return strings.Join(lines, "\n")
}

// inOrder sorts the minions in a comment, which answer in any order.
func inOrder(text string) string {
	return strings.NewReplacer("web2, web1", "web1, web2").Replace(text)
}

const failing = "bad:\n  test.fail_without_changes: []\n"

// TestOrchestrate runs each form of salt.state and salt.function on real minions. The results and
// comments are those of Salt 3006.0, except for minions that a batch misses, which Salt forgets.
func TestOrchestrate(t *testing.T) {
	t.Parallel()
	c := newConductor(t, map[string]string{
		"srv/good.sls":  "ok:\n  test.succeed_with_changes: []\n",
		"srv/same.sls":  "ok:\n  test.nop: []\n",
		"srv/bad.sls":   failing,
		"srv/top.sls":   "base: {'*': [same]}\n",
		"srv/other.sls": "base: {'*': [good]}\n",
		"srv/one.sls": "{% if grains.id == 'web1' %}" + failing +
			"{% else %}ok: {test.nop: []}{% endif %}\n",
		"srv/pillared.sls":  "{{ pillar.word }}:\n  test.nop: []\n",
		"srv/kept.sls":      "kept:\n  test.nop: []\n",
		"srv/worded.sls":    "{% if 'word' not in pillar %}ok: {test.succeed_with_changes: []}{% else %}" + failing + "{% endif %}\n",
		"dev/only.sls":      "only:\n  test.succeed_with_changes: []\n",
		"devpillar/top.sls": "dev: {'*': [p]}\n",
		"devpillar/p.sls":   "other: dev\n",
		"pillar/top.sls":    "base: {'*': [p]}\n",
		"pillar/p.sls":      "word: {{ grains.id }}\n",
	})
	for _, tt := range []struct{ name, sls, want, code string }{
		{"states that change", "salt.state: [{tgt: 'web*'}, {sls: good}]",
			"s True States ran successfully. Updating web1, web2.", "0"},
		{"states that do not", "salt.state: [{tgt: 'web*'}, {sls: [same]}]",
			"s True States ran successfully. No changes made to web1, web2.", "0"},
		{"highstate", "salt.state: [{tgt: web1}, {highstate: True}]",
			"s True States ran successfully. No changes made to web1.", "0"},
		{"another top", "salt.state: [{tgt: web1}, {top: other.sls}]",
			"s True States ran successfully. Updating web1.", "0"},
		{"nothing to run", "salt.state: [{tgt: web1}]",
			"s False No highstate or sls specified, no execution made", "1"},
		{"a minion fails", "salt.state: [{tgt: 'web*'}, {sls: one}]",
			"s False Run failed on minions: web1", "1"},
		{"a minion may fail", "salt.state: [{tgt: 'web*'}, {sls: one}, {fail_minions: 'web1, web3'}]", "s True States ran successfully. Updating web1. No changes made to web2.", "0"},
		{"one of them may fail", "salt.state: [{tgt: 'web*'}, {sls: one}, {allow_fail: 1}]",
			"s True States ran successfully. Updating web1. No changes made to web2.", "0"},
		{"a minion is away", "salt.state: [{tgt: 'web1,gone1'}, {tgt_type: list}, {sls: same}]",
			"s False Run failed on minions: gone1", "1"},
		{"a minion may be away", "salt.state: [{tgt: 'web1,gone1'}, {tgt_type: list}, {sls: same}, {expect_minions: False}]", "s True States ran successfully. No changes made to web1.", "0"},
		{"a minion has no key", "salt.state: [{tgt: [web1, nobody]}, {tgt_type: list}, {sls: same}]", "s False Run failed on minions: nobody", "1"},
		{"nobody", "salt.state: [{tgt: 'db*'}, {sls: same}]", "s False No minions returned", "1"},
		{"an SLS that is not there", "salt.state: [{tgt: web1}, {sls: nosuch}]",
			"s False Run failed on minions: web1", "1"},
		{"one at a time", "salt.state: [{tgt: 'web*'}, {sls: good}, {batch: 1}]",
			"s True States ran successfully. Updating web1, web2.", "0"},
		{"a batch misses a minion", "salt.state: [{tgt: 'web1,gone1'}, {tgt_type: list}, {sls: same}, {batch: 50%}]", "s False Run failed on minions: gone1", "1"},
		{"a batch ends with a failure",
			"salt.state: [{tgt: [web1, web2]}, {tgt_type: list}, {sls: bad}, {batch: 1}, {failhard: True}]", "s False Run failed on minions: web1", "1"},
		{"a batch misses a minion without a key",
			"salt.state: [{tgt: [web1, nobody]}, {tgt_type: list}, {sls: same}, {batch: 1}]",
			"s False Run failed on minions: nobody", "1"},
		{"some of them", "salt.state: [{tgt: 'web2'}, {sls: same}, {subset: 1}]",
			"s True States ran successfully. No changes made to web2.", "0"},
		{"one is left out", "salt.state: [{tgt: web1}, {sls: [good, kept]}, {exclude: good}]",
			"s True States ran successfully. No changes made to web1.", "0"},
		{"all are left out", "salt.state: [{tgt: web1}, {sls: good}, {exclude: good}]",
			"s False Run failed on minions: web1", "1"},
		{"test mode of one state", "salt.state: [{tgt: web1}, {sls: good}, {test: True}]",
			"s None States ran successfully. Updating web1.", "0"},
		{"an environment", "salt.state: [{tgt: web1}, {sls: only}, {saltenv: dev}]",
			"s True States ran successfully. Updating web1.", "0"},
		{"without its environment", "salt.state: [{tgt: web1}, {sls: only}]",
			"s False Run failed on minions: web1", "1"},
		{"an environment of the pillar",
			"salt.state: [{tgt: web1}, {sls: worded}, {pillarenv: dev}]",
			"s True States ran successfully. Updating web1.", "0"},
		{"without that of the pillar", "salt.state: [{tgt: web1}, {sls: worded}]",
			"s False Run failed on minions: web1", "1"},
		{"a minion that may fail, no list",
			"salt.state: [{tgt: web1}, {sls: same}, {fail_minions: 3}]",
			"s True States ran successfully. No changes made to web1.", "0"},
		{"pillar", "salt.state: [{tgt: web1}, {sls: pillared}, {pillar: {word: mine}}]",
			"s True States ran successfully. No changes made to web1.", "0"},
		{"ssh", "salt.state: [{tgt: web1}, {sls: same}, {ssh: True}]",
			"s False ssh: True needs salt-ssh, which is not supported: target minions instead", "1"},
		{"concurrent", "salt.state: [{tgt: web1}, {sls: same}, {concurrent: 1}]",
			"s False Must pass in boolean for value of 'concurrent'", "1"},
		{"allow_fail", "salt.state: [{tgt: web1}, {sls: same}, {allow_fail: x}]",
			"s False Passed invalid value for 'allow_fail', must be an int", "1"},
		{"a function", "salt.function: [{name: test.ping}, {tgt: 'web*'}]",
			"s True Function ran successfully. Function test.ping ran on web1, web2.", "0"},
		{"a function with arguments", "salt.function: [{name: test.arg}, {tgt: web1}, {arg: [1]}, {kwarg: {a: 2}}]", "s True Function ran successfully. Function test.arg ran on web1.", "0"},
		{"a function that fails", "salt.function: [{name: cmd.run}, {tgt: web1}, {arg: ['exit 3']}]", "s False Running function cmd.run failed on minions: web1 Function cmd.run ran on web1.", "1"},
		{"a function that is false", "salt.function: [{name: test.false}, {tgt: web1}]",
			"s False Running function test.false failed on minions: web1 Function test.false ran on web1.", "1"},
		{"a function judged", "salt.function: [{name: test.echo}, {tgt: web1}, {arg: ['']}, {fail_function: test.echo}]", "s False Running function test.echo failed on minions: web1 Function test.echo ran on web1.", "1"},
		{"a function judged well", "salt.function: [{name: test.ping}, {tgt: web1}, {fail_function: test.echo}]", "s True Function ran successfully. Function test.ping ran on web1.", "0"},
		{"a function over ssh", "salt.function: [{name: test.ping}, {tgt: web1}, {ssh: True}]",
			"s False ssh: True needs salt-ssh, which is not supported: target minions instead", "1"},
		{"a function that may fail", "salt.function: [{name: test.false}, {tgt: 'web*'}, {fail_minions: [web1, web2]}]", "s True Function ran successfully. Function test.false ran on web1, web2.", "0"},
		{"a function with arguments in one text",
			"salt.function: [{name: test.arg}, {tgt: web1}, {arg: '1 2'}]",
			"s True Function ran successfully. Function test.arg ran on web1.", "0"},
		{"a function and one away", "salt.function: [{name: test.ping}, {tgt: 'web1,gone1'}, {tgt_type: list}]", "s True Function ran successfully. Function test.ping ran on web1.", "0"},
		{"a function that all must answer", "salt.function: [{name: test.ping}, {tgt: " +
			"'web1,gone1'}, {tgt_type: list}, {expect_minions: True}]",
			"s False Running function test.ping " +
				"failed on minions: gone1 Function test.ping ran on web1, gone1.", "1"},
		{"a function for nobody", "salt.function: [{name: test.ping}, {tgt: 'db*'}]",
			"s False No minions responded", "1"},
		{"a function in batches", "salt.function: [{name: cmd.run}, {tgt: 'web*'}, {arg: ['exit 3']}, {batch: 1}]", "s False Running function cmd.run failed on minions: web1, web2 Function cmd.run ran on web1, web2.", "1"},
		{"a runner", "salt.runner: [{name: test.arg}, {x: 1}]",
			"s True Runner function 'test.arg' executed.", "0"},
		{"a runner that breaks off", "salt.runner: [{name: error.error}, {kwarg: {name: ValueError, message: x}}]", "s False Runner function 'error.error' failed.", "1"},
		{"a runner that is not there", "salt.runner: [{name: no.such}]",
			"s False Runner function 'no.such' failed.", "1"},
		{"a wheel function", "salt.wheel: [{name: key.list_all}]",
			"s True Wheel function 'key.list_all' executed.", "0"},
		{"an orchestration within", "salt.runner: [{name: state.orchestrate}, {mods: inner}]",
			"s True Runner function 'state.orchestrate' executed.", "0"},
		{"one within that fails", "salt.runner: [{name: state.orchestrate}, {mods: bad}]",
			"s False Runner function 'state.orchestrate' failed.", "1"},
		{"several at once", "salt.parallel_runners: [{runners: {a: [{name: state.orchestrate}, {kwarg: {mods: good}}], b: [{name: state.orchestrate}, {kwarg: {mods: same}}]}}]",
			"s True All runner functions executed successfully.", "0"},
		{"runners without states at once",
			"salt.parallel_runners: [{runners: {test.arg: [], no.such: []}}]",
			"s False Runner no.such failed.", "1"},
		{"the master's pillar", "test.nop: [{name: \"{{ pillar.word }} {{ opts.id }} {{ opts.file_client }}\"}]", "s True Success!", "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Contains(tt.sls, "gone1") {
				need.Time(t, "it waits for a minion that is away")
			}
			c.write(t, "srv/orch.sls", "s:\n  "+tt.sls+"\n")
			c.write(t, "srv/inner.sls", "i:\n  test.nop: []\n")
			for range runs(tt.sls) {
				job := c.run(t, "state.orchestrate", []any{"orch"}, nil)
				ret, _ := job.Value("return").(*data.Map)
				if got := inOrder(played(t, job)); got != tt.want ||
					data.Str(ret.Value("retcode")) != tt.code || ret.Text("outputter") != "highstate" {
					t.Errorf("got %s, return code %s\nwant %s, %s\n%s", got,
						data.Str(ret.Value("retcode")), tt.want, tt.code, data.Repr(job))
				}
			}
		})
	}
}

// runs returns how often a case is run: once if it waits for a minion that does not answer.
func runs(sls string) int {
	if strings.Contains(sls, "gone1") {
		return 1
	}
	return 2
}

// TestOrchestrationOptions checks an orchestration apart from its states: order, failhard, test
// mode, pillar, exclude, its job, its events, and the other functions that run states on the
// master.
func TestOrchestrationOptions(t *testing.T) {
	c := newConductor(t, map[string]string{
		"srv/good.sls":  "ok:\n  test.succeed_with_changes: []\n",
		"srv/hard.sls":  "first:\n  salt.state: [{tgt: web1}, {sls: bad}, {failhard: True}]\nsecond:\n  salt.function: [{name: test.ping}, {tgt: web1}]\n",
		"srv/needs.sls": "second:\n  salt.function: [{name: test.ping}, {tgt: web1}, {require: [{salt: first}]}]\nfirst:\n  salt.state: [{tgt: web1}, {sls: bad}]\n",
		"srv/bad.sls":   failing,
		"srv/dry.sls": "f:\n  salt.function: [{name: cmd.run}, {tgt: web1}, {arg: ['touch " +
			os.DevNull + "/x']}]\ns:\n  salt.state: [{tgt: web1}, " +
			"{sls: good}]\nr:\n  salt.runner: [{name: test.arg}]\nw:\n  salt.wheel: [{name: " +
			"key.list_all}]\n",
		"srv/said.sls": "{{ pillar.get('what', 'nothing') }}:\n  salt.runner: [{name: test.arg}]\nout:\n  test.nop: []\n",
	})
	orchestrate := func(words *data.Map, mods ...any) string { return played(t, c.run(t, "state.orch", mods, words)) }
	if got := orchestrate(nil, "hard"); got != "first False Run failed on minions: web1" {
		t.Errorf("failhard: %s", got)
	}
	if got := orchestrate(nil, "needs"); got != "first False Run failed on minions: web1\nsecond False One or more requisite failed: needs.first" {
		t.Errorf("require: %s", got)
	}
	want := "f None Function cmd.run would be executed on target web1\ns None States ran successfully. Updating web1.\n" +
		"r None Runner function 'test.arg' would be executed.\nw True Wheel function 'key.list_all' would be executed."
	if got := orchestrate(data.NewMap("test", true), "dry"); got != want {
		t.Errorf("test mode: %s\nwant %s", got, want)
	}
	if got := orchestrate(data.NewMap("pillar", data.NewMap("what", "this"),
		"exclude", []any{data.NewMap("id", "out")}),
		"said"); got != "this True Runner function 'test.arg' executed." {
		t.Errorf("pillar and exclude: %s", got)
	}
	if got := c.run(t, "state.orchestrate", []any{"said"},
		data.NewMap("pillar", "x")); !strings.Contains(got.Text("return"),
		"Pillar data must be formatted as a dictionary") {
		t.Errorf("a pillar that is none: %s", data.Repr(got))
	}
	c.checkJob(t)
	single := c.run(t, "state.orchestrate_single", []any{"salt.runner", "test.arg"}, nil)
	if got := data.Repr(single.Value("return")); !strings.HasPrefix(got,
		"{'boss_master': {'salt_|-test.arg_|-test.arg_|-runner': {'name': 'test.arg', 'changes': {'return': {'args': [], 'kwargs': ") {
		t.Errorf("single: %s", got)
	}
	high := data.NewMap("x", data.NewMap("test", []any{"nop"}))
	if got := data.Repr(c.run(t, "state.orchestrate_high", []any{high},
		nil).Value("return")); !strings.Contains(got, "{'boss_master': {'test_|-x_|-x_|-nop': {") {
		t.Errorf("high: %s", got)
	}
	if got := data.Repr(c.run(t, "state.orch_show_sls", []any{"good"}, nil).Value("return")); got !=
		"{'boss_master': {'ok': {'test': ['succeed_with_changes', {'order': 10000}], '__sls__': 'good', '__env__': 'base'}}}" {
		t.Errorf("show: %s", got)
	}
}

// checkJob checks that an orchestration is a job, and that events report its steps.
func (c *conductor) checkJob(t *testing.T) {
	t.Helper()
	const jid = "20261122010203040506"
	bus := c.m.Listen(t, "salt/run/"+jid+"/")
	c.write(t, "srv/steps.sls", "f:\n  salt.function: [{name: test.ping}, {tgt: web1}]\n"+
		"s:\n  salt.state: [{tgt: web1}, {sls: good}]\nr:\n  salt.runner: [{name: "+
		"state.orchestrate}, {mods: deeper}]\nw:\n  salt.wheel: [{name: key.list_all}]\n")
	c.write(t, "srv/deeper.sls", "x:\n  test.nop: []\n")
	job := c.run(t, "state.orchestrate", []any{"steps"}, data.NewMap("orchestration_jid", jid))
	for _, want := range []string{
		"{'type': 'function', 'tgt': 'web1', 'name': 'test.ping', 'args': {'arg': [], 'kwarg': {}, 'ret': '', 'timeout': None, 'tgt_type': 'glob', 'ssh': False, 'expect_minions': False, '_cmd_meta': True}",
		"{'type': 'state', 'tgt': 'web1', 'name': 's', 'args': {'arg': ['good'], 'kwarg': {'queue': False, 'concurrent': False}, 'ret': '', 'timeout': None, 'tgt_type': 'glob', 'ssh': False, 'expect_minions': True}",
		"{'type': 'runner', 'name': 'state.orchestrate', 'args': [], 'kwargs': {'mods': 'deeper', 'saltenv': 'base', 'orchestration_jid': '" + jid + "'}",
		"{'type': 'wheel', 'name': 'key.list_all', 'args': {}",
	} {
		body, err := testsalt.AwaitEvent(t, bus, "salt/run/"+jid+"/args").Map()
		if err != nil || !strings.HasPrefix(data.Repr(body), want) {
			t.Errorf("step %s, %v\nwant %s", data.Repr(body), err, want)
		}
	}
	found := c.run(t, "jobs.lookup_jid", []any{job.Text("jid")}, nil)
	if got := data.Repr(found.Value("return")); !strings.Contains(got, "'salt_|-f_|-test.ping_|-function'") {
		t.Errorf("the job is not found: %s", got)
	}
}

// TestOrchestrationsWaitAndEnd pauses, resumes and ends an orchestration, and makes one wait for
// events.
func TestOrchestrationsWaitAndEnd(t *testing.T) {
	t.Parallel()
	c := newConductor(t, map[string]string{
		"srv/two.sls":  "first:\n  salt.runner: [{name: test.arg}]\nsecond:\n  salt.runner: [{name: test.arg}]\n",
		"srv/wait.sls": "w:\n  salt.wait_for_event: [{name: 'my/*/here'}, {id_list: [a, b, c]}, {timeout: 60}]\n",
		"srv/late.sls": "w:\n  salt.wait_for_event: [{name: 'my/*/here'}, {id_list: [a]}, {timeout: 0.3}]\n",
	})
	const jid = "20261122010203040507"
	bus := c.m.Listen(t, "salt/run/"+jid+"/")
	start := func(mods string) <-chan string {
		done := make(chan string, 1)
		other := c.m.Client(t)
		go func() {
			job, err := other.Control(t.Context(), "runner", "state.orchestrate", []any{mods},
				data.NewMap("orchestration_jid", jid))
			if err != nil {
				t.Error(err)
			}
			done <- played(t, job)
		}()
		return done
	}
	const each = " True Runner function 'test.arg' executed."
	c.run(t, "state.pause", []any{jid, "second"}, nil)
	done := start("two")
	testsalt.AwaitEvent(t, bus, "salt/run/"+jid+"/args") // the first
	select {
	case got := <-done:
		t.Errorf("it does not pause: %s", got)
	default:
	}
	c.run(t, "state.resume", []any{jid, "second"}, nil)
	if got := <-done; got != "first"+each+"\nsecond"+each {
		t.Errorf("after the pause: %s", got)
	}
	c.run(t, "state.soft_kill", []any{jid, "second"}, nil)
	if got := <-start("two"); got != "first"+each {
		t.Errorf("soft_kill: %s", got)
	}
	if got := <-start("late"); got != "w False Timeout value reached." {
		t.Errorf("no event: %s", got)
	}
	done = start("wait")
	for n := 0; ; n++ {
		events := []*data.Map{data.NewMap("id", "a"),
			data.NewMap("data", data.NewMap("id", []any{"b", "x"})), data.NewMap("other", "c"),
			data.NewMap("id", "c")}
		if err := bus.Fire(t.Context(), "my/x/here", events[n%len(events)]); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-done:
			if !strings.HasPrefix(got, "w True All events seen in ") || !strings.HasSuffix(got, " seconds.") {
				t.Errorf("wait_for_event: %s", got)
			}
			return
		default:
		}
	}
}

// TestReactorRunsAnOrchestration starts one from an event, whose data its SLS receives.
func TestReactorRunsAnOrchestration(t *testing.T) {
	dir := testsalt.Dir(t)
	c := &conductor{dir: dir}
	c.write(t, "srv/orch.sls", "tell:\n  salt.runner:\n    - name: event.send\n    - tag: my/end\n    - data: {said: '{{ pillar.said }}'}\n")
	c.write(t, "react.sls", "{% set word = data['word'] %}\ngo:\n  runner.state.orchestrate:\n    - args:\n      - mods: orch\n      - pillar: {said: {{ word }}}\n")
	c.m = testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m"), "id: boss_master",
		fmt.Sprintf("file_roots: {base: [%[1]s/srv]}\nreactor: [{'my/start': ['%[1]s/react.sls']}]", dir)))
	bus := c.m.Listen(t, "my/end")
	if err := bus.Fire(t.Context(), "my/start", data.NewMap("word", "hello")); err != nil {
		t.Fatal(err)
	}
	body, err := testsalt.AwaitEvent(t, bus, "my/end").Map()
	if err != nil || body.Text("said") != "hello" {
		t.Errorf("got %s, %v", data.Repr(body), err)
	}
}
