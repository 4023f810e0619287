package console_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// A saltMaster is a master without the functions that only Brine's has. It counts orders.
type saltMaster struct {
	netapi.Master
	mu     sync.Mutex
	orders map[string]int
	refuse bool // what it lacks, as to users with some rights only
}

func (m *saltMaster) Order(ctx context.Context, low *data.Map) (*netapi.Answer, error) {
	m.mu.Lock()
	m.orders[low.Text("fun")]++
	m.mu.Unlock()
	words, _ := low.Value("kwarg").(*data.Map)
	own := []string{"manage.fleet", "jobs.status", "queue.list", "minions.pillar"}
	if m.refuse && slices.Contains(own, low.Text("fun")) {
		return nil, &netapi.Fault{Status: http.StatusUnauthorized,
			Text: `Authentication failure of type "eauth" occurred for user saltdev.`}
	}
	switch fun := low.Text("fun"); fun {
	case "manage.fleet", "jobs.status", "queue.list":
		return &netapi.Answer{Items: []any{"Exception occurred in runner " + fun + ": Traceback (most recent call last):\n" +
			"KeyError: \"'" + fun + "' is not available.\""}}, nil
	case "jobs.list_jobs":
		if words.Has("limit") {
			return &netapi.Answer{Items: []any{"\nPassed invalid arguments: list_jobs() got an unexpected keyword argument " +
				"'search_user'\n\nUsage:\n\n    List all detectable jobs"}}, nil
		}
	case "minions.pillar":
		body := data.NewMap("success", false, "return", "'minions.pillar' is not available.")
		return &netapi.Answer{Items: []any{data.NewMap("data", body)}}, nil
	}
	answer, err := m.Master.Order(ctx, low)
	if err == nil && low.Has("queue") {
		answer.Items[0].(*data.Map).Delete("queued")
	}
	return answer, err
}

// pagesOfSalt tests the pages with a master that has only Salt's functions.
func pagesOfSalt(t *testing.T, b *browser) {
	b.post(t, "/run", "tgt", "m1", "fun", "test.ping", "shown", "test.ping", "queue", "yes").lacks(t, "only to minions")
	own := b.Gate.Master
	salt := &saltMaster{Master: own, orders: map[string]int{}}
	b.Gate.Master = salt
	defer func() { b.Gate.Master = own }()
	salt.refuse = true
	b.get(t, "/minions").want(t, 200, "1 of 3 connected", ">m1</a>")
	b.get(t, "/run?tgt=*&fun=test.ping").want(t, 200, "3 minions match, 1 connected")
	b.get(t, "/minions/m1?tab=pillar").lacks(t, "you lack the right")
	b.post(t, "/run", "tgt", "m1", "fun", "test.ping", "shown", "test.ping", "queue", "yes").
		want(t, 200, "The job was sent only to minions that are connected. This master is Salt&#39;s.")
	salt.refuse = false
	clear(salt.orders)
	b.get(t, "/minions").want(t, 200, "1 of 3 connected", ">m1</a>", ">connected</span>", ">away1</a>", "3006.")
	got := b.get(t, "/minions?connected=no")
	got.want(t, 200, ">away1</a>")
	got.lacks(t, ">m1</a>")
	got = b.get(t, "/minions?after=away1")
	got.lacks(t, ">away1</a>")
	b.get(t, "/minions?tgt=role:web-m1&tgt_type=grain&grain=role").want(t, 200, `<td data-th="role">web-m1</td>`)
	b.get(t, "/minions?tgt=m1,nosuch&tgt_type=list").want(t, 200, "1 of 1 connected")
	b.get(t, "/minions/m1").want(t, 200, ">connected</span>", ">saltversion:</span>")
	b.get(t, "/minions/nosuch").want(t, 404, "There is no minion nosuch")
	if got := b.get(t, "/minions/m1?tab=pillar"); !strings.Contains(got.body, `class="tree"`) && !strings.Contains(got.body, "no pillar") {
		t.Errorf("the pillar: %s", got.body)
	}

	// what the master lacks is not asked for again by each page
	b.get(t, "/jobs").want(t, 200, "<h1>Jobs</h1>")
	b.get(t, "/jobs").want(t, 200, "<h1>Jobs</h1>")
	for range 2 {
		b.get(t, "/queue").want(t, 200, "This master has no queue")
	}
	for fun, most := range map[string]int{"manage.fleet": 1, "minions.pillar": 1, "queue.list": 1, "jobs.list_jobs": 3} {
		if n := salt.orders[fun]; n != most {
			t.Errorf("%s was ordered %d times, want %d", fun, n, most)
		}
	}

	jid := b.start(t, "tgt", "m1,away1", "tgt_type", "list", "fun", "test.sleep", "shown", "test.sleep", "p.length", "300")
	b.get(t, "/jobs/"+jid).want(t, 200, "2 sent", "Ask which minions run it")
	b.sees(t, "/jobs/"+jid+"?running=1", "1 running").want(t, 200, "1 sent", "Ask which minions run it")
	b.post(t, "/jobs/"+jid+"/stop", "how", "kill").want(t, 200, "saltutil.kill_job was sent to 2 minions.")

	got = b.get(t, "/rights")
	got.want(t, 200, "@runner: manage.present", "@runner: cache.pillar")
	got.lacks(t, "@runner: manage.fleet")

	b.get(t, "/run?tgt=role:web-m1&tgt_type=grain&fun=test.ping").want(t, 200, "3 minions match, 1 connected", ">m1</span>")
	b.get(t, "/run?tgt=a:b&tgt_type=pillar&fun=test.ping").want(t, 200, "a target on pillar is known when the job has been sent")
	b.get(t, "/run?tgt=m*+and+I@a:b&tgt_type=compound&fun=test.ping").
		want(t, 200, "a target on pillar is known when the job has been sent")

	// the queue and batches are of Brine's master
	got = b.get(t, "/run?tgt=m1,gone&tgt_type=list&fun=test.ping")
	got.want(t, 200, "This master is Salt&#39;s", `name="queue" value="yes" disabled`, `all at once" size="8" disabled`,
		"No such minion: gone.")
	b.post(t, "/run", "tgt", "m1", "fun", "test.ping", "queue", "yes").
		want(t, 400, "keeps no jobs for absent minions", "Nothing was sent.")
	b.post(t, "/run", "tgt", "m1", "fun", "test.ping", "batch", "1").
		want(t, 400, "runs no batches", "Nothing was sent.")
	b.get(t, "/orchestrations").want(t, 200, "No orchestration has run", `<label for="mods">`)
}
