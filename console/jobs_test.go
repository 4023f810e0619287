package console_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// start sends a job with the form and returns its id.
func (b *browser) start(t *testing.T, fields ...string) string {
	t.Helper()
	got := b.post(t, "/run", fields...)
	jid, ok := strings.CutPrefix(got.path, "/console/jobs/")
	if got.status != 200 || !ok {
		t.Fatalf("run %v: %d at %s:\n%s", fields, got.status, got.path, got.body)
	}
	return jid
}

// await returns the page of a job when it has a text.
func (b *browser) await(t *testing.T, jid, text string) *page {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		got := b.get(t, "/jobs/"+jid)
		if got.status == 200 && strings.Contains(got.body, text) && !strings.Contains(got.body, "has not recorded it yet") {
			return got
		}
		if time.Now().After(until) {
			t.Fatalf("the page of job %s never has %q:\n%s", jid, text, got.body)
		}
	}
}

// ended returns the page of a job when nothing more is expected.
func (b *browser) ended(t *testing.T, jid string) *page {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		got := b.get(t, "/jobs/"+jid)
		if got.status == 200 && !strings.Contains(got.body, "data-live") {
			return got
		}
		if time.Now().After(until) {
			t.Fatalf("job %s does not end:\n%s", jid, got.body)
		}
	}
}

func (b *browser) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.Dir(), "lab", "srv", "salt", name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const highSLS = `motd:
  file.managed:
    - name: @FILE@
    - contents: |
        one
        <b>two</b>
broken:
  test.fail_without_changes:
    - comment: 'it <i>fails</i>'
set:
  test.configurable_test_state:
    - changes: true
    - result: true
calm:
  test.nop: []
`

func TestJobs(t *testing.T) {
	b := open(t, "m1", "m2", "m3")
	b.logIn(t, "saltdev")
	t.Run("run form", b.testRunForm)
	t.Run("odd arguments", b.testOddArguments)
	t.Run("same results", b.testSameResults)
	t.Run("states", b.testStates)
	t.Run("stop", b.testStop)
	t.Run("batch", b.testBatch)
	t.Run("long results", b.testLongResults)
	t.Run("history", b.testHistory)
	t.Run("failed test", b.testFailedTest)
	t.Run("busy minion", b.testBusyMinion)
	t.Run("rights", b.testRights)
	t.Run("silent minion", b.testSilentMinion)
}

func (b *browser) testRunForm(t *testing.T) {
	b.get(t, "/run").want(t, 200, `<option value="test.ping">`, `<option value="compound">`)
	got := b.get(t, "/run?tgt=m*&tgt_type=glob&fun=test.sleep")
	got.want(t, 200, "3 minions match", ">m1<", "Documentation", "salt &#39;*&#39; test.sleep", `name="p.length" value="" required`)
	b.get(t, "/run?tgt=m*&fun=state.apply").want(t, 200, `id="test" name="test" value="yes" checked`)
	b.get(t, "/run?tgt=m*&fun=state.apply&shown=state.apply").lacks(t, `value="yes" checked`)
	b.get(t, "/run?tgt=m1&fun=no.such").want(t, 200, "The minion m1 has no function no.such.")
	got = b.get(t, "/run?tgt=m1,m2&tgt_type=list&fun=test.ping")
	got.want(t, 200, "2 minions match")
	got.lacks(t, "No such minion")
	b.get(t, "/run?tgt=m1,nosuch,<zz>&tgt_type=list&fun=test.ping").
		want(t, 200, "1 minion matches", "No such minion: &lt;zz&gt;, nosuch.")
	b.get(t, "/run?tgt=L@m1,gone+or+m2&tgt_type=compound&fun=test.ping").want(t, 200, "2 minions match", "No such minion: gone.")

	got = b.post(t, "/run", "tgt", "nobody*", "tgt_type", "glob", "fun", "test.arg",
		"args", "a <b>\nc=[1, 2]", "shown", "test.arg", "batch", "10%")
	got.want(t, 400, "No minion matches", "nobody*", "a &lt;b&gt;\nc=[1, 2]", `name="batch" value="10%"`)
	got.lacks(t, "formmethod")
	got = b.post(t, "/run", "tgt", "m*", "fun", "test.arg", "shown", "test.arg", "args", "secret=1", "show", "1")
	got.want(t, 200, `name="show"`, "3 minions match", "secret=1")
	if got.path != "/console/run" {
		t.Errorf("the form is shown at %s", got.path)
	}
	b.post(t, "/run", "tgt", "", "fun", "test.ping").want(t, 400, "A job needs a target and a function.")
	b.post(t, "/run", "tgt", "m1", "fun", "test.ping", "timeout", "soon").want(t, 400, "timeout must be a number")
	b.post(t, "/run", "tgt", "m1", "fun", "test.ping", "queue", "yes", "queue_for", "soon").want(t, 400, "invalid duration")
	b.post(t, "/run", "tgt", "m1", "fun", "test.ping", "batch", "0").want(t, 400, "batch")
	b.post(t, "/run", "tgt", "m1", "fun", "test.ping", "batch", "1", "queue", "yes").want(t, 400, "not queued")
	b.post(t, "/run", "tgt", "m1", "tgt_type", "nonsense", "fun", "test.ping").want(t, 400, "no kind of target")
}

// Arguments are read as the command line reads them, and come back in the form as they were typed.
func (b *browser) testOddArguments(t *testing.T) {
	jid := b.start(t, "tgt", "m1", "tgt_type", "glob", "fun", "test.arg", "shown", "test.arg",
		"args", "3\n'3'\n\"a=b\"\n[1, {a: None}]\nk={x: 1}\nempty=''\nnote=a # b")
	got := b.ended(t, jid)
	got.want(t, 200, `<code>3</code> <code>&#34;3&#34;</code> <code>&#34;a=b&#34;</code>`, "note=a # b", `<span class="key">args:</span>`,
		`<span class="key">kwargs:</span>`)
	got.want(t, 200, `href="/console/run?again=`+jid)
	b.get(t, "/run?again="+jid).want(t, 200, "3\n&#34;3&#34;\n&#34;a=b&#34;\n", "k={&#34;x&#34;: 1}", "empty=&#34;&#34;", "note=a # b")

	jid = b.start(t, "tgt", "m1", "fun", "test.outputter", "p.data", "<script>alert(1)</script>", "shown", "test.outputter")
	got = b.ended(t, jid)
	got.want(t, 200, "&lt;script&gt;alert(1)&lt;/script&gt;")
	got.lacks(t, "<script>alert")
	got = b.get(t, "/jobs/"+jid+"/m1?raw=1")
	got.want(t, 200, "<script>alert(1)</script>")
	if kind := got.header.Get("Content-Type"); kind != "text/plain; charset=utf-8" {
		t.Errorf("raw text has the type %s", kind)
	}
}

func (b *browser) testSameResults(t *testing.T) {
	jid := b.start(t, "tgt", "*", "fun", "test.ping")
	got := b.ended(t, jid)
	got.want(t, 200, "3 minions</span>", "3 returned", `<span class="mono">True</span>`)
	b.get(t, "/jobs/"+jid+"?minion=m2").lacks(t, `/m1">`)
	b.get(t, "/jobs/"+jid+"?state=failed").want(t, 200, "No minion matches these filters.")
	b.get(t, "/jobs/"+jid+"?after=m2").lacks(t, `/m2">`)
	got = b.get(t, "/jobs/"+jid+"/m1?raw=1")
	got.want(t, 200, "true\n")
	if kind := got.header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("a raw value has the type %s", kind)
	}
	b.get(t, "/jobs/"+jid+"/m9").want(t, 404, "was not sent to the minion m9")
	b.get(t, "/jobs/20200101000000000000").want(t, 404, "not in the master")
	b.get(t, "/jobs/nonsense").want(t, 404, "not in the master")
	b.post(t, "/jobs/"+jid+"/apply").want(t, 400, "is no test")
}

// A test of states is applied to those minions that returned in it, and the two are compared.
func (b *browser) testStates(t *testing.T) {
	file := filepath.Join(b.Dir(), "motd")
	b.write(t, "high.sls", strings.ReplaceAll(highSLS, "@FILE@", file))
	test := b.start(t, "tgt", "m1", "tgt_type", "glob", "fun", "state.apply", "shown", "state.apply", "p.mods", "high", "test", "yes")
	got := b.ended(t, test)
	got.want(t, 200, "Apply exactly what was shown", "1 failed, 2 would change, 1 unchanged", "would change</span>", "Nothing was changed")
	if _, err := os.Stat(file); err == nil {
		t.Fatal("the test has changed something")
	}
	got.want(t, 200, "<dt>Test failed on</dt><dd>m1.", "also on 1 whose test has failed", `name="failed" value="yes" required`)
	b.post(t, "/jobs/"+test+"/apply").want(t, 400, "has failed on each minion that returned in it (m1). Nothing was applied.")
	got = b.post(t, "/jobs/"+test+"/apply", "failed", "yes")
	got.want(t, 200, "is applied to the 1 minion that returned in it.")
	made := strings.TrimPrefix(got.path, "/console/jobs/")
	got = b.ended(t, made)
	got.want(t, 200, "Compare what was predicted and what was done", "1 failed, 2 changed, 1 unchanged", "it &lt;i&gt;fails&lt;/i&gt;",
		`<code>mods=high</code>`)
	got.lacks(t, "test=True")
	got.lacks(t, "<i>fails")
	if failed, changed := strings.Index(got.body, ">broken<"), strings.Index(got.body, ">"+file+"<"); failed < 0 || changed < failed {
		t.Errorf("the failed state at %d is not before the changed one at %d", failed, changed)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "one\n<b>two</b>\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	b.get(t, "/run?again="+test).want(t, 200, `name="p.mods" value="high"`, `value="yes" checked`)
	b.get(t, "/run?again="+made).lacks(t, `value="yes" checked`)
	b.get(t, "/jobs/"+test).want(t, 200, `Applied by <a href="/console/jobs/`+made)
	b.get(t, "/jobs/compare?a="+test+"&b="+made).want(t, 200, "Predicted and done", "done as predicted", "m1")

	b.write(t, "high.sls", strings.ReplaceAll(strings.ReplaceAll(highSLS, "@FILE@", file), "one\n", "three\n"))
	next := b.start(t, "tgt", "m1", "tgt_type", "glob", "fun", "state.apply", "shown", "state.apply", "p.mods", "high")
	got = b.ended(t, next)
	got.want(t, 200, `<span class="del">-one</span><span class="add">+three</span>`, `&lt;b&gt;two&lt;/b&gt;`)
	got.lacks(t, "<b>two")
	b.get(t, "/jobs/"+next+"/m1").want(t, 200, `<span class="add">+three</span>`, "Raw JSON")
	got = b.get(t, "/jobs/compare?jid="+next+"&jid="+made)
	got.want(t, 200, "Compare jobs", "1 of 4 states differ", "changes differ", "3 states are the same")
	if got.path != "/console/jobs/compare?a="+made+"&b="+next {
		t.Errorf("the address of the comparison is %s", got.path)
	}
	b.get(t, "/jobs/compare?jid="+next).want(t, 400, "Choose two jobs")
	b.get(t, "/jobs/compare?a=20200101000000000000&b="+next).want(t, 404, "20200101000000000000")

	bad := b.start(t, "tgt", "m1", "fun", "state.apply", "shown", "state.apply", "p.mods", "nosuch")
	b.ended(t, bad).want(t, 200, "1 failed", "the states cannot be compiled", "No matching sls found for &#39;nosuch&#39;")
}

// Minions whose test has failed are named apart, and left out unless the form names them.
func (b *browser) testFailedTest(t *testing.T) {
	b.write(t, "mixed.sls", "one:\n  test.{{ 'fail_without_changes' if grains['id'] == 'm2' else 'succeed_with_changes' }}: []\n")
	test := b.start(t, "tgt", "m1,m2", "tgt_type", "list", "fun", "state.apply", "shown", "state.apply", "p.mods", "mixed",
		"test", "yes")
	b.ended(t, test).want(t, 200, "1 failed", "1 returned", "<dt>Test failed on</dt><dd>m2.", `name="shown" value="1 1"`,
		"Run state.apply without test=True on 1 minion? With the box checked, also on 1 minion whose test has failed: m2.")
	b.post(t, "/jobs/"+test+"/apply", "shown", "1 0").want(t, 200, "Nothing was applied: more minions have returned", test)
	got := b.post(t, "/jobs/"+test+"/apply", "shown", "1 1")
	got.want(t, 200, "is applied to the 1 minion whose test has not failed.")
	got = b.ended(t, strings.TrimPrefix(got.path, "/console/jobs/"))
	got.want(t, 200, `/m1">m1</a>`)
	got.lacks(t, `/m2">m2</a>`)
	got = b.post(t, "/jobs/"+test+"/apply", "shown", "1 1", "failed", "yes")
	got.want(t, 200, "is applied to the 2 minions that returned in it.")
	b.ended(t, strings.TrimPrefix(got.path, "/console/jobs/")).want(t, 200, `/m1">m1</a>`, `/m2">m2</a>`)
}

// A run of states that a minion refuses for another one is shown as that, with the other job.
func (b *browser) testBusyMinion(t *testing.T) {
	b.write(t, "slow.sls", "wait:\n  module.run:\n    - test.sleep:\n      - length: 300\n")
	slow := b.start(t, "tgt", "m1", "fun", "state.apply", "shown", "state.apply", "p.mods", "slow")
	b.await(t, slow, "1 acknowledged")
	b.awaitRunning(t, "m1", slow)
	jid := b.start(t, "tgt", "m1", "fun", "state.apply", "shown", "state.apply", "p.mods", "slow")
	got := b.ended(t, jid)
	got.want(t, 200, "refused: another state run is going on", "Refused: another state run is going on, PID ", ", since 20",
		`href="/console/jobs/`+slow+`"`)
	got.lacks(t, "is running as PID")
	got.lacks(t, "cannot be compiled")
	b.post(t, "/jobs/"+slow+"/stop", "how", "kill")
	b.ended(t, slow)
}

// awaitRunning waits until a minion says that it runs a job.
func (b *browser) awaitRunning(t *testing.T, id, jid string) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if got := b.ended(t, b.start(t, "tgt", id, "fun", "saltutil.running")); strings.Contains(got.body, jid) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the minion %s never runs the job %s", id, jid)
		}
	}
}

func (b *browser) testStop(t *testing.T) {
	for how, fun := range map[string]string{"stop": "saltutil.term_job", "kill": "saltutil.kill_job"} {
		jid := b.start(t, "tgt", "m2", "fun", "test.sleep", "p.length", "300", "shown", "test.sleep")
		b.await(t, jid, "1 acknowledged").want(t, 200, "data-live", "<progress")
		got := b.post(t, "/jobs/"+jid+"/stop", "how", how)
		got.want(t, 200, fun+" was sent to 1 minion.")
		b.ended(t, jid).want(t, 200, "1 failed", "ended by a signal")
		b.awaitStopped(t, "m2")
	}
	b.post(t, "/jobs/20200101000000000000/stop", "how", "stop").want(t, 404, "not in the master")
	b.post(t, "/jobs/20200101000000000000/stop", "how", "pause").want(t, 400, "stopped or killed")
}

// awaitStopped waits until a minion runs nothing but the question itself.
func (b *browser) awaitStopped(t *testing.T, id string) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		jid := b.start(t, "tgt", id, "fun", "saltutil.running")
		got := b.ended(t, jid)
		if !strings.Contains(got.body, "test.sleep") {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the job is not stopped:\n%s", got.body)
		}
	}
}

func (b *browser) testBatch(t *testing.T) {
	jid := b.start(t, "tgt", "*", "fun", "test.ping", "batch", "1")
	b.await(t, jid, "3 returned").want(t, 200, "1 at a time")
	b.ended(t, jid)

	// A batch that is stopped begins on no further minions.
	jid = b.start(t, "tgt", "*", "fun", "test.sleep", "p.length", "300", "shown", "test.sleep", "batch", "1")
	b.await(t, jid, "1 acknowledged").want(t, 200, "data-live", "0 of 3 have ended.")
	b.post(t, "/jobs/"+jid+"/stop", "how", "kill").want(t, 200, "saltutil.kill_job was sent to 3 minions.")
	b.await(t, jid, "1 failed")
	b.ended(t, b.start(t, "tgt", "*", "fun", "test.ping"))
	got := b.get(t, "/jobs/"+jid)
	got.want(t, 200, "1 of 3 have ended", "2 not begun")
	got.lacks(t, "acknowledged")
}

func (b *browser) testLongResults(t *testing.T) {
	jid := b.start(t, "tgt", "m1", "fun", "test.random_hash", "p.size", "100000", "shown", "test.random_hash")
	b.ended(t, jid)
	jid = b.start(t, "tgt", "m1", "fun", "test.echo", "p.text", strings.Repeat("0123456789 ", 9000), "shown", "test.echo")
	got := b.ended(t, jid)
	got.want(t, 200, "this is its beginning", `href="/console/jobs/`+jid+`/m1?raw=1"`)
	if len(got.body) > 100<<10 {
		t.Errorf("the page has %d bytes", len(got.body))
	}
	if raw := b.get(t, "/jobs/"+jid+"/m1?raw=1"); len(raw.body) < 98_000 {
		t.Errorf("the raw result has %d bytes", len(raw.body))
	}
}

func (b *browser) testHistory(t *testing.T) {
	got := b.get(t, "/jobs")
	got.want(t, 200, "state.apply", "test.sleep", "mods=high", "1 of 1 returned", "3 of 3 returned", "applies a test")
	got.lacks(t, "sys.argspec")
	b.get(t, "/jobs?all=yes&function=sys.argspec").want(t, 200, "sys.argspec")
	got = b.get(t, "/jobs?function=test.p*")
	got.want(t, 200, "test.ping")
	got.lacks(t, "state.apply</a>")
	b.get(t, "/jobs?user=nobody").want(t, 200, "No job matches.")
	b.get(t, "/jobs?target=m2&minion=m2").lacks(t, "state.apply</a>")
	oldest := regexp.MustCompile(`name="jid" value="(\d+)"`).FindAllStringSubmatch(got.body, -1)
	got = b.get(t, "/jobs?function=test.ping&before="+oldest[0][1])
	got.want(t, 200, "Newest")
	got.lacks(t, `value="`+oldest[0][1]+`"`)
	b.get(t, "/jobs?running=1").want(t, 200, "ended")
}

// A user without a right sees what they may, and which right they lack.
func (b *browser) testRights(t *testing.T) {
	jid := b.start(t, "tgt", "*", "fun", "test.ping")
	b.ended(t, jid)
	b.post(t, "/logout")
	b.logIn(t, "limited")
	defer b.logIn(t, "saltdev")
	b.get(t, "/run?tgt=*&fun=test.ping").want(t, 200, "You lack the right @runner to manage.fleet")
	b.get(t, "/jobs").want(t, 200, jid)
	b.get(t, "/jobs?running=1").want(t, 200, "You lack the right @runner to jobs.active")
	b.get(t, "/jobs/"+jid).want(t, 200, "You lack the right @runner to jobs.status", "3 returned")
	b.post(t, "/run", "tgt", "m1", "fun", "state.apply").want(t, 401, "You have no right to run state.apply")
	b.get(t, "/jobs/"+b.start(t, "tgt", "m1", "fun", "test.ping")).want(t, 200, "test.ping")
	b.post(t, "/jobs/"+jid+"/stop", "how", "stop").want(t, 200, "No minion runs the job any longer")
	sleep := b.start(t, "tgt", "m1", "fun", "test.sleep", "p.length", "2", "shown", "test.sleep")
	b.await(t, sleep, "test.sleep")
	b.post(t, "/jobs/"+sleep+"/stop", "how", "stop").want(t, 403, "You have no right to saltutil.term_job")
}

func (b *browser) testSilentMinion(t *testing.T) {
	if err := b.Minions["m3"].Stop(); err != nil {
		t.Fatal(err)
	}
	b.sees(t, "/minions?connected=no", "/minions/m3")
	jid := b.start(t, "tgt", "*", "fun", "test.ping")
	b.await(t, jid, "2 returned").want(t, 200, "1 not connected")
	jid = b.start(t, "tgt", "m3", "fun", "test.ping", "queue", "yes", "queue_for", "2h")
	b.await(t, jid, "1 queued")
}
