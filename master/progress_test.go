package master

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/jobstore"
)

// follow is a bench whose jobs lie in a file.
func follow(t *testing.T, accepted ...string) (*bench, *jobstore.Store) {
	t.Helper()
	store, err := jobstore.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), jobstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, nil, accepted...)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	pub := newPublishing(b.parts)
	pub.jobs = store
	pub.progress = newProgress(store, pub.offline, time.Now)
	b.parts.jobs = store
	b.Master.requests = newRequests(b.parts, pub)
	b.server = channel.NewServer(b.parts.key, b.parts.keys, b.parts.secrets, b.signIn, b.requests,
		channel.ServerOptions{Admission: admission(config.DefaultMaster()), Log: silent(t)})
	return b, store
}

// stateOf returns how far a job has come on a minion.
func stateOf(t *testing.T, r returners.ProgressReader, id job.ID, minion string) returners.State {
	t.Helper()
	list, err := r.Progress(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Minion == minion {
			return p.State
		}
	}
	return ""
}

// TestProgressFromMessages sends the messages of minions about a job, and checks its progress.
func TestProgressFromMessages(t *testing.T) {
	b, store := follow(t, "db1", "web1")
	jid := job.NewID(time.Now())
	b.publish(t, "*", "glob", jid)
	wants := func(minion string, state returners.State) {
		t.Helper()
		if got := stateOf(t, store, jid, minion); got != state {
			t.Errorf("%s is %q, want %q", minion, got, state)
		}
	}
	event := func(minion, tag string) {
		t.Helper()
		b.send(t, "_minion_event", minion, data.NewMap("cmd", "_minion_event", "id", minion, "events",
			[]any{data.NewMap("tag", tag, "data", data.NewMap("id", minion))}))
	}
	wants("web1", returners.Absent)
	event("db1", "salt/job/"+string(jid)+"/ack/web1") // in another's name
	wants("web1", returners.Absent)
	event("web1", "salt/job/"+string(jid)+"/ack/web1")
	wants("web1", returners.Acknowledged)
	asked := job.NewID(time.Now().Add(time.Second))
	question := func(id job.ID) {
		t.Helper()
		load, err := payload.MarshalBin(data.NewMap("fun", "saltutil.find_job",
			"arg", []any{string(jid)}, "tgt_type", "list", "tgt", []any{"db1", "web1"}))
		if err != nil {
			t.Fatal(err)
		}
		if err := store.SaveJob(t.Context(),
			&returners.Job{ID: id, Load: load, Minions: []string{"db1", "web1"},
				Started: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(id job.ID, minion string, value any, code int64) {
		t.Helper()
		ret := returnOf(minion, id, value)
		ret.Set("fun", "saltutil.find_job")
		ret.Set("retcode", code)
		b.send(t, "_return", minion, ret)
	}
	question(asked)
	answer(asked, "web1", data.NewMap("jid", string(jid), "fun", "test.sleep"), 0)
	answer(asked, "db1", "an error", 1)
	wants("web1", returners.Running)
	wants("db1", returners.Absent)
	asked = job.NewID(time.Now().Add(2 * time.Second))
	question(asked)
	answer(asked, "db1", data.NewMap(), 0)
	answer(asked, "web1", data.NewMap(), 0)
	wants("db1", returners.Absent) // it had no connection, and has said nothing else since
	wants("web1", returners.Gone)
	event("db1", "salt/job/"+string(jid)+"/prog/db1/0")
	wants("db1", returners.Running)
	b.send(t, "_return", "web1", returnOf("web1", jid, true))
	wants("web1", returners.Returned)
	event("web1", "salt/job/"+string(jid)+"/ack/web1")
	wants("web1", returners.Returned)
}

// TestStatesOfOthersJobsAreNotKept acknowledges a job that a minion was not given.
func TestStatesOfOthersJobsAreNotKept(t *testing.T) {
	b, store := follow(t, "db1", "web1")
	jid := job.NewID(time.Now())
	b.publish(t, "web1", "glob", jid)
	b.send(t, "_minion_event", "db1", data.NewMap("cmd", "_minion_event", "id", "db1", "tag",
		"salt/job/"+string(jid)+"/ack/db1", "data", data.NewMap("id", "db1")))
	if got := stateOf(t, store, jid, "db1"); got != "" {
		t.Errorf("db1 is %q in a job that it was not given", got)
	}
}

// TestMastersSayThatTheyWantToKnow asks as our minions and as Salt's do.
func TestMastersSayThatTheyWantToKnow(t *testing.T) {
	b := newBench(t, nil, "web1")
	for _, tt := range []struct {
		asks, wants, told bool
	}{{true, true, true}, {true, false, false}, {false, true, false}} {
		cfg := *b.parts.settings.config()
		cfg.JobAcks = tt.wants
		b.parts.settings.set(&cfg)
		load := data.NewMap("cmd", "_master_opts", "id", "web1", "env_only", true)
		if tt.asks {
			load.Set(acksField, true)
		}
		reply, _ := b.send(t, "_master_opts", "web1", load).(*data.Map)
		if told := reply.Value(acksField) == true; told != tt.told ||
			reply.Has(acksField) != tt.told || !reply.Has("file_roots") {
			t.Errorf("asks %v, wants %v: %s", tt.asks, tt.wants, data.Repr(reply))
		}
	}
}

func TestHasEntries(t *testing.T) {
	big := data.NewMap()
	for i := range int64(70000) {
		big.Set(i, i)
	}
	for _, tt := range []struct {
		value          any
		entries, isMap bool
	}{
		{data.NewMap(), false, true}, {data.NewMap("a", nil), true, true}, {big, true, true},
		{"text", false, false}, {[]any{}, false, false}, {nil, false, false}, {data.Raw{0xde, 0, 0},
			false, true}, {data.Raw{0xdf, 0, 0, 0, 1, 0xc0, 0xc0}, true, true},
	} {
		raw, ok := tt.value.(data.Raw)
		if !ok {
			var err error
			if raw, err = payload.Marshal(tt.value); err != nil {
				t.Fatal(err)
			}
		}
		if entries, isMap := payload.HasEntries(raw); entries != tt.entries || isMap != tt.isMap {
			t.Errorf("payload.HasEntries(%.8x) = %v, %v", []byte(raw), entries, isMap)
		}
	}
	if _, isMap := payload.HasEntries(nil); isMap {
		t.Error("nothing is a map")
	}
}

// TestQueuedJobsAreForSureMinions asks to queue a job for a target of grains: minions of which
// nothing is known could run what they are not meant to.
func TestQueuedJobsAreForSureMinions(t *testing.T) {
	b := newBench(t, nil, "db1", "web1")
	if err := b.parts.data.save("web1", data.NewMap("role", "web"), data.NewMap()); err != nil {
		t.Fatal(err)
	}
	order := func(tgt, kind string, kwargs *data.Map) *data.Map {
		t.Helper()
		load := data.NewMap("cmd", "publish", "tgt", tgt, "fun", "test.ping", "arg", []any{},
			"tgt_type", kind, "ret", "", "jid", "", "key", b.key, "user", "root", "kwargs", kwargs)
		body, _ := payload.Marshal(data.NewMap("enc", "clear", "load", load, "version", int64(3)))
		reply, err := payload.Unmarshal(b.ask(body), payload.WireLimits())
		if err != nil {
			t.Fatal(err)
		}
		m, _ := reply.(*data.Map).Value("load").(*data.Map)
		return m
	}
	for _, tt := range []struct {
		tgt, kind string
		kwargs    *data.Map
		want      string
	}{
		{"role:web", "grain", data.NewMap("queue", int64(0)), "['web1']"},
		{"*", "glob", data.NewMap("queue", int64(60)), "['db1', 'web1']"},
		{"*", "glob", data.NewMap(), "None"},
		// no sender makes it a job of a minion
		{"*", "glob", data.NewMap("queue", int64(60), "id", "db1"), "['db1', 'web1']"},
		{"*", "glob", data.NewMap("queue", "x"), "None"},
	} {
		reply := order(tt.tgt, tt.kind, tt.kwargs)
		if got := data.Repr(reply.Value("queued")); got != tt.want ||
			data.Repr(reply.Value("absent")) != "['db1', 'web1']" {
			t.Errorf("%s %s: queued %s, want %s, absent %s", tt.tgt, data.Repr(tt.kwargs), got,
				tt.want, data.Repr(reply.Value("absent")))
		}
	}
}

// TestQueuedJobIsNotSentTwiceToAMinionThatForgets begins to send a queued job, as a master that was
// killed then: a minion of Salt's does not get it any more, and the job says why.
func TestQueuedJobIsNotSentTwiceToAMinionThatForgets(t *testing.T) {
	b, store := follow(t, "real1", "ours1")
	o := newOffline(b.parts.base, b.parts.queue, b.parts.jobs, b.parts.keys, b.parts.gate, b.parts.presence)
	o.tracker = store
	now := time.Now()
	o.now = func() time.Time { return now }
	o.pub = newPublishing(b.parts)
	o.pub.jobs = store
	c := &crowd{}
	o.presence = newPresence(c, nil, b.parts.settings, o.now)
	c.connect("10.0.0.1/ours1", "10.0.0.2")
	o.presence.note("ours1", from("10.0.0.1"))
	o.presence.note("real1", from("10.0.0.2"))
	o.noteBrine("ours1")
	jid := job.NewID(now)
	load := data.NewMap("cmd", "publish", "tgt", "*", "tgt_type", "glob", "fun", "test.ping",
		"arg", []any{}, "ret", "", "user", "root", "jid", string(jid),
		"kwargs", data.NewMap("queue", int64(0)))
	raw, err := payload.MarshalBin(load)
	if err != nil {
		t.Fatal(err)
	}
	j := &returners.Job{ID: jid, Load: raw, Minions: []string{"ours1", "real1"},
		Absent: []string{"ours1", "real1"}, Started: now}
	if err := store.SaveJob(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	item := o.plan(t.Context(), load, load.Value("kwargs").(*data.Map), j)
	if item == nil {
		t.Fatal("nothing is to be queued")
	}
	if queued := o.store(*item); len(queued) != 2 {
		t.Fatalf("queued %v", queued)
	}
	for _, id := range []string{"ours1", "real1"} {
		if ok, err := o.queue.Begin(jid, id); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	looks := func(sent int) {
		t.Helper()
		before := len(b.wire.messages())
		if err := o.sendQueued(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := len(b.wire.messages()) - before; got != sent {
			t.Errorf("%d publications, want %d", got, sent)
		}
	}
	looks(1) // to ours1
	looks(0)
	now = now.Add(doubtLife)
	looks(1) // to ours1 again
	if got := stateOf(t, store, jid, "real1"); got != returners.Missed {
		t.Errorf("real1 is %q, want missed", got)
	}
	o.markDone(jid, "ours1")
	now = now.Add(time.Hour)
	looks(0)
	if n := o.queue.Len(); n != 0 {
		t.Errorf("%d jobs are left in the queue", n)
	}
}

// TestMissedJobsAreSentAgain has minions deny a job that was sent before they had reconnected: a
// Brine minion gets it once more. A Salt minion does not, nor one that has acknowledged it. A
// minion that had no connection is not recorded as gone.
func TestMissedJobsAreSentAgain(t *testing.T) {
	b, store := follow(t, "away1", "late1", "ours1", "real1")
	pub := newPublishing(b.parts)
	pub.jobs = store
	now := time.Now()
	p := newProgress(store, pub.offline, func() time.Time { return now })
	p.resend = pub.resend
	for _, id := range []string{"ours1", "late1"} {
		pub.offline.noteBrine(id)
	}
	record := func(id job.ID, kwargs *data.Map) {
		t.Helper()
		load, err := payload.MarshalBin(data.NewMap("fun", "test.ping", "arg", []any{}, "tgt", "*",
			"tgt_type", "glob", "jid", string(id), "ret", "", "user", "root", "kwargs", kwargs))
		if err != nil {
			t.Fatal(err)
		}
		j := &returners.Job{ID: id, Load: load,
			Minions: []string{"away1", "late1", "ours1", "real1"}, Absent: []string{"away1",
				"ours1"}, Started: now}
		if err := store.SaveJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	jid, batched := job.NewID(now), job.NewID(now.Add(time.Second))
	record(jid, data.NewMap())
	record(batched, data.NewMap("batch", "1"))
	deny := func(id job.ID, minion string, resent int, want returners.State) {
		t.Helper()
		before := len(b.wire.messages())
		p.denied(t.Context(), id, minion)
		if n := len(b.wire.messages()) - before; n != resent {
			t.Errorf("%s got the job %d times more, want %d", minion, n, resent)
		}
		if got := stateOf(t, store, id, minion); got != want {
			t.Errorf("%s is %q, want %q", minion, got, want)
		}
	}
	deny(jid, "ours1", 1, returners.Sent)
	deny(jid, "ours1", 0, returners.Gone)
	deny(jid, "away1", 0, returners.Absent)
	deny(jid, "real1", 0, returners.Gone)
	deny(batched, "ours1", 0, returners.Absent)
	p.record(t.Context(), jid, "late1", returners.Acknowledged, "")
	deny(jid, "late1", 0, returners.Gone)
	now = now.Add(resendLife)
	deny(batched, "late1", 0, returners.Gone)
}
