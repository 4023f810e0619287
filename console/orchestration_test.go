package console_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// awaitFun waits for the return of a function.
func awaitFun(t *testing.T, bus *eventbus.Client, fun string) {
	t.Helper()
	for {
		e, err := bus.Next(t.Context())
		if err != nil {
			t.Fatalf("wait for the return of %s: %v", fun, err)
		}
		m, err := e.Map()
		if err == nil && m.Text("fun") == fun && strings.Contains(e.Tag, "/ret") {
			return
		}
	}
}

const deploy = `first:
  salt.function:
    - name: test.ping
    - tgt: m1
second:
  test.succeed_with_changes: []
third:
  test.configurable_test_state:
    - name: "<i>{{ pillar.get('word', 'none') }}</i>"
    - changes: False
    - result: {{ pillar.get('good', True) }}
    - comment: a comment
`

func TestOrchestrations(t *testing.T) {
	b := open(t, "m1")
	b.write(t, "deploy.sls", deploy)
	b.logIn(t, "saltdev")
	b.get(t, "/orchestrations").want(t, 200, "No orchestration has run", `<label for="mods">`)

	got := b.post(t, "/orchestrations", "mods", "deploy", "saltenv", "base", "pillar", "word: hello")
	got.want(t, 200, "The orchestration of deploy has begun.", "state.orchestrate")
	jid := strings.TrimPrefix(got.path, "/console/orchestrations/")
	got = b.sees(t, "/orchestrations/"+jid, "1 succeeded")
	got.want(t, 200, `<span class="badge good">succeeded</span>`, "2 changed", "<strong>first</strong>", "salt.function",
		`href="/console/jobs/20`,
		"&lt;i&gt;hello&lt;/i&gt;", "a comment", "saltdev")
	got.lacks(t, "data-live")
	got.lacks(t, "<i>hello")

	got.want(t, 200, `<code>pillar={&#34;word&#34;: &#34;hello&#34;}</code>`,
		`<span class="mono">m1</span> <span class="mono small">True</span>`)
	first, second := strings.Index(got.body, "<strong>first"), strings.Index(got.body, "<strong>second")
	if first > second {
		t.Error("the steps are not in their order")
	}

	b.write(t, "nested.sls", "inner:\n  test.succeed_with_changes: []\n")
	b.write(t, "apply.sls", "outer:\n  salt.state:\n    - tgt: m1\n    - sls: nested\n")
	got = b.post(t, "/orchestrations", "mods", "apply")
	b.sees(t, strings.TrimPrefix(got.path, "/console"), "<strong>outer").want(t, 200, `<span class="badge change">1 changed</span></summary>`,
		"<strong>inner</strong>", "1 state in")

	got = b.post(t, "/orchestrations", "mods", "deploy", "pillar", "good: False", "test", "")
	bad := strings.TrimPrefix(got.path, "/console/orchestrations/")
	b.sees(t, "/orchestrations/"+bad, "1 failed").want(t, 200, `<span class="badge bad">failed</span> <strong>third</strong>`)
	got = b.post(t, "/orchestrations", "mods", "deploy", "test", "1")
	b.sees(t, strings.TrimPrefix(got.path, "/console"), "would change")
	got = b.post(t, "/orchestrations", "mods", "nosuch")
	b.sees(t, strings.TrimPrefix(got.path, "/console"), "<h2>Returned</h2>").want(t, 200, "failed", "nosuch")

	b.sees(t, "/orchestrations", `<td>saltdev</td>
<td><span class="badge bad">failed</span></td>`).want(t, 200, jid, bad, `<td class="mono">deploy</td>`, "succeeded")
	b.get(t, "/orchestrations?before="+jid).want(t, 200, "No orchestration has run")

	b.get(t, "/orchestrations/nonsense").want(t, 404, "not the id of a job")
	b.get(t, "/orchestrations/20200101000000000000").want(t, 200, "not ended, or not known")
	b.post(t, "/orchestrations", "mods", " ").want(t, 400, "Name at least one SLS.")
	b.post(t, "/orchestrations", "mods", "deploy", "pillar", "[1").want(t, 400, "The pillar is no YAML", `value="deploy"`, ">[1</textarea>")
	b.post(t, "/orchestrations", "mods", "deploy", "pillar", "word").want(t, 400, "must be a dictionary")

	ping, _ := b.order(t, "local_async", "m1", "test.ping").(*data.Map)
	b.get(t, "/orchestrations/"+ping.Text("jid")).want(t, 404, "is no orchestration, but test.ping")

	b.logIn(t, "limited")
	b.get(t, "/orchestrations/"+jid).want(t, 200, "2 changed")
	b.post(t, "/orchestrations", "mods", "deploy").want(t, 401, "external_auth")
	b.logIn(t, "shorty")
	b.get(t, "/orchestrations").want(t, 200, "<code>jobs.list_jobs</code>")
	b.get(t, "/orchestrations/20200101000000000000").want(t, 200, "<code>jobs.list_job</code>")
}
