package console_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"
)

// sees gets a page until it has a text.
func (b *browser) sees(t *testing.T, path, text string) *page {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		got := b.get(t, path)
		if strings.Contains(got.body, text) {
			return got
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			got.want(t, 200, text)
			return got
		}
	}
}

func TestEvents(t *testing.T) {
	b := open(t, "m1")
	b.logIn(t, "saltdev")
	b.order(t, "local", "m1", "test.echo", "<b>bold</b>")

	got := b.sees(t, "/events?tag=salt/job/*/ret/*", "test.echo")
	got.want(t, 200, `<span class="badge good">returned</span>`, `href="/console/minions/m1"`, `href="/console/jobs/`, "&lt;b&gt;bold",
		`value="salt/job/*/ret/*"`, `salt-run state.event &#39;salt/job/*/ret/*&#39; pretty=True`,
		"events?tag=salt%2Fjob%2F%2A%2Fret%2F%2A&#39;", "/console/stream?after=")
	got.lacks(t, "<b>bold")
	got.lacks(t, `<span class="mono tag">salt/auth`)
	jid := between(t, got.body, `href="/console/jobs/`, `"`)

	got = b.get(t, "/events?job="+jid)
	got.want(t, 200, "salt/job/"+jid+"/new", "to 1 minion", "salt/job/"+jid+"/ret/m1", "&#39;*/"+jid+"/*&#39;")

	b.order(t, "local", "m1", "test.false")
	b.order(t, "local", "m1", "test.exception")
	b.sees(t, "/events?tag=salt/job/*/ret/*", `<span class="badge bad">failed</span>`)
	b.get(t, "/events?tag=nothing/like/this").want(t, 200, "No such event", "&#39;nothing/like/this*&#39;")
	b.get(t, "/events?tag="+url.QueryEscape(`it's <here>`)).want(t, 200,
		`it&#39;s &lt;here&gt;`, `&#39;it&#39;\&#39;&#39;s &lt;here&gt;*&#39;`)

	b.order(t, "local", "m1", "test.echo", strings.Repeat("long ", 200_000))
	b.sees(t, "/events?tag=salt/job/*/ret/*", "The data is left out of this page: ")
}

// The page does not show what it has asked itself.
func TestEventsOfPages(t *testing.T) {
	b := open(t, "m1")
	b.logIn(t, "saltdev")
	b.get(t, "/minions").want(t, 200, "m1")
	until := time.Now().Add(30 * time.Second) // events arrive by themselves
	for got := b.get(t, "/events?all=1"); !strings.Contains(got.body, "runner.manage.fleet"); got = b.get(t, "/events?all=1") {
		if time.Now().After(until) {
			t.Fatalf("the event of what a page has asked never comes:\n%s", got.body)
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.get(t, "/events").lacks(t, "runner.manage.fleet")
}
