package client

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
)

const tierJID = "20260102030405000001"

// openTiers opens a Local of a master with order_masters.
func (m *fakeMaster) openTiers(wait time.Duration) *Local {
	m.t.Helper()
	l, err := Open(m.t.Context(), Options{CacheDir: m.dir, SockDir: m.dir, User: "root", Caller: "root", Out: m,
		Timeout: 5 * time.Second, Tiers: &Tiers{Wait: wait}})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { l.Close() })
	return l
}

// named is the event by which a syndic names the minions of the job.
func (m *fakeMaster) named(path string, body ...any) {
	if err := m.bus.Fire("syndic/"+path+"/"+tierJID, data.NewMap(body...)); err != nil {
		m.t.Error(err)
	}
}

// told is the reply of a Brine master: it has told who is not connected.
func told(jid string, fields ...any) *data.Map {
	reply := data.NewMap("jid", jid, "minions", []any{}, "missing", []any{}, "absent", []any{})
	reply.Update(data.NewMap(fields...))
	return reply
}

func checkResults(t *testing.T, m *fakeMaster, l *Local, w Wait, want ...string) {
	t.Helper()
	got, err := gather(t, l, w)
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("results %q, error %v; want %q", got, err, want)
	}
}

// TestEverySyndicNamesItsMinions waits for the minions that two syndics name, one of them on behalf of a
// third below it, and then for nothing more.
func TestEverySyndicNamesItsMinions(t *testing.T) {
	m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
		go func() {
			m.named("a", "minions", []any{"a1"}, "syndics", []any{"c"})
			m.named("b", "minions", []any{})
			m.fire(tierJID, "a1", true, 0)
			m.named("a/syndic/c", "minions", []any{"c1"})
			m.fire(tierJID, "c1", true, 0)
		}()
		return told(tierJID, "syndics", []any{"a", "b"})
	})
	w := wait()
	w.Timeout = time.Minute
	checkResults(t, m, m.openTiers(time.Minute), w, "a1 True", "c1 True")
}

// TestOnlyConnectedMinionsAreWaitedFor has minions that are not connected, to this master and to one below.
func TestOnlyConnectedMinionsAreWaitedFor(t *testing.T) {
	m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
		go func() {
			m.named("a", "minions", []any{"a1", "a2"})
			m.fire(tierJID, "a1", true, 0)
			m.named("a", "minions", []any{"a1", "a2"}, "absent", []any{"a2"})
		}()
		return told(tierJID, "minions", []any{"own"}, "absent", []any{"own"}, "syndics", []any{"a"})
	})
	w := Wait{Timeout: time.Hour, Gather: time.Hour, Connected: true, ShowSilent: true}
	checkResults(t, m, m.openTiers(time.Minute), w, "a1 True", "a2 silent", "own silent")
}

// TestMasterWithoutListOfSyndics waits syndic_wait, as Salt's client does: any syndic may still name
// minions.
func TestMasterWithoutListOfSyndics(t *testing.T) {
	begun := time.Now()
	m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
		time.AfterFunc(20*time.Millisecond, func() {
			m.named("a", "minions", []any{"a1"})
			m.fire(tierJID, "a1", true, 0)
		})
		return published(tierJID)
	})
	w := wait()
	w.Timeout = time.Minute
	checkResults(t, m, m.openTiers(200*time.Millisecond), w, "a1 True")
	if took := time.Since(begun); took < 200*time.Millisecond {
		t.Errorf("the wait for further syndics took %s", took)
	}
}

// TestTroublesOfTiersAreTold has a syndic that is away and one whose master refuses the job.
func TestTroublesOfTiersAreTold(t *testing.T) {
	m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
		if load.Text("fun") == "saltutil.find_job" {
			return told("20260102030405000002")
		}
		m.named("a", "minions", []any{}, "problem", "no disk")
		return told(tierJID, "minions", []any{"b1"}, "absent", []any{"b1"}, "below", []any{"b1"},
			"syndics", []any{"a"}, "syndics_away", data.NewMap("b", []any{"b1"}, "c", []any{}))
	})
	l := m.openTiers(time.Minute)
	j, err := l.Publish(t.Context(), Request{Target: "*", Kind: "glob", Fun: "test.ping", JID: tierJID})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r, err := range l.Results(t.Context(), j, wait()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.ID+": "+r.Why)
	}
	want := []string{"b1: It is behind syndic b, which is not connected.",
		"a: The lower master of this syndic did not take the job: no disk",
		"c: This syndic is not connected, and with it the minions behind it."}
	if !slices.Equal(got, want) {
		t.Errorf("results\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTimeCountsFromTheFirstAnswerBelow names a minion whose time is over, and another one.
func TestTimeCountsFromTheFirstAnswerBelow(t *testing.T) {
	c := newCollector(&Local{}, &Job{Minions: []string{"a1"}, Told: true, Syndics: []string{"a"}},
		Wait{Timeout: time.Hour})
	c.open["a1"] = time.Now()
	c.noteReport(report{path: "a", minions: []string{"a1", "a2"}})
	for _, id := range []string{"a1", "a2"} {
		if left := time.Until(c.open[id]); left < 59*time.Minute {
			t.Errorf("%s has %s left", id, left)
		}
	}
}

func FuzzReportOf(f *testing.F) {
	f.Add("syndic/a/" + tierJID)
	f.Add("syndic/a/syndic/b/salt/job/" + tierJID + "/new")
	f.Add("syndic//")
	f.Fuzz(func(t *testing.T, tag string) {
		path, inner, ok := reportOf(tag)
		if ok == (path == "" && inner == "") && !strings.HasPrefix(tag, syndicPrefix+"/") {
			t.Errorf("%q: %q, %q, %v", tag, path, inner, ok)
		}
	})
}

// BenchmarkReport takes the report of a syndic none of whose minions are connected. The time for each
// minion does not depend on their number.
func BenchmarkReport(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint("minions=", n), func(b *testing.B) {
			var ids []string
			for i := range n {
				ids = append(ids, fmt.Sprintf("web%06d", i))
			}
			b.ReportAllocs()
			for b.Loop() {
				c := newCollector(&Local{}, &Job{Told: true, Syndics: []string{"a"}}, Wait{ShowSilent: true})
				c.noteReport(report{path: "a", minions: ids, absent: ids})
				if got := len(c.absent()); got != n {
					b.Fatalf("%d results", got)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/minion")
		})
	}
}
