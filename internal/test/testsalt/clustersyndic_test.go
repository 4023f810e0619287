package testsalt

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/syndics"
)

// eventsUntil returns the events of a bus until it has those with some tags.
func eventsUntil(t *testing.T, c *eventbus.Client, tags ...string) []eventbus.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all []eventbus.Event
	for len(tags) > 0 {
		e, err := c.Next(ctx)
		if err != nil {
			t.Fatalf("waiting for events %q: %v", tags, err)
		}
		all = append(all, e)
		tags = slices.DeleteFunc(tags, func(tag string) bool { return tag == e.Tag })
	}
	return all
}

// countTag counts the events with a tag.
func countTag(all []eventbus.Event, tag string) (n int) {
	for _, e := range all {
		if e.Tag == tag {
			n++
		}
	}
	return n
}

// wantNoProblem fails the test if a syndic has reported that its lower master did not take a job.
func wantNoProblem(t *testing.T, all []eventbus.Event) {
	t.Helper()
	for _, e := range all {
		if !strings.HasPrefix(e.Tag, "syndic/") {
			continue
		}
		if m, err := e.Map(); err == nil && m.Has("problem") {
			t.Errorf("event %s has the problem %q", e.Tag, m.Text("problem"))
		}
	}
}

// TestSyndicsOfACluster has a cluster of two members, each with a syndic, below one master. Each order
// from above comes to both and runs once, whichever syndic is there.
func TestSyndicsOfACluster(t *testing.T) {
	p := newPool(t)
	cfg := MasterConfig(filepath.Join(p.dir, "top"))
	cfg.OrderMasters, cfg.SyndicWait, cfg.Syndics, cfg.KeySize = true, 20*time.Second, []string{"low*"}, 2048
	top := StartMaster(t, cfg)
	a, b := p.start(t, "a", nil), p.start(t, "b", nil)
	p.minion(t, a, "on-a")
	p.minion(t, b, "on-b")
	ids := []string{"on-a", "on-b"}
	awaitPresent(t, a, ids...)
	awaitPresent(t, b, ids...)
	events := top.Listen(t)
	first := StartSyndic(t, a, filepath.Join(p.dir, "s1"), "low1", top)
	second := StartSyndic(t, b, filepath.Join(p.dir, "s2"), "low2", top)
	awaitBehind(t, top, "low1", ids...)
	awaitBehind(t, top, "low2", ids...)

	t.Run("orders and returns", func(t *testing.T) {
		for range 5 {
			wantAll(t, top, ids...)
		}
		below := map[*Master]*eventbus.Client{a: a.Listen(t, "salt/job/"), b: b.Listen(t, "salt/job/")}
		file := filepath.Join(p.dir, "runs")
		c := top.Client(t)
		j, err := c.Publish(t.Context(), client.Request{Target: "on-a", Kind: "glob", Fun: "cmd.run",
			Arg: []any{"echo x >> " + file}, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		ret := eventbus.Tagify("job", string(j.ID), "ret", "on-a")
		for _, bus := range below {
			AwaitEvent(t, bus, ret)
		}
		if err := fireOn(t, a, "test/end"); err != nil { // after the return, on both members
			t.Fatal(err)
		}
		all := eventsUntil(t, events, "syndic/low1/test/end", "syndic/low2/test/end")
		awaitFor(t, "both syndics have sent the return", func() bool {
			return !strings.Contains(first.Syndic.Status()+second.Syndic.Status(), "returns wait")
		})
		if err := fireOn(t, top, "test/last"); err != nil {
			t.Fatal(err)
		}
		all = append(all, eventsUntil(t, events, "test/last")...)
		wantNoProblem(t, all)
		if n := countTag(all, ret); n != 1 || lines(file) != 1 {
			t.Errorf("ran %d times, %d returns above", lines(file), n)
		}
	})
	t.Run("a batch", func(t *testing.T) { wantBatch(t, top, filepath.Join(p.dir, "batch"), events, ids) })
	t.Run("what is connected", func(t *testing.T) {
		list := top.control(t, "runner", "manage.syndics")
		t.Logf("manage.syndics: %s", data.Repr(list))
		if up := data.TextsOf(top.control(t, "runner", "manage.up")); !slices.Equal(up, ids) {
			t.Errorf("manage.up: %q, want %q", up, ids)
		}
	})
	t.Run("one syndic is gone", func(t *testing.T) {
		first.Stop(t)
		awaitFor(t, "the loss of low1", func() bool {
			all, err := syndics.Read(filepath.Join(top.Config.CacheDir, "syndics"))
			return err == nil && len(all) == 2 && !all[0].Here && all[1].Here
		})
		wantAll(t, top, ids...)
		got := top.run(t, "E@on-.*", "compound", "test.ping")
		if len(got) != 2 || got["on-a"] != true || got["on-b"] != true {
			t.Errorf("compound target: %v", got)
		}
		wantBatch(t, top, filepath.Join(p.dir, "batch2"), events, ids)
	})
}

// wantBatch runs a batch of one minion after the other. Each runs it once.
func wantBatch(t *testing.T, top *Master, file string, events *eventbus.Client, ids []string) {
	t.Helper()
	bus := top.Listen(t, "salt/batch/")
	r := batchOf(file)
	j, err := top.Client(t).PublishBatch(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	steps, end := batchSteps(t, bus, j.ID)
	done := data.TextsOf(end.Value("done_minions"))
	slices.Sort(done)
	if len(steps) != len(ids) || !slices.Equal(done, ids) || end.Text("error") != "" || lines(file) != len(ids) {
		t.Errorf("steps %q, end %s, ran %d times", steps, data.Repr(end), lines(file))
	}
	all := eventsUntil(t, events, "salt/batch/"+string(j.ID)+"/done")
	wantNoProblem(t, all)
	for _, id := range ids {
		if n := countTag(all, eventbus.Tagify("job", string(j.ID), "ret", id)); n != 1 {
			t.Errorf("%d returns of %s above", n, id)
		}
	}
}

// TestSyndicBelowACluster has a syndic whose upper masters are the members of a cluster. An order runs
// once, and its return comes to both.
func TestSyndicBelowACluster(t *testing.T) {
	p := newPool(t)
	p.change = func(c *config.Master) { c.OrderMasters, c.SyndicWait = true, 20*time.Second }
	a, b := p.start(t, "a", nil), p.start(t, "b", nil)
	cfg := MasterConfig(filepath.Join(p.dir, "low"))
	cfg.KeySize = 2048
	low := StartMaster(t, cfg)
	p.minion(t, low, "leaf")
	StartSyndic(t, low, filepath.Join(p.dir, "s"), "low", a, b)
	awaitBehind(t, a, "low", "leaf")
	awaitBehind(t, b, "low", "leaf")
	for _, m := range []*Master{a, b} {
		wantAll(t, m, "leaf")
		file := filepath.Join(p.dir, "runs-"+m.Config.ID)
		j, err := m.Client(t).Publish(t.Context(), client.Request{Target: "*", Kind: "glob", Fun: "cmd.run",
			Arg: []any{"echo x >> " + file}, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range []*Master{a, b} {
			awaitReturnOf(t, one, j.ID, "leaf")
		}
		wantAll(t, m, "leaf") // what came after it has run, too
		if lines(file) != 1 {
			t.Errorf("the order of %s ran %d times", m.Config.ID, lines(file))
		}
	}
}

// awaitReturnOf waits until the job cache of a master has the return of a minion.
func awaitReturnOf(t *testing.T, m *Master, id job.ID, minion string) {
	t.Helper()
	awaitFor(t, "the return on "+m.Config.ID, func() bool {
		found, _ := m.control(t, "runner", "jobs.lookup_jid", string(id)).(*data.Map)
		return found.Has(minion)
	})
}
