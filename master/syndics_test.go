package master

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	lower "github.com/brineproject/brine/master/syndics"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/transport"
)

// tierBench is a master with order_masters whose minion low is a syndic.
type tierBench struct {
	*bench
	events *eventbus.Subscription
}

func newTierBench(t *testing.T, change func(*config.Master), accepted ...string) *tierBench {
	t.Helper()
	b := newBench(t, func(c *config.Master) {
		c.OrderMasters, c.SyndicWait = true, 5*time.Second
		if change != nil {
			change(c)
		}
	}, append([]string{"low"}, accepted...)...)
	b.wire.connect("low")
	b.parts.presence.Note("low", "127.0.0.1")
	tb := &tierBench{bench: b, events: b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})}
	t.Cleanup(func() { tb.events.Close() })
	return tb
}

// start announces the syndic low, with the minions behind it.
func (b *tierBench) start(t *testing.T, id string, minions ...any) {
	t.Helper()
	b.send(t, "_minion_event", id, data.NewMap("tag", startTag(id), "data", "started", "pretag", nil))
	b.passOn(t, id, inventoryTag(id), data.NewMap("id", id, "minions", minions))
}

// passOn sends an event as the syndic.
func (b *tierBench) passOn(t *testing.T, id, tag string, body *data.Map) {
	t.Helper()
	b.send(t, "_minion_event", id, data.NewMap("pretag", "syndic/"+id,
		"events", []any{data.NewMap("tag", tag, "data", body)}))
}

// returns sends the returns of minions for a job as the syndic.
func (b *tierBench) returns(t *testing.T, syndic string, jid job.ID, load *data.Map, minions ...string) {
	t.Helper()
	values := data.NewMap()
	for _, id := range minions {
		values.Set(id, data.NewMap("return", "pong", "retcode", int64(0), "success", true))
	}
	b.send(t, "_syndic_return", syndic, data.NewMap("load", []any{data.NewMap("id", syndic,
		"jid", string(jid), "fun", "test.ping", "arg", nil, "tgt", nil, "tgt_type", nil, "load", load,
		"return", values)}))
}

// fired returns the tags of all events so far that do not begin with the tag of another test.
func (b *tierBench) fired(t *testing.T) (tags []string) {
	t.Helper()
	must(t, b.bus.Fire("end", data.NewMap()))
	for {
		e, err := b.events.Next(t.Context())
		must(t, err)
		if e.Tag == "end" {
			return tags
		}
		tags = append(tags, e.Tag)
	}
}

// stored returns the minions with a return for a job.
func (b *tierBench) stored(t *testing.T, jid job.ID) (ids []string) {
	t.Helper()
	list, err := b.jobs.Returns(t.Context(), jid)
	must(t, err)
	for _, r := range list {
		ids = append(ids, r.Minion)
	}
	slices.Sort(ids)
	return ids
}

func (b *tierBench) same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func fresh() job.ID { return job.NewID(time.Now().UTC()) }

// TestJobReachesMinionsBehindASyndic orders a job: its minions are those behind the syndic, not the
// syndic itself, which runs no jobs. Their returns are stored and announced as those of others.
func TestJobReachesMinionsBehindASyndic(t *testing.T) {
	b := newTierBench(t, nil, "own")
	b.start(t, "low", "leaf1", "leaf2")
	jid := fresh()
	load := b.load("*", "glob", "test.ping", []any{})
	load.Set("jid", string(jid))
	reply, _ := b.clear(t, load).(*data.Map).Value("load").(*data.Map)
	b.same(t, "expected", data.TextsOf(reply.Value("minions")), []string{"leaf1", "leaf2", "own"})
	if reply.Has("syndics") || reply.Has("syndics_away") {
		t.Errorf("the client waits for a syndic whose minions are known: %v", reply)
	}
	b.fired(t)
	b.returns(t, "low", jid, nil, "leaf1", "leaf2")
	b.same(t, "returns", b.stored(t, jid), []string{"leaf1", "leaf2"})
	b.same(t, "events", slices.Sorted(slices.Values(b.fired(t))), []string{"salt/job/" + string(jid) + "/ret/leaf1",
		"salt/job/" + string(jid) + "/ret/leaf2"})
	b.returns(t, "low", jid, nil, "leaf1")
	b.same(t, "events of a repetition", b.fired(t), nil)
}

// TestSyndicOfSaltNamesItsMinionsInEvents knows the minions of a job from the events that a syndic of
// Salt passes on.
func TestSyndicOfSaltNamesItsMinionsInEvents(t *testing.T) {
	b := newTierBench(t, nil)
	b.send(t, "_minion_event", "low", data.NewMap("tag", startTag("low"), "data", "started"))
	jid := fresh()
	load := b.load("*", "glob", "test.ping", []any{})
	load.Set("jid", string(jid))
	reply, _ := b.clear(t, load).(*data.Map).Value("load").(*data.Map)
	b.same(t, "syndics that still name minions", data.TextsOf(reply.Value("syndics")), []string{"low"})
	b.returns(t, "low", jid, nil, "leaf1") // it has not named it
	b.same(t, "returns before", b.stored(t, jid), nil)
	b.fired(t)
	b.passOn(t, "low", string(jid), data.NewMap("minions", []any{"leaf1"}))
	b.same(t, "events", b.fired(t), []string{"syndic/low/" + string(jid)})
	b.returns(t, "low", jid, nil, "leaf1")
	b.same(t, "returns", b.stored(t, jid), []string{"leaf1"})
	known, err := b.jobs.Job(t.Context(), jid)
	must(t, err)
	b.same(t, "minions of the job", known.Minions, []string{"leaf1"})
}

// TestSyndicSpeaksForItsMinionsOnly sends returns and events of other minions.
func TestSyndicSpeaksForItsMinionsOnly(t *testing.T) {
	b := newTierBench(t, nil, "own", "second", "plain")
	b.start(t, "low", "leaf1", "own")
	b.start(t, "second", "leaf1", "leaf2")
	jid := fresh()
	b.publish(t, "*", "glob", jid)
	b.fired(t)
	b.returns(t, "low", jid, nil, "own", "leaf2", "nobody", "../x")
	b.returns(t, "second", jid, nil, "leaf1")
	b.returns(t, "plain", jid, nil, "leaf1", "plain")
	b.same(t, "returns", b.stored(t, jid), nil)
	b.same(t, "events", b.fired(t), nil)
	for _, tag := range []string{"salt/minion/own/start", "salt/beacon/leaf2/disk/", "salt/key", "salt/auth",
		"salt/run/" + string(jid) + "/new", "salt/job/" + string(jid) + "/ret/leaf1",
		"salt/job/" + string(jid) + "/new", string(jid), "minion/refresh/own", "salt/presence/change"} {
		b.passOn(t, "low", tag, data.NewMap("id", "leaf1", "act", "accept"))
		b.same(t, tag, b.fired(t), []string{"syndic/low/" + tag})
	}
	for _, tag := range []string{"salt/minion/leaf1/start", "salt/beacon/leaf1/disk/", "deploy/done",
		"salt/job/" + string(jid) + "/ack/leaf1"} {
		b.passOn(t, "low", tag, data.NewMap("id", "leaf1"))
		b.same(t, tag, b.fired(t), []string{"syndic/low/" + tag, tag})
	}
	b.passOn(t, "low", "deploy/done", data.NewMap("id", "own"))
	b.same(t, "an event in the name of a minion of this master", b.fired(t), []string{"syndic/low/deploy/done"})
}

// TestSyndicChangesNoJobOfThisMaster sends the record of a job that this master has ordered for one
// minion.
func TestSyndicChangesNoJobOfThisMaster(t *testing.T) {
	b := newTierBench(t, nil, "own")
	b.start(t, "low", "leaf1", "leaf2")
	jid := fresh()
	b.publish(t, []any{"own", "leaf1"}, "list", jid)
	before, err := b.jobs.Job(t.Context(), jid)
	must(t, err)
	b.returns(t, "low", jid, data.NewMap("fun", "cmd.run", "tgt", "*", "Minions", []any{"leaf2"}), "leaf1", "leaf2")
	b.passOn(t, "low", "salt/job/"+string(jid)+"/new", data.NewMap("jid", string(jid), "minions", []any{"leaf2"}))
	after, err := b.jobs.Job(t.Context(), jid)
	must(t, err)
	if string(after.Load) != string(before.Load) || !slices.Equal(after.Minions, before.Minions) {
		t.Errorf("job was %q for %q and is %q for %q", before.Load, before.Minions, after.Load, after.Minions)
	}
	b.same(t, "returns", b.stored(t, jid), []string{"leaf1"})
}

// TestJobOfALowerMasterIsRecorded sends returns of a job that the lower master has ordered.
func TestJobOfALowerMasterIsRecorded(t *testing.T) {
	b := newTierBench(t, nil)
	b.start(t, "low", "leaf1", "leaf2")
	jid := fresh()
	load := data.NewMap("jid", string(jid), "fun", "test.ping", "tgt", "leaf*", "tgt_type", "glob", "user", "ann",
		"Minions", []any{"leaf1", "leaf2"})
	b.returns(t, "low", jid, load, "leaf1")
	b.returns(t, "low", jid, nil, "leaf2")
	known, err := b.jobs.Job(t.Context(), jid)
	must(t, err)
	fields, err := payload.ParseFields(known.Load, payload.WireLimits())
	must(t, err)
	if user, _ := fields.Text("user"); user != "ann" || fields.Has("Minions") {
		t.Errorf("record %v", fields.Value("user"))
	}
	b.same(t, "minions", known.Minions, []string{"leaf1", "leaf2"})
	b.same(t, "returns", b.stored(t, jid), []string{"leaf1", "leaf2"})
	old := job.NewID(time.Now().Add(-40 * 24 * time.Hour).UTC())
	b.returns(t, "low", old, load, "leaf1")
	if _, err := b.jobs.Job(t.Context(), old); err == nil {
		t.Error("a job from before the time for which jobs are kept is recorded")
	}
}

// TestOnlyNamedSyndics sets the option syndics.
func TestOnlyNamedSyndics(t *testing.T) {
	b := newTierBench(t, func(c *config.Master) { c.Syndics = []string{"site-*"} }, "site-a", "site-b")
	b.start(t, "low", "leaf1")
	b.start(t, "site-a", "leaf2")
	b.start(t, "site-b", "leaf2")
	jid := fresh()
	b.publish(t, "*", "glob", jid)
	b.returns(t, "low", jid, nil, "leaf1")
	b.returns(t, "site-b", jid, nil, "leaf2")
	b.same(t, "returns", b.stored(t, jid), []string{"leaf2"})
}

// TestRefusedSyndicIsExplained orders a job with a syndic that may not act: nothing of its minions is taken,
// it is told so, and clients that wait for the job learn why.
func TestRefusedSyndicIsExplained(t *testing.T) {
	off := func(c *config.Master) { c.OrderMasters = false }
	others := func(c *config.Master) { c.Syndics = []string{"site-*"} }
	for name, change := range map[string]func(*config.Master){
		"order_masters is off on this master, so that it has no syndics": off,
		"the option syndics does not name it":                            others,
	} {
		b := newTierBench(t, change)
		reply, _ := b.send(t, "_minion_event", "low", data.NewMap("pretag", nil, "events", []any{data.NewMap(
			"tag", inventoryTag("low"), "data", data.NewMap("id", "low", "minions", []any{"leaf1"}))})).(*data.Map)
		if got := reply.Text(job.Refused); got != name {
			t.Errorf("the reply to the inventory is %q, want %q", got, name)
		}
		jid, other := fresh(), fresh()
		b.publish(t, "low", "list", jid)
		b.fired(t)
		b.passOn(t, "low", string(other), data.NewMap("minions", []any{"leaf1"}))
		b.same(t, "events about a job of the lower master", b.fired(t), nil)
		b.passOn(t, "low", string(jid), data.NewMap("minions", []any{}, "problem", "refused"))
		must(t, b.bus.Fire("end", data.NewMap()))
		e, err := b.events.Next(t.Context())
		must(t, err)
		body, err := payload.UnmarshalText(e.Data, payload.WireLimits())
		must(t, err)
		m, _ := body.(*data.Map)
		if want := "This master takes nothing from minions behind this syndic: " + name + "."; e.Tag !=
			"salt/job/"+string(jid)+"/missed/low" || m.Text("reason") != want || m.Value("syndic") != true {
			t.Errorf("%s: event %s %v, want the reason %q", name, e.Tag, m, want)
		}
		b.fired(t)
	}
}

// TestAwaySyndicIsTold orders a job while a syndic is not connected.
func TestAwaySyndicIsTold(t *testing.T) {
	b := newTierBench(t, nil, "far")
	b.start(t, "low", "leaf1")
	b.start(t, "far", "leaf2", "leaf3")
	reply, _ := b.clear(t, b.load("leaf*", "glob", "test.ping", []any{})).(*data.Map).Value("load").(*data.Map)
	b.same(t, "expected", data.TextsOf(reply.Value("minions")), []string{"leaf1", "leaf2", "leaf3"})
	b.same(t, "absent", data.TextsOf(reply.Value("absent")), []string{"leaf2", "leaf3"})
	away, _ := reply.Value("syndics_away").(*data.Map)
	b.same(t, "behind far", data.TextsOf(away.Value("far")), []string{"leaf2", "leaf3"})
}

// TestAwaySyndicOfACluster orders jobs while one of two syndics with the same minions is not connected.
func TestAwaySyndicOfACluster(t *testing.T) {
	b := newTierBench(t, func(c *config.Master) { c.Syndics = []string{"low", "far"} }, "far")
	b.start(t, "low", "leaf1", "leaf2")
	b.start(t, "far", "leaf1", "leaf2", "leaf3")
	order := func(tgt, kind string) *data.Map {
		reply, _ := b.clear(t, b.load(tgt, kind, "test.ping", []any{})).(*data.Map).Value("load").(*data.Map)
		return reply
	}
	reply := order("leaf*", "glob")
	b.same(t, "expected", data.TextsOf(reply.Value("minions")), []string{"leaf1", "leaf2", "leaf3"})
	b.same(t, "absent", data.TextsOf(reply.Value("absent")), []string{"leaf3"})
	away, _ := reply.Value("syndics_away").(*data.Map)
	b.same(t, "behind far", data.TextsOf(away.Value("far")), []string{"leaf3"})
	if reply := order("E@leaf.*", "compound"); !reply.Has("syndics_away") {
		t.Errorf("a target that may name a minion behind far alone: %s", data.Repr(reply))
	}
	reply = order("leaf[12]", "glob")
	if reply.Has("syndics_away") || len(data.TextsOf(reply.Value("absent"))) > 0 {
		t.Errorf("a target of minions behind low: %s", data.Repr(reply))
	}
	b.passOn(t, "far", inventoryTag("far"), data.NewMap("id", "far", "minions", []any{"leaf1", "leaf2"}))
	if reply := order("E@leaf.*", "compound"); reply.Has("syndics_away") {
		t.Errorf("all minions are behind low too: %s", data.Repr(reply))
	}
}

// TestMinionWithTheIDOfASyndic connects a minion that has the id of a syndic, which is not connected.
func TestMinionWithTheIDOfASyndic(t *testing.T) {
	b := newTierBench(t, nil)
	b.start(t, "low", "leaf1")
	topics := []string{channel.Topic("low"), channel.TopicSyndic, ""}
	link := transport.NewPeerReport(b.wire.watch, transport.Peer{Addr: b.wire.Addr(), Topics: topics})
	if away := b.parts.syndics.away(); len(away) > 0 {
		t.Errorf("away: %q", away)
	}
	link.End()
	b.same(t, "away", b.parts.syndics.away(), []string{"low"})
}

// TestRightsGoToLowerMasters publishes for a user who may ping the minions of one target: this
// master's minions get a list of those, and syndics the target itself with the user's rights.
func TestRightsGoToLowerMasters(t *testing.T) {
	b := newTierBench(t, nil, "web1", "db1")
	b.start(t, "low", "leaf1")
	p := newPublishing(b.parts)
	rights := []any{data.NewMap("web*", []any{"test.ping"})}
	load := b.load("*", "glob", "test.ping", []any{})
	load.Set("jid", string(fresh()))
	_, err := p.sendTo(t.Context(), load, nil, recipients{ids: []string{"web1"}, rights: rights})
	must(t, err)
	sent := b.wire.messages()
	if len(sent) != 2 || !slices.Equal(sent[0].Topics, []string{channel.TopicSyndic}) ||
		!slices.Equal(sent[0].IDs, []string{"low"}) {
		t.Fatalf("messages %v", sent)
	}
	below, own := b.opened(t, sent[0]), b.opened(t, sent[1])
	if below.Target != "*" || !data.Equal(below.AuthList, rights) || below.Extra.Has(job.OwnMinions) {
		t.Errorf("syndics get %v", below.Map())
	}
	if !data.Equal(own.Target, []any{"web1"}) || own.Extra.Value(job.OwnMinions) != true {
		t.Errorf("minions get %v", own.Map())
	}
	who := auth.FromRights("fred", rights)
	if !data.Equal(who.AuthList(), rights) {
		t.Errorf("rights %v became %v", rights, who.AuthList())
	}
	if list := auth.FromRights("none", nil).AuthList(); len(list) != 1 {
		t.Errorf("no rights became %v, which may mean all", list)
	}
}

// opened returns the publication in a message.
func (b *tierBench) opened(t *testing.T, m transport.Message) *job.Publication {
	t.Helper()
	envelope, err := payload.ParseEnvelope(m.Body, payload.WireLimits())
	must(t, err)
	blob, _ := envelope.Blob()
	plain, err := b.parts.secrets.Shared().Open(blob, "")
	must(t, err)
	v, err := payload.UnmarshalText(plain, payload.WireLimits())
	must(t, err)
	pub, err := job.ParsePublication(v.(*data.Map))
	must(t, err)
	return pub
}

// TestListsThatTheBusHasReplaced sends an event whose list of minions was too long for the lower bus.
func TestListsThatTheBusHasReplaced(t *testing.T) {
	b := newTierBench(t, nil)
	b.start(t, "low", "leaf1")
	jid := fresh()
	b.publish(t, "*", "glob", jid)
	b.passOn(t, "low", string(jid), data.NewMap("minions", "VALUE_TRIMMED"))
	b.passOn(t, "low", inventoryTag("low"), data.NewMap("id", "low", "minions", "VALUE_TRIMMED"))
	b.same(t, "behind low", b.parts.syndics.Behind("low"), []string{"leaf1"})
}

// TestForgottenSyndicIsKnownByItsInventory loses the registry of a master.
func TestForgottenSyndicIsKnownByItsInventory(t *testing.T) {
	b := newTierBench(t, nil)
	b.passOn(t, "low", inventoryTag("low"), data.NewMap("id", "low", "minions", []any{"leaf1"}))
	jid := fresh()
	b.publish(t, "*", "glob", jid)
	b.returns(t, "low", jid, nil, "leaf1")
	b.same(t, "returns", b.stored(t, jid), []string{"leaf1"})
}

// TestForgottenSyndicOfSaltIsKnownByItsEvents deletes and accepts the key of a syndic that does not say again
// that it has started.
func TestForgottenSyndicOfSaltIsKnownByItsEvents(t *testing.T) {
	b := newTierBench(t, nil)
	b.start(t, "low", "leaf1")
	must(t, b.parts.syndics.Prune(func(string) bool { return false }))
	jid := fresh()
	b.publish(t, "*", "glob", jid)
	b.returns(t, "low", jid, nil, "leaf1")
	b.same(t, "returns before", b.stored(t, jid), nil)
	b.passOn(t, "low", string(jid), data.NewMap("minions", []any{"leaf1"}))
	b.returns(t, "low", jid, nil, "leaf1")
	b.same(t, "returns", b.stored(t, jid), []string{"leaf1"})
}

// TestJobsOfLowerMastersAreBounded sends more jobs than a minion may have that nobody ordered.
func TestJobsOfLowerMastersAreBounded(t *testing.T) {
	b := newTierBench(t, nil)
	b.start(t, "low", "leaf1")
	for range ownJobs + 10 {
		jid := b.parts.ids.Next()
		b.returns(t, "low", jid, data.NewMap("fun", "test.ping", "tgt", "*"), "leaf1")
	}
	if n := len(b.jobs.all()); n > ownJobs {
		t.Errorf("%d jobs are recorded", n)
	}
}

// TestTargetThatCannotBeParsed orders a job with a compound target of wrong form.
func TestTargetThatCannotBeParsed(t *testing.T) {
	b := newTierBench(t, nil)
	reply, _ := b.clear(t, b.load("web1 and (", "compound", "test.ping", []any{})).(*data.Map).Value("load").(*data.Map)
	if reply.Text("error") == "" || len(b.wire.messages()) > 0 {
		t.Errorf("reply %v", reply)
	}
}

// TestBatchStepsOfAnUpperMaster orders further steps of a batch under one id, as a syndic does.
func TestBatchStepsOfAnUpperMaster(t *testing.T) {
	b := newBench(t, nil, "web1", "db1")
	jid := fresh()
	order := func(tgt, fun string, kwargs *data.Map) *data.Map {
		load := b.load([]any{tgt}, "list", fun, []any{})
		load.Set("jid", string(jid))
		load.Set("kwargs", kwargs)
		reply, _ := b.clear(t, load).(*data.Map).Value("load").(*data.Map)
		return reply
	}
	above := data.NewMap("auth_list", []any{})
	if r := order("web1", "test.ping", above); r.Text("jid") != string(jid) {
		t.Fatalf("first step: %v", r)
	}
	if r := order("db1", "test.ping", above); r.Text("jid") != string(jid) {
		t.Errorf("second step: %v", r)
	}
	for name, r := range map[string]*data.Map{
		"another function": order("db1", "cmd.run", above),
		"no syndic":        order("db1", "test.ping", data.NewMap()),
		"the first again":  order("web1", "test.ping", above),
	} {
		if !strings.Contains(r.Text("error"), "jid") {
			t.Errorf("%s: %v", name, r)
		}
	}
}

// TestDeletedKeyEndsASyndic deletes the key of a syndic.
func TestDeletedKeyEndsASyndic(t *testing.T) {
	b := newTierBench(t, nil)
	b.start(t, "low", "leaf1")
	must(t, b.keys.Delete(pki.Accepted, "low"))
	must(t, b.parts.syndics.keep(context.Background()))
	if b.parts.syndics.Is("low") || b.parts.syndics.behind("leaf1") {
		t.Error("a syndic without a key is still one")
	}
}

// BenchmarkTier resolves the target of a job for the minions behind a syndic.
func BenchmarkTier(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			m := newBench(b, func(c *config.Master) { c.OrderMasters = true }, "low")
			ids := make([]string, n)
			for i := range ids {
				ids[i] = fmt.Sprintf("leaf%06d", i)
			}
			m.wire.connect("low")
			m.parts.syndics.announce("low")
			m.parts.syndics.take("low", lower.Inventory{Minions: ids})
			for b.Loop() {
				if t := m.parts.syndics.tier("*", "glob", ""); len(t.below) != n {
					b.Fatalf("%d minions", len(t.below))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/minion")
		})
	}
}

// BenchmarkSyndicReturn stores the returns of many minions that a syndic sends in one request.
func BenchmarkSyndicReturn(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			m := newBench(b, func(c *config.Master) { c.OrderMasters = true }, "low")
			ids := make([]any, n)
			values := data.NewMap()
			for i := range ids {
				ids[i] = fmt.Sprintf("leaf%05d", i)
				values.Set(ids[i], data.NewMap("return", "pong", "retcode", int64(0), "success", true))
			}
			m.parts.syndics.announce("low")
			m.parts.syndics.take("low", lower.Inventory{Minions: data.TextsOf(ids)})
			for b.Loop() {
				jid := m.parts.ids.Next()
				must(b, m.jobs.SaveJob(b.Context(), &returners.Job{ID: jid, Minions: data.TextsOf(ids)}))
				load, err := payload.Marshal(data.NewMap("load", []any{data.NewMap("id", "low", "jid", string(jid),
					"load", nil, "return", values)}))
				must(b, err)
				fields, err := payload.ParseFields(load, payload.WireLimits())
				must(b, err)
				_, err = m.requests.Encrypted(b.Context(), &channel.Command{Name: "_syndic_return", Load: fields,
					Version: 3, Caller: channel.Caller{ID: "low", Proved: true}})
				must(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/return")
		})
	}
}
