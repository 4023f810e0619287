package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pki"
)

// enqueue sends a job to minions that are absent, and returns its id.
func (b *browser) enqueue(t *testing.T, ids ...string) string {
	t.Helper()
	accepted := filepath.Join(b.Master.Config.PKIDir, pki.Accepted.Dir())
	key, err := os.ReadFile(filepath.Join(accepted, "m1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if err := os.WriteFile(filepath.Join(accepted, id), key, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j, err := b.Master.Client(t).Publish(t.Context(), client.Request{Target: data.Values(ids), Kind: "list", Fun: "test.ping",
		Timeout: time.Second, Kwargs: data.NewMap("queue", int64(3600))})
	if err != nil {
		t.Fatal(err)
	}
	if len(j.Queued) != len(ids) {
		t.Fatalf("the job is queued for %d minions of %d", len(j.Queued), len(ids))
	}
	return string(j.ID)
}

func TestQueue(t *testing.T) {
	b := open(t, "m1")
	b.logIn(t, "saltdev")
	b.get(t, "/queue").want(t, 200, "No job waits for an absent minion.")
	var many []string
	for i := range 120 {
		many = append(many, fmt.Sprintf("web%03d", i))
	}
	old := b.enqueue(t, many...)
	young := b.enqueue(t, "db1")

	b.get(t, "/queue").want(t, 200, old, young, "web000", "and 115 more", "db1", "UTC")
	got := b.get(t, "/queue?job="+old)
	got.want(t, 200, "web099", "120 in all", "waiting", "Next")
	got.lacks(t, "web100")
	b.get(t, "/queue?job="+old+"&after=web099").want(t, 200, "web100", "web119", "First")

	got = b.post(t, "/queue/cancel", "job", old, "minion", "web005")
	got.want(t, 200, "no longer waits for web005.", "119 in all")
	b.post(t, "/queue/cancel", "job", old).want(t, 200, "no longer waits for 119 minions.", young)
	b.post(t, "/queue/cancel", "job", old).want(t, 200, "waits for none of these minions any more.")
	b.get(t, "/queue?job="+old).want(t, 200, "This job waits for no minion.")
	b.post(t, "/queue/cancel").want(t, 400, "The form names no job.")
	b.get(t, "/queue").lacks(t, old)

	b.logIn(t, "limited")
	b.get(t, "/queue").want(t, 200, "<code>queue.list</code>")
	b.post(t, "/queue/cancel", "job", young).want(t, 401, "external_auth", "You lack the right @runner to queue.cancel.",
		"<code>Authentication failure of type &#34;token&#34; occurred for user limited.</code>", "This was not done")
}
