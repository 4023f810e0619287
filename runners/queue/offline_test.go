package queue

import (
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/queue"
)

// TestJobsForOfflineMinions lists and cancels waiting jobs, twice.
func TestJobsForOfflineMinions(t *testing.T) {
	dir := t.TempDir()
	q, err := queue.Open(dir, queue.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	const jid = "20260101000000000001"
	if _, err := q.Put(queue.Item{ID: jid, Minions: []string{"web1", "web2", "web3"},
		Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if ok, err := q.Begin(jid, "web2"); err != nil || !ok {
		t.Fatal(ok, err)
	}
	m := &module{&loader.Env{Opts: data.NewMap("cachedir", dir)}}
	listed := func() string {
		t.Helper()
		v, err := m.list(t.Context(), struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		j, ok := v.(*data.Map).Value(jid).(*data.Map)
		if !ok {
			return "nothing"
		}
		return data.Repr(j.Value("minions")) + " " + data.Repr(j.Value("being sent"))
	}
	cancel := func(minions any) string {
		t.Helper()
		v, err := m.cancel(t.Context(), cancelArgs{jid, minions})
		if err != nil {
			t.Fatal(err)
		}
		return data.Repr(v)
	}
	for _, step := range []struct{ name, got, want string }{
		{"list", listed(), "['web1', 'web2', 'web3'] ['web2']"},
		{"cancel one", cancel("web3"), "['web3']"},
		{"cancel one again", cancel([]any{"web3"}), "[]"},
		{"list", listed(), "['web1', 'web2'] ['web2']"},
		{"cancel all", cancel(nil), "['web1', 'web2']"},
		{"list", listed(), "nothing"},
	} {
		if step.got != step.want {
			t.Errorf("%s: %s, want %s", step.name, step.got, step.want)
		}
	}
}

// A job that is not waiting is logged; the result is an empty list of minions.
func TestCancelTellsOfNoJob(t *testing.T) {
	log, hook := test.NewNullLogger()
	m := &module{&loader.Env{Opts: data.NewMap("cachedir", t.TempDir()), Log: log}}
	v, err := m.cancel(t.Context(), cancelArgs{Jid: "123"})
	if err != nil || data.Repr(v) != "[]" {
		t.Errorf("cancel: %v, %v", v, err)
	}
	if got := hook.LastEntry(); got == nil || !strings.Contains(got.Message, "no job 123 waits") {
		t.Errorf("the log has %v", got)
	}
}
