package testsalt

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/master/syndics"
)

// startTier starts a master that may have syndics below it.
func startTier(t *testing.T, dir, name string) *Master {
	t.Helper()
	cfg := MasterConfig(filepath.Join(dir, name))
	cfg.OrderMasters, cfg.SyndicWait = true, 20*time.Second
	return StartMaster(t, cfg)
}

// awaitBehind waits until a master knows which minions are behind a syndic.
func awaitBehind(t *testing.T, m *Master, syndic string, minions ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		all, err := syndics.Read(filepath.Join(m.Config.CacheDir, "syndics"))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if s.ID == syndic && slices.Equal(s.Minions, minions) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("behind %s: %+v, want %q", syndic, all, minions)
		}
	}
}

// run orders a job on a master and returns the results by minion; missing ones are nil.
func (m *Master) run(t *testing.T, target any, kind, fun string, arg ...any) map[string]any {
	t.Helper()
	c := m.Client(t)
	j, err := c.Publish(t.Context(), client.Request{Target: target, Kind: kind, Fun: fun, Arg: arg, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for r, err := range c.Results(t.Context(), j, client.Wait{Timeout: 20 * time.Second, Gather: 5 * time.Second, ShowSilent: true}) {
		if err != nil {
			t.Fatal(err)
		}
		got[r.ID] = r.Value
	}
	return got
}

// TestThreeTiers orders jobs two tiers above a minion.
func TestThreeTiers(t *testing.T) {
	dir := Dir(t)
	top, mid, low := startTier(t, dir, "top"), startTier(t, dir, "mid"), startTier(t, dir, "low")
	StartMinion(t, MinionConfig(filepath.Join(dir, "leaf"), "leaf", low.Address))
	StartMinion(t, MinionConfig(filepath.Join(dir, "branch"), "branch", mid.Address))
	StartSyndic(t, low, filepath.Join(dir, "s-low"), "low", mid)
	awaitBehind(t, mid, "low", "leaf")
	StartSyndic(t, mid, filepath.Join(dir, "s-mid"), "mid", top)
	awaitBehind(t, top, "mid", "branch", "leaf")
	for _, target := range []string{"*", "E@.*"} {
		got := top.run(t, target, "compound", "test.ping")
		if len(got) != 2 || got["leaf"] != true || got["branch"] != true {
			t.Errorf("%s: %v", target, got)
		}
	}
	if got := top.run(t, "leaf", "glob", "test.echo", "x"); len(got) != 1 || got["leaf"] != "x" {
		t.Errorf("echo of one minion: %v", got)
	}
}

// TestReturnWhileTheSyndicIsAway lets a job end while the syndic does not run: the return comes when it
// does again.
func TestReturnWhileTheSyndicIsAway(t *testing.T) {
	dir := Dir(t)
	top, low := startTier(t, dir, "top"), startTier(t, dir, "low")
	StartMinion(t, MinionConfig(filepath.Join(dir, "leaf"), "leaf", low.Address))
	s := StartSyndic(t, low, filepath.Join(dir, "s"), "low", top)
	awaitBehind(t, top, "low", "leaf")
	below := low.Listen(t, "salt/job/")
	above := top.Listen(t, "salt/job/")
	c := top.Client(t)
	j, err := c.Publish(t.Context(), client.Request{Target: "leaf", Kind: "glob", Fun: "test.sleep", Arg: []any{int64(2)}})
	if err != nil {
		t.Fatal(err)
	}
	AwaitEvent(t, below, eventbus.Tagify("job", string(j.ID), "ack", "leaf"))
	s.Stop(t)
	AwaitEvent(t, below, eventbus.Tagify("job", string(j.ID), "ret", "leaf"))
	StartSyndic(t, low, filepath.Join(dir, "s"), "low", top)
	e := AwaitEvent(t, above, eventbus.Tagify("job", string(j.ID), "ret", "leaf"))
	if m, err := e.Map(); err != nil || !data.Equal(m.Value("return"), true) {
		t.Errorf("return %v, error %v", m, err)
	}
}
