package syndic_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/syndic"
)

// orderer records orders, and answers as a lower master with one minion does.
type orderer struct {
	mu       sync.Mutex
	requests []client.Request
	err      error
}

func (o *orderer) open(context.Context) (syndic.Orderer, error) { return o, nil }
func (o *orderer) Close() error                                 { return nil }

func (o *orderer) Publish(_ context.Context, r client.Request) (*client.Job, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests = append(o.requests, r)
	return &client.Job{ID: job.ID(r.JID), Minions: []string{"web1"}}, o.err
}

// orders returns the orders received.
func (o *orderer) orders() []client.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]client.Request(nil), o.requests...)
}

// ordered waits until a job was ordered.
func (o *orderer) ordered(t testing.TB, jid job.ID) client.Request {
	t.Helper()
	var found client.Request
	eventually(t, "order of job "+string(jid), func() bool {
		for _, r := range o.orders() {
			if r.JID == string(jid) {
				found = r
				return true
			}
		}
		return false
	})
	return found
}

func (u *upper) awaitReturn(jid job.ID, id string) {
	u.t.Helper()
	eventually(u.t, "return of "+id+" to job "+string(jid), func() bool { return u.returned(jid, id) > 0 })
}

func TestOrderRunsBelow(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	r.minion("web1")
	r.startKnown()
	first := ping("*", "glob")
	u.publish(first)
	u.awaitReturn(first.JID, "web1")
	known, err := r.cache.Job(t.Context(), first.JID)
	must(t, err)
	if len(known.Minions) != 1 || known.Minions[0] != "web1" {
		t.Errorf("the job below has minions %q", known.Minions)
	}
	eventually(t, "event with the minions of the job", func() bool {
		all := u.fired(string(first.JID))
		return len(all) == 1 && fmt.Sprint(data.TextsOf(all[0].Value("minions"))) == "[web1]"
	})
	second := ping("web*", "glob")
	u.publish(second)
	u.awaitReturn(second.JID, "web1")
	for _, jid := range []job.ID{first.JID, second.JID} {
		if n := u.returned(jid, "web1"); n != 1 {
			t.Errorf("the return to job %s came %d times", jid, n)
		}
	}
	e := u.about(first.JID)[0]
	ret := e.Value("return").(*data.Map).Value("web1").(*data.Map)
	if ret.Value("return") != true || ret.Value("retcode") != int64(0) || ret.Value("success") != true {
		t.Errorf("return %s", data.Repr(ret))
	}
	if id, _ := e.Text("id"); id != "lower" || e.Value("fun") != "test.ping" || !e.Has("tgt") || e.Value("tgt") != nil {
		t.Errorf("entry of syndic %q, fun %v", id, e.Value("fun"))
	}
	load := e.Value("load").(*data.Map)
	if load.Text("jid") != string(first.JID) || fmt.Sprint(data.TextsOf(load.Value("Minions"))) != "[web1]" {
		t.Errorf("load %s", data.Repr(load))
	}
}

func TestOrderHasAllOptions(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	below := &orderer{}
	r.order = below.open
	r.startKnown()
	p := ping([]any{"web1", "web2"}, "list")
	p.Fun, p.Multi, p.Arg = []string{"test.ping", "test.arg"}, true, []any{[]any{}, []any{"x"}}
	p.MasterID, p.Ret, p.Delimiter, p.To = "top", "redis", "|", 8
	p.Metadata, p.RetConfig, p.RetKwargs = data.NewMap("a", "b"), "alt", data.NewMap("k", "v")
	p.ModuleExecutors, p.ExecutorOpts = []any{"direct_call"}, data.NewMap("o", int64(1))
	p.AuthList = []any{"test.*"}
	u.publish(p)
	got := below.ordered(t, p.JID)
	want := data.NewMap("auth_list", p.AuthList, "master_id", "top", "user", "root", "delimiter", "|",
		"metadata", p.Metadata, "ret_config", "alt", "ret_kwargs", p.RetKwargs,
		"module_executors", p.ModuleExecutors, "executor_opts", p.ExecutorOpts)
	if data.Repr(got.Kwargs) != data.Repr(want) {
		t.Errorf("kwargs %s, want %s", data.Repr(got.Kwargs), data.Repr(want))
	}
	if data.Repr(got.Target) != "['web1', 'web2']" || got.Kind != "list" || got.Ret != "redis" ||
		data.Repr(got.Fun) != "['test.ping', 'test.arg']" || data.Repr(got.Arg) != "[[], ['x']]" ||
		got.Timeout.Seconds() != 7 {
		t.Errorf("order %+v", got)
	}
}

func TestOrderOfTheLowerMasterItselfIsIgnored(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	below := &orderer{}
	r.order = below.open
	r.set["master_id"] = "lower_master"
	r.startKnown()
	own, other := ping("*", "glob"), ping("*", "glob")
	own.MasterID = "lower_master"
	u.publish(own)
	u.publish(other)
	below.ordered(t, other.JID)
	for _, o := range below.orders() {
		if o.JID == string(own.JID) {
			t.Error("a job of the lower master was ordered there again")
		}
	}
}

// TestValuesPassUndecoded returns numbers that are encoded longer than needed: whoever decodes and encodes
// them makes them shorter.
func TestValuesPassUndecoded(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	r.startKnown()
	value := data.Raw{0x93, 0xcd, 0, 1, 0xca, 0x3f, 0x80, 0, 0, 0xd9, 1, 'x'}
	jid := ids.Next()
	r.giveReturn(jid, "web1", value)
	u.awaitReturn(jid, "web1")
	u.mu.Lock()
	defer u.mu.Unlock()
	if !bytes.Contains(u.raw[0], value) {
		t.Errorf("%x does not contain %x", u.raw[0], value)
	}
}

func TestLoadGoesUpOnce(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	cache := newMemoryCache()
	r.cache = cache
	r.startKnown()
	jid := ids.Next()
	cache.add(t, jid, "web1", true)
	cache.add(t, jid, "web2", true)
	for _, id := range []string{"web1", "web2"} {
		r.giveReturn(jid, id, true)
		u.awaitReturn(jid, id)
	}
	full := 0
	for _, e := range u.about(jid) {
		load := e.Value("load").(*data.Map)
		if load.Len() == 0 {
			continue
		}
		full++
		if load.Text("fun") != "test.ping" || fmt.Sprint(data.TextsOf(load.Value("Minions"))) != "[web1 web2]" {
			t.Errorf("load %s", data.Repr(load))
		}
	}
	if full != 1 {
		t.Errorf("%d loads in %d entries", full, len(u.about(jid)))
	}
}

func TestNobodyMatches(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	r.startKnown()
	p := ping("nothing*", "glob")
	u.publish(p)
	eventually(t, "event without minions", func() bool { return len(u.fired(string(p.JID))) == 1 })
	if e := u.fired(string(p.JID))[0]; data.Repr(e.Value("minions")) != "[]" || e.Has("problem") {
		t.Errorf("event %s", data.Repr(e))
	}
}

func TestLowerMasterIsAway(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	s := r.startKnown()
	r.lower.Stop(t)
	p := ping("*", "glob")
	u.publish(p)
	eventually(t, "event with the problem", func() bool { return len(u.fired(string(p.JID))) == 1 })
	e := u.fired(string(p.JID))[0]
	if data.Repr(e.Value("minions")) != "[]" || e.Text("problem") == "" || e.Has("error") {
		t.Errorf("event %s", data.Repr(e))
	}
	if s.Status() != "connected to "+u.address()+", the lower master is away" {
		t.Errorf("Status = %q", s.Status())
	}
}

func TestUpperMasterIsAwayForAWhile(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	s := r.startKnown()
	jid := ids.Next()
	r.giveReturn(jid, "before", true)
	u.awaitReturn(jid, "before")
	u.stop()
	for i := range 20 {
		r.giveReturn(jid, fmt.Sprintf("web%d", i), true)
	}
	eventually(t, "returns that wait", func() bool {
		return s.Status() == "not connected to "+u.address()+", 20 returns wait"
	})
	u.start()
	for i := range 20 {
		u.awaitReturn(jid, fmt.Sprintf("web%d", i))
	}
	last := ids.Next()
	r.giveReturn(last, "after", true)
	u.awaitReturn(last, "after")
	for _, id := range []string{"before", "web0", "web19"} {
		if n := u.returned(jid, id); n != 1 {
			t.Errorf("the return of %s came %d times", id, n)
		}
	}
}

// TestSyndicEndsWhileUpperMasterIsAway has one return acknowledged, one in memory and one that comes while
// no syndic runs.
func TestSyndicEndsWhileUpperMasterIsAway(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	cache, below := newMemoryCache(), &orderer{}
	r.cache, r.order = cache, below.open
	s := r.startKnown()
	p := ping("*", "glob")
	u.publish(p)
	below.ordered(t, p.JID)
	cache.add(t, p.JID, "early", true)
	r.giveReturn(p.JID, "early", true)
	u.awaitReturn(p.JID, "early")
	u.stop()
	cache.add(t, p.JID, "waiting", true)
	r.giveReturn(p.JID, "waiting", true)
	eventually(t, "a return that waits", func() bool {
		return s.Status() == "not connected to "+u.address()+", 1 returns wait"
	})
	s.stop()
	cache.add(t, p.JID, "late", true)
	u.start()
	r.start()
	u.awaitReturn(p.JID, "waiting")
	u.awaitReturn(p.JID, "late")
	for _, id := range []string{"early", "waiting", "late"} {
		if n := u.returned(p.JID, id); n != 1 {
			t.Errorf("the return of %s came %d times", id, n)
		}
	}
}

func TestTwoUpperMasters(t *testing.T) {
	a := startUpper(t)
	b := startUpperOf(t, a.key)
	r := newRig(t, a, b)
	below := &orderer{}
	r.order = below.open
	r.startKnown()
	for _, u := range []*upper{a, b, a, b} {
		p := ping("*", "glob")
		u.publish(p)
		below.ordered(t, p.JID)
		r.giveReturn(p.JID, "web1", true)
		u.awaitReturn(p.JID, "web1")
		if a.returned(p.JID, "web1")+b.returned(p.JID, "web1") != 1 {
			t.Error("a return came to both masters")
		}
	}
	r.fire("my/event", data.NewMap("a", int64(1)))
	for _, u := range []*upper{a, b} {
		eventually(t, "event", func() bool { return len(u.fired("my/event")) == 1 })
	}
}

func TestJobIsNotOrderedTwice(t *testing.T) {
	a := startUpper(t)
	b := startUpperOf(t, a.key)
	r := newRig(t, a, b)
	below := &orderer{}
	r.order = below.open
	s := r.startKnown()
	p, other, next := ping("*", "glob"), ping("*", "glob"), ping("*", "glob")
	a.publish(p)
	below.ordered(t, p.JID)
	b.publish(p)
	b.publish(other)
	below.ordered(t, other.JID) // so the first has come before
	s.stop()
	r.startKnown() // it remembers the job
	eventually(t, "start of the second syndic", func() bool { return len(a.fired("salt/syndic/lower/start")) >= 2 })
	a.publish(p)
	a.publish(next)
	below.ordered(t, next.JID)
	n := 0
	for _, o := range below.orders() {
		if o.JID == string(p.JID) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the job was ordered %d times", n)
	}
}

func TestOnlyReturnsAndMinionsOfJobsInACluster(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	r.set["syndic_mode"], r.set["master_id"] = "cluster", "own"
	r.startKnown()
	own, other := ids.Next(), ids.Next()
	r.fire("my/event", data.NewMap("a", int64(1)))
	r.fire("salt/job/"+string(own)+"/ret/web1", data.NewMap("jid", string(own), "id", "web1", "return", true, "master_id", "own"))
	r.fire("salt/job/"+string(other)+"/ret/web1", data.NewMap("jid", string(other), "id", "web1", "return", true, "master_id", "top"))
	r.fire(string(other), data.NewMap("minions", []any{"web1"}))
	u.awaitReturn(other, "web1")
	eventually(t, "event about the minions", func() bool { return len(u.fired(string(other))) == 1 })
	if u.returned(own, "web1") != 0 || len(u.fired("my/event")) != 0 {
		t.Error("more than returns and minions of jobs went up")
	}
	if e := u.about(other)[0]; e.Value("master_id") != "top" {
		t.Errorf("master_id %v", e.Value("master_id"))
	}
}

// TestKeyWaitsForAcceptance has an upper master that accepts no key by itself.
func TestKeyWaitsForAcceptance(t *testing.T) {
	u := startUpper(t)
	u.stop()
	u.closed = true
	u.start()
	r := newRig(t, u)
	s := r.start()
	eventually(t, "pending key", func() bool {
		ids, err := u.keys.List(pki.Pending)
		return err == nil && len(ids) == 1
	})
	if s.Status() != "not connected to "+u.address() {
		t.Errorf("Status = %q", s.Status())
	}
	must(t, u.keys.Move("lower", pki.Pending, pki.Accepted))
	eventually(t, "start event", func() bool { return len(u.fired("salt/syndic/lower/start")) == 1 })
}

func TestInventoryFollowsTheKeys(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	r.startKnown()
	r.minion("web1")
	eventually(t, "inventory with the minion", func() bool {
		all := u.fired("salt/syndic/lower/minions")
		return data.Repr(all[len(all)-1]) == "{'id': 'lower', 'minions': ['web1'], 'syndics': {}}"
	})
}

// TestUpperMasterThatDoesNotAnswer gets a return after it has become responsive again.
func TestUpperMasterThatDoesNotAnswer(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	r.cfg.RequestChannelTimeout = 500e6
	s := r.startKnown()
	u.setBusy(true)
	jid := ids.Next()
	r.giveReturn(jid, "web1", true)
	eventually(t, "the request fails", func() bool { return s.Status() == "not connected to "+u.address()+", 1 returns wait" })
	u.setBusy(false)
	u.awaitReturn(jid, "web1")
}

// TestQueueIsFull has more returns than fit into memory while the upper master is away: the rest comes
// from the job cache.
func TestQueueIsFull(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	cache := newMemoryCache()
	r.cache = cache
	s := r.startKnown()
	s.LimitQueues(20_000)
	u.stop()
	jid := ids.Next()
	value := strings.Repeat("x", 1000)
	for i := range 50 {
		cache.add(t, jid, fmt.Sprintf("web%d", i), value)
		r.giveReturn(jid, fmt.Sprintf("web%d", i), value)
	}
	other := ids.Next() // small enough to follow the others into the queue
	cache.add(t, other, "last", true)
	r.giveReturn(other, "last", true)
	eventually(t, "a full queue", func() bool {
		var n int
		_, err := fmt.Sscanf(strings.TrimPrefix(s.Status(), "not connected to "+u.address()+", "), "%d returns wait", &n)
		return err == nil && n >= 10 && n < 30
	})
	u.start()
	for i := range 50 {
		u.awaitReturn(jid, fmt.Sprintf("web%d", i))
	}
	u.awaitReturn(other, "last")
	for i := range 50 {
		if n := u.returned(jid, fmt.Sprintf("web%d", i)); n != 1 {
			t.Errorf("the return of web%d came %d times", i, n)
		}
	}
}

func TestTrimmedReturnComesFromTheJobCache(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	cache := newMemoryCache()
	r.cache = cache
	r.startKnown()
	jid := ids.Next()
	cache.add(t, jid, "web1", "whole")
	r.giveReturn(jid, "web1", "VALUE_TRIMMED")
	r.giveReturn(jid, "web2", "VALUE_TRIMMED") // not in the job cache
	for id, want := range map[string]string{"web1": "whole", "web2": "VALUE_TRIMMED"} {
		u.awaitReturn(jid, id)
		for _, e := range u.about(jid) {
			if m, ok := e.Value("return").(*data.Map).Value(id).(*data.Map); ok && m.Value("return") != want {
				t.Errorf("%s: %v", id, m.Value("return"))
			}
		}
	}
}

// TestReturnThatTheMasterCannotHandle does not keep the others from it.
func TestReturnThatTheMasterCannotHandle(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	r.startKnown()
	u.mu.Lock()
	u.bad = "poison"
	u.mu.Unlock()
	jid := ids.Next()
	for _, id := range []string{"poison", "web1", "web2"} {
		r.giveReturn(jid, id, true)
	}
	u.awaitReturn(jid, "web1")
	u.awaitReturn(jid, "web2")
}

func TestMasterRefusesReturns(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	s := r.startKnown()
	u.mu.Lock()
	u.refuse = true
	u.mu.Unlock()
	jid := ids.Next()
	r.giveReturn(jid, "web1", true)
	eventually(t, "a return that waits", func() bool { return s.Status() == "connected to "+u.address()+", 1 returns wait" })
	u.mu.Lock()
	u.refuse = false
	u.mu.Unlock()
	u.awaitReturn(jid, "web1")
}

func TestWrongFingerprintEndsTheSyndic(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	r.set["syndic_finger"] = "'" + strings.Repeat("00:", 31) + "00'"
	s, err := syndic.New(t.Context(), r.master([]any{u.address()}), r.cfg, r.options())
	must(t, err)
	if err := s.Run(t.Context(), func() {}); !errors.Is(err, channel.ErrFingerprint) {
		t.Errorf("Run = %v", err)
	}
}

// TestMasterWithoutSyndics orders a job of a master that takes no returns of syndics: it does not run, and
// the master is told. Once it takes them the next one runs.
func TestMasterWithoutSyndics(t *testing.T) {
	u := startUpper(t)
	u.bar = "order_masters is off"
	r := newRig(t, u)
	below := &orderer{}
	r.order = below.open
	s := r.startKnown()
	eventually(t, "the syndic's knowledge of that", func() bool { return s.Barred() })
	refused := ping("*", "glob")
	u.publish(refused)
	eventually(t, "report", func() bool { return len(u.fired(string(refused.JID))) > 0 })
	if n := len(below.orders()); n != 0 {
		t.Errorf("%d jobs were ordered below", n)
	}
	u.stop()
	u.mu.Lock()
	u.bar = ""
	u.mu.Unlock()
	u.start()
	eventually(t, "the end of that", func() bool { return !s.Barred() })
	taken := ping("*", "glob")
	eventually(t, "order", func() bool {
		u.publish(taken)
		time.Sleep(50 * time.Millisecond)
		return len(below.orders()) > 0
	})
	below.ordered(t, taken.JID)
}

// TestLiftedBarCostsNoJob restarts a master that now takes returns of syndics. Jobs are ordered though the
// master is slow to answer the announcements.
func TestLiftedBarCostsNoJob(t *testing.T) {
	u := startUpper(t)
	u.bar = "order_masters is off"
	r := newRig(t, u)
	below := &orderer{}
	r.order = below.open
	s := r.startKnown()
	eventually(t, "the syndic's knowledge of that", func() bool { return s.Barred() })
	u.stop()
	u.mu.Lock()
	u.bar, u.busy = "", true
	u.mu.Unlock()
	u.start()
	taken := ping("*", "glob")
	eventually(t, "order", func() bool {
		u.publish(taken)
		time.Sleep(50 * time.Millisecond)
		return len(below.orders()) > 0
	})
	below.ordered(t, taken.JID)
	u.setBusy(false)
	last := ping("*", "glob")
	u.publish(last)
	below.ordered(t, last.JID)
	for _, jid := range []job.ID{taken.JID, last.JID} {
		for _, e := range u.fired(string(jid)) {
			if e.Has("problem") {
				t.Errorf("job %s: %s", jid, data.Repr(e))
			}
		}
	}
}

// TestPublicationForOwnMinionsIsIgnored has the same job for the upper master's own minions and for the
// syndics, in this order and the other: only the second goes to the lower master.
func TestPublicationForOwnMinionsIsIgnored(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	below := &orderer{}
	r.order = below.open
	r.startKnown()
	for _, first := range []bool{true, false} {
		p := ping("*", "glob")
		own := *p
		own.Target, own.TargetType, own.Extra = []any{"own1"}, "list", data.NewMap(job.OwnMinions, true)
		if first {
			u.publish(&own)
			u.publish(p)
		} else {
			u.publish(p)
			u.publish(&own)
		}
		below.ordered(t, p.JID)
	}
	last := ping("*", "glob")
	u.publish(last)
	below.ordered(t, last.JID)
	for _, o := range below.orders() {
		if o.Target != "*" {
			t.Errorf("ordered below: %v", o.Target)
		}
	}
	if n := len(below.orders()); n != 3 {
		t.Errorf("%d orders, want 3", n)
	}
}

// TestStepAfterARestart orders a further step of a batch after the syndic has restarted.
func TestStepAfterARestart(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	below := &orderer{}
	r.order = below.open
	s := r.startKnown()
	p := ping([]any{"web1"}, "list")
	u.publish(p)
	below.ordered(t, p.JID)
	s.stop()
	r.start()
	eventually(t, "start of the second syndic", func() bool { return len(u.fired("salt/syndic/lower/start")) >= 2 })
	step, last := *p, ping("*", "glob")
	step.Target = []any{"web2"}
	for _, one := range []*job.Publication{p, &step, last} {
		u.publish(one)
	}
	below.ordered(t, last.JID)
	eventually(t, "the step", func() bool { return len(below.orders()) == 3 })
	var got []string
	for _, o := range below.orders() {
		got = append(got, data.Repr(o.Target))
	}
	slices.Sort(got)
	if want := "['*' ['web1'] ['web2']]"; fmt.Sprint(got) != want {
		t.Errorf("orders %v, want %s", got, want)
	}
}

// TestMasterThatHasForgottenTheSyndic takes returns again once the syndic has announced itself, and the
// announcement comes in its order.
func TestMasterThatHasForgottenTheSyndic(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	r.startKnown()
	u.forget()
	jid := ids.Next()
	r.giveReturn(jid, "web1", true)
	u.awaitReturn(jid, "web1")
	u.mu.Lock()
	defer u.mu.Unlock()
	var tags []string
	for _, e := range u.events {
		if tag, _ := e.Text("tag"); strings.HasPrefix(tag, "salt/syndic/lower/") {
			tags = append(tags, strings.TrimPrefix(tag, "salt/syndic/lower/"))
		}
	}
	if got := fmt.Sprint(tags); !strings.HasPrefix(got, "[start minions") {
		t.Errorf("announcements %s", got)
	}
}

// TestStartEventAfterEachSignIn restarts the upper master.
func TestStartEventAfterEachSignIn(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	r.startKnown()
	u.stop()
	u.forget()
	u.start()
	jid := ids.Next()
	r.giveReturn(jid, "web1", true)
	u.awaitReturn(jid, "web1")
	if len(u.fired("salt/syndic/lower/start")) == 0 {
		t.Error("no start event")
	}
}

// TestInventoryGoesFirst accepts minions below: the upper master gets to know each before its start event
// and its first return.
func TestInventoryGoesFirst(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	r.startKnown()
	for _, id := range []string{"web1", "web2"} { // fewer than looksPerSecond
		r.minion(id)
		eventually(t, "start event", func() bool { return len(u.fired("salt/minion/"+id+"/start")) == 1 })
		key := "key-" + id // no minion runs with it
		must(t, os.WriteFile(filepath.Join(r.lower.Config.PKIDir, "minions", key), []byte("key"), 0o600))
		jid := ids.Next()
		r.giveReturn(jid, key, true)
		u.awaitReturn(jid, key)
		u.mu.Lock()
		order := slices.Clone(u.order)
		u.order = nil
		u.mu.Unlock()
		for what, minion := range map[string]string{"salt/minion/" + id + "/start": id, "returns": key} {
			at := slices.Index(order, what)
			known := slices.IndexFunc(order, func(s string) bool { return strings.Contains(s, "'"+minion+"'") })
			if known < 0 || at < known {
				t.Errorf("%s came before the inventory with %s: %q", what, minion, order)
			}
		}
	}
}

// TestEventThatTheMasterCannotHandle fires an event that keeps a request from being answered: returns pass
// it, the other events arrive once, and it is dropped after a few attempts.
func TestEventThatTheMasterCannotHandle(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	r.cfg.RequestChannelTimeout = 300 * time.Millisecond
	u.poison = "poison"
	r.startKnown()
	bus := r.lower.Listen(t, "none")
	for i := range 20 {
		tag := fmt.Sprintf("my/event%d", i)
		if i == 7 {
			tag = "my/poison"
		}
		must(t, bus.Fire(t.Context(), tag, data.NewMap("a", int64(i))))
	}
	jid := ids.Next()
	r.giveReturn(jid, "web1", true)
	u.awaitReturn(jid, "web1")
	eventually(t, "the last event", func() bool { return len(u.fired("my/event19")) > 0 })
	for i := range 20 {
		if n := len(u.fired(fmt.Sprintf("my/event%d", i))); n != 1 && i != 7 {
			t.Errorf("event %d came %d times", i, n)
		}
	}
	u.mu.Lock()
	n := u.poisoned
	u.mu.Unlock()
	r.fire("my/after", data.NewMap())
	eventually(t, "an event after that", func() bool { return len(u.fired("my/after")) == 1 })
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.poisoned != n || n > 12 {
		t.Errorf("%d and then %d requests with the event", n, u.poisoned)
	}
}

// TestReturnWaitsForTheMasterThatOrdered restarts that master while another one is connected.
func TestReturnWaitsForTheMasterThatOrdered(t *testing.T) {
	a := startUpper(t)
	b := startUpperOf(t, a.key)
	r := newRig(t, a, b)
	below := &orderer{}
	r.order = below.open
	s := r.startKnown()
	p := ping("*", "glob")
	a.publish(p)
	below.ordered(t, p.JID)
	a.stop()
	eventually(t, "loss of the connection", func() bool { return strings.Contains(s.Status(), "not connected") })
	own := ids.Next()
	r.giveReturn(p.JID, "web1", true)
	r.giveReturn(own, "web1", true)
	b.awaitReturn(own, "web1")
	a.start()
	a.awaitReturn(p.JID, "web1")
	if b.returned(p.JID, "web1") != 0 {
		t.Error("the return went to the other master")
	}
}

// TestTrimmedReturnThatTheJobCacheGetsLater is whole above.
func TestTrimmedReturnThatTheJobCacheGetsLater(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	cache := newMemoryCache()
	r.cache = cache
	r.startKnown()
	jid, after := ids.Next(), ids.Next()
	r.giveReturn(jid, "web1", "VALUE_TRIMMED")
	r.giveReturn(after, "web1", true)
	u.awaitReturn(after, "web1") // the trimmed one was seen before
	cache.add(t, jid, "web1", "whole")
	u.awaitReturn(jid, "web1")
	for _, e := range u.about(jid) {
		if m := e.Value("return").(*data.Map).Value("web1").(*data.Map); m.Value("return") != "whole" {
			t.Errorf("return %v", m.Value("return"))
		}
	}
}

// TestFullQueueOfOneMaster does not keep the returns of another one in the job cache.
func TestFullQueueOfOneMaster(t *testing.T) {
	a := startUpper(t)
	b := startUpperOf(t, a.key)
	r := newRig(t, a, b)
	cache, below := newMemoryCache(), &orderer{}
	r.cache, r.order = cache, below.open
	s := r.startKnown()
	jobs := map[*upper][]job.ID{}
	for range 5 {
		for _, u := range r.uppers {
			p := ping("*", "glob")
			u.publish(p)
			below.ordered(t, p.JID)
			jobs[u] = append(jobs[u], p.JID)
		}
	}
	s.stop()
	for _, list := range jobs {
		for _, jid := range list {
			cache.add(t, jid, "web1", strings.Repeat("x", 5000))
		}
	}
	a.stop()
	s = r.startWith(func(s *syndic.Syndic) { s.LimitQueues(8000) })
	for _, jid := range jobs[b] {
		b.awaitReturn(jid, "web1")
	}
	a.start()
	for _, jid := range jobs[a] {
		a.awaitReturn(jid, "web1")
	}
}

// TestLateReturnOfAJobWithSteps has a job whose minions have all returned, and a further step whose
// return comes while no syndic runs.
func TestLateReturnOfAJobWithSteps(t *testing.T) {
	u := startUpper(t)
	r := newRig(t, u)
	cache, below := newMemoryCache(), &orderer{}
	r.cache, r.order = cache, below.open
	s := r.startKnown()
	p := ping([]any{"web1"}, "list")
	u.publish(p)
	below.ordered(t, p.JID)
	cache.add(t, p.JID, "web1", true)
	r.giveReturn(p.JID, "web1", true)
	u.awaitReturn(p.JID, "web1")
	s.stop()
	s = r.start() // reads the job cache: nothing is left
	eventually(t, "start of the second syndic", func() bool { return len(u.fired("salt/syndic/lower/start")) >= 2 })
	step := *p
	step.Target = []any{"web2"}
	u.publish(&step)
	eventually(t, "the step", func() bool { return len(below.orders()) == 2 })
	s.stop()
	cache.add(t, p.JID, "web2", true)
	r.start()
	u.awaitReturn(p.JID, "web2")
	if n := u.returned(p.JID, "web1"); n != 1 {
		t.Errorf("the first return came %d times", n)
	}
}
