package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// send gives a command of minion id to the master, as the channel does after it has proved the id.
func (b *bench) send(t *testing.T, name, id string, load *data.Map) any {
	t.Helper()
	if b.socket != nil {
		load = load.Clone()
		load.Update(data.NewMap("cmd", name, "id", id))
		return b.sealed(t, id, load)
	}
	raw, err := payload.Marshal(load)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := payload.ParseFields(raw, payload.WireLimits())
	if err != nil {
		t.Fatal(err)
	}
	reply, err := b.requests.Encrypted(t.Context(), &channel.Command{Name: name, Load: fields, Version: 3,
		Caller: channel.Caller{ID: id, Proved: true}})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return reply
}

// publish makes a job for the given minions.
func (b *bench) publish(t *testing.T, tgt any, kind string, jid job.ID) {
	t.Helper()
	load := data.NewMap("cmd", "publish", "tgt", tgt, "fun", "test.ping", "arg", []any{},
		"tgt_type", kind, "ret", "", "jid", string(jid), "key", b.key, "user", "root")
	body, _ := payload.Marshal(data.NewMap("enc", "clear", "load", load, "version", int64(3)))
	if reply, err := payload.Unmarshal(b.ask(body), payload.WireLimits()); err != nil ||
		jidOf(reply) != string(jid) {
		t.Fatalf("publish: %s, %v", data.Repr(reply), err)
	}
}

func returnOf(id string, jid job.ID, value any) *data.Map {
	return data.NewMap("cmd", "_return", "id", id, "jid", string(jid), "fun", "test.ping",
		"fun_args", []any{}, "return", value, "retcode", int64(0), "success", true)
}

// returnTags collects the tags of returns on the bus up to now.
func returnTags(t *testing.T, b *bench, s *eventbus.Subscription) (tags []string) {
	t.Helper()
	if err := b.bus.Fire("end", data.NewMap()); err != nil {
		t.Fatal(err)
	}
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		e, err := s.Next(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if e.Tag == "end" {
			return tags
		}
		tags = append(tags, e.Tag)
	}
}

// TestUnsolicitedReturns checks that returns which were not requested are neither stored nor
// announced.
func TestUnsolicitedReturns(t *testing.T) {
	now := time.Now().UTC()
	asked := job.NewID(now)
	for _, tt := range []struct {
		name, minion string
		load         *data.Map
		kept         bool
	}{
		{"the answer of a minion that was asked", "web1", returnOf("web1", asked, true), true},
		{"of one that was not", "db1", returnOf("db1", asked, true), false},
		{"for a job of the past", "web1", returnOf("web1", job.NewID(now.AddDate(-50, 0, 0)), true), false},
		{"for a job of the future", "web1", returnOf("web1", job.NewID(now.Add(time.Hour)), true), false},
		{"for a young job of another master",
			"web1", returnOf("web1", job.NewID(now.Add(-time.Minute)), true), true},
		{"with a path for an id", "web1", returnOf("web1", "../../../proc/kmsg", true), false},
		{"without a value", "web1", data.NewMap("cmd", "_return", "id", "web1", "jid", string(asked)), false},
		{"with a number for an id", "web1",
			data.NewMap("cmd", "_return", "id", "web1", "jid", int64(5), "return", true), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, nil, "web1", "db1")
			b.publish(t, []any{"web1"}, "list", asked)
			s := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
			defer s.Close()
			if reply := b.send(t, "_return", tt.minion, tt.load); reply != nil {
				t.Errorf("reply %v, want none", reply)
			}
			kept := 0
			for _, id := range b.jobs.all() {
				r, _ := b.jobs.Returns(t.Context(), id)
				kept += len(r)
			}
			if tags := returnTags(t, b, s); (kept == 1) != tt.kept || (len(tags) == 1) != tt.kept {
				t.Errorf("kept %d returns, told of %v, want kept = %v", kept, tags, tt.kept)
			}
		})
	}
}

func TestFirstReturnWins(t *testing.T) {
	b := newBench(t, nil, "web1")
	id := job.NewID(time.Now().UTC())
	b.publish(t, "web1", "glob", id)
	s := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
	defer s.Close()
	for _, value := range []any{"first", "first", "second"} {
		b.send(t, "_return", "web1", returnOf("web1", id, value))
	}
	kept, _ := b.jobs.Returns(t.Context(), id)
	if len(kept) != 1 {
		t.Fatalf("kept %d returns", len(kept))
	}
	load, err := payload.ParseFields(kept[0].Load, payload.WireLimits())
	if text, _ := load.Text("return"); err != nil || text != "first" {
		t.Errorf("kept %q, %v", text, err)
	}
	if tags := returnTags(t, b, s); len(tags) != 1 {
		t.Errorf("told of %v", tags)
	}
}

func TestReturnWithoutAJobGetsOne(t *testing.T) {
	b := newBench(t, nil, "web1")
	b.send(t, "_return", "web1", returnOf("web1", job.Req, int64(7)))
	ids := b.jobs.all()
	if len(ids) != 1 {
		t.Fatalf("jobs %v", ids)
	}
	j, _ := b.jobs.Job(t.Context(), ids[0])
	load, err := payload.ParseFields(j.Load, payload.WireLimits())
	if tgt, _ := load.Text("tgt"); err != nil || tgt != "web1" {
		t.Errorf("target %q, %v", tgt, err)
	}
	if _, err := job.ParseID(string(ids[0])); err != nil {
		t.Error(err)
	}
}

// TestVectorReturns sends the captured _return requests, and expects the captured replies.
func TestVectorReturns(t *testing.T) {
	f := vectors.Load(t, "05-request.json")
	b := newBench(t, func(c *config.Master) { c.KeepJobsSeconds = 0 }, "web1", "web2", "db1")
	b.wire.connect("web1", "web2", "db1") // whose starts are announced at once
	seen := 0
	for _, c := range slices.Concat(f.Section("requests"), f.Section("during_jobs"),
		f.Section("minion_start")) {
		for i, e := range c.Sub("exchanges") {
			load, ok := e.Map.Value("request_load").(*data.Map)
			reply, isMap := e.Map.Value("reply").(*data.Map)
			if !ok || load.Text("cmd") != "_return" && load.Text("cmd") != "_minion_event" ||
				!slices.Contains([]string{"web1", "web2", "db1"}, load.Text("id")) ||
				isMap && reply.Len() == 0 {
				continue // other commands; and requests without proof, which the channel refuses
			}
			seen++
			t.Run(fmt.Sprintf("%s/%d", c.Name, i), func(t *testing.T) {
				want := e.Map.Value("reply")
				if got := b.send(t, load.Text("cmd"), load.Text("id"), load); !data.Equal(got, want) {
					t.Errorf("reply %s, want %s", data.Repr(got), data.Repr(want))
				}
			})
		}
	}
	if seen < 60 {
		t.Errorf("found %d requests", seen)
	}
}

var _ returners.JobCache = (*memoryJobs)(nil)

// TestJobsThatNobodyOrderedAreMarked sends unsolicited returns: the record of the job names the
// minion, whatever the return says.
func TestJobsThatNobodyOrderedAreMarked(t *testing.T) {
	b := newBench(t, nil, "web1")
	asked := job.NewID(time.Now().UTC())
	b.publish(t, []any{"web1"}, "list", asked)
	for name, jid := range map[string]job.ID{"of the minion's own": job.Req,
		"for a job that nobody knows": job.NewID(time.Now().UTC().Add(-time.Minute)),
		"that was ordered":            asked} {
		before := b.jobs.all()
		load := returnOf("web1", jid, "a result")
		load.Update(data.NewMap("user", "root", job.OwnOf, "db1"))
		b.send(t, "_return", "web1", load)
		id := asked
		for _, now := range b.jobs.all() {
			if !slices.Contains(before, now) {
				id = now
			}
		}
		j, err := b.jobs.Job(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		about, err := payload.ParseFields(j.Load, payload.WireLimits())
		if err != nil {
			t.Fatal(err)
		}
		own, marked := about.Text(job.OwnOf)
		if marked != (id != asked) || marked && own != "web1" || about.Has("return") {
			t.Errorf("return %s: the job is marked %v %q, has the result: %v", name, marked, own,
				about.Has("return"))
		}
		if returns, _ := b.jobs.Returns(t.Context(), id); len(returns) != 1 {
			t.Errorf("return %s: %d returns are kept", name, len(returns))
		}
	}
}

// TestJobsThatNobodyOrderedHaveAQuota lets one minion exceed its quota, with the word req and with
// unknown ids: further returns are announced but not stored. Other minions are not affected.
func TestJobsThatNobodyOrderedHaveAQuota(t *testing.T) {
	b := newBench(t, nil, "web1", "db1")
	for range ownJobs - 1 {
		b.send(t, "_return", "web1", returnOf("web1", job.Req, true))
	}
	unknown := time.Now().UTC().Add(-time.Hour)
	s := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
	defer s.Close()
	for i, want := range []int{ownJobs, ownJobs} {
		b.send(t, "_return", "web1", returnOf("web1",
			job.NewID(unknown.Add(time.Duration(i)*time.Second)), true))
		if got := len(b.jobs.all()); got != want {
			t.Errorf("%d jobs, want %d", got, want)
		}
	}
	b.send(t, "_return", "web1", returnOf("web1", job.Req, true))
	// again: it is kept and was announced
	b.send(t, "_return", "web1", returnOf("web1", job.NewID(unknown), true))
	if got := len(b.jobs.all()); got != ownJobs {
		t.Errorf("%d jobs, want %d", got, ownJobs)
	}
	if tags := returnTags(t, b, s); len(tags) != 3 {
		t.Errorf("announced %v, want three", tags)
	}
	b.send(t, "_return", "db1", returnOf("db1", job.Req, true))
	if got := len(b.jobs.all()); got != ownJobs+1 {
		t.Errorf("%d jobs after another minion's, want %d", got, ownJobs+1)
	}
	ordered := job.NewID(time.Now().UTC())
	b.publish(t, []any{"web1"}, "list", ordered)
	b.send(t, "_return", "web1", returnOf("web1", ordered, true))
	if returns, _ := b.jobs.Returns(t.Context(), ordered); len(returns) != 1 {
		t.Error("the return to an ordered job is not kept")
	}
}

// TestRepeatedReturnsAreBookedOnce has a minion send the return of a job of its own several times,
// as after answers that were lost.
func TestRepeatedReturnsAreBookedOnce(t *testing.T) {
	b := newBench(t, nil, "web1")
	id := job.NewID(time.Now().UTC().Add(-time.Hour))
	for range ownJobs {
		b.send(t, "_return", "web1", returnOf("web1", id, true))
	}
	b.send(t, "_return", "web1", returnOf("web1", job.Req, true))
	if got := len(b.jobs.all()); got != 2 {
		t.Errorf("%d jobs are kept, want the repeated one and a second", got)
	}
}

// unsavedJobs is a job cache that keeps no jobs.
type unsavedJobs struct{ returners.JobCache }

func (unsavedJobs) SaveJob(context.Context, *returners.Job) error { return errLocked }

// TestReturnsThatCannotBeSavedAreNotBooked has a minion send a job of its own until the job cache
// answers: failed attempts do not use up the quota, after which the return would be acknowledged
// but not kept.
func TestReturnsThatCannotBeSavedAreNotBooked(t *testing.T) {
	b := newBench(t, nil, "web1")
	cache := b.parts.jobs
	b.parts.jobs = unsavedJobs{cache}
	requests := newRequests(b.parts, newPublishing(b.parts))
	id := job.NewID(time.Now().UTC().Add(-time.Hour))
	for range ownJobs + 1 {
		if _, err := requests.Encrypted(t.Context(),
			commandOf(t, "_return", "web1", returnOf("web1", id, true))); !errors.Is(err, errLocked) {
			t.Fatalf("a return that cannot be saved: %v", err)
		}
	}
}

// unsavedReturns is a job cache that keeps jobs and no returns.
type unsavedReturns struct{ returners.JobCache }

func (unsavedReturns) SaveReturn(context.Context, job.ID, *returners.Return) (bool, error) {
	return false, errLocked
}

// TestRecordsOfJobsCountWithoutTheirReturns has a minion send returns for ever new jobs that cannot
// be saved: their records are bounded.
func TestRecordsOfJobsCountWithoutTheirReturns(t *testing.T) {
	b := newBench(t, nil, "web1")
	cache := b.parts.jobs
	b.parts.jobs = unsavedReturns{cache}
	requests := newRequests(b.parts, newPublishing(b.parts))
	ids := job.NewIDs(nil)
	for range ownJobs + 10 {
		_, err := requests.Encrypted(t.Context(),
			commandOf(t, "_return", "web1", returnOf("web1", ids.Next(), true)))
		if err != nil && !errors.Is(err, errLocked) {
			t.Fatal(err)
		}
	}
	if got := len(b.jobs.all()); got != ownJobs {
		t.Errorf("%d records of jobs are kept, want %d", got, ownJobs)
	}
}

func TestOwnQuota(t *testing.T) {
	now := time.Unix(0, 0)
	q := newOwnQuota(func() time.Time { return now }, func() time.Duration { return 10 * time.Hour })
	for _, tt := range []struct {
		after time.Duration
		n     int
		want  bool
	}{
		{0, 2 * ownJobBytes, true}, // the first has no bound of its own
		{0, 1, false},
		{5 * time.Hour, 1, false},
		{10 * time.Hour, ownJobBytes / 2, true},
		{0, ownJobBytes/2 + 1, false},
		{6 * time.Hour, ownJobBytes/2 + 1, true},
		{1000 * time.Hour, 1, true},
	} {
		if now = now.Add(tt.after); q.take("web1", tt.n) != tt.want {
			t.Errorf("after %v, %d bytes: taken is %v", tt.after, tt.n, !tt.want)
		}
	}
}

// TestLongReturnIsKept returns a long text over the wire: it is rewritten where it lies, and kept
// and announced as a short one is.
func TestLongReturnIsKept(t *testing.T) {
	b := newBench(t, nil, "web1")
	b.listen(t)
	s := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/job/"}})
	defer s.Close()
	b.send(t, "_master_opts", "web1", data.NewMap()) // who is not known may not send as much
	text := strings.Repeat("é", 3<<20)
	b.send(t, "_return", "web1", returnOf("web1", job.Req,
		data.NewMap("stdout", text, "more", []any{[]byte{0xff}, "x"})))
	ids := b.jobs.all()
	if len(ids) != 1 {
		t.Fatalf("jobs %v", ids)
	}
	returns, err := b.jobs.Returns(t.Context(), ids[0])
	if err != nil || len(returns) != 1 {
		t.Fatal(returns, err)
	}
	v, err := payload.UnmarshalText(returns[0].Load, payload.WireLimits())
	if err != nil {
		t.Fatal(err)
	}
	want := returnOf("web1", ids[0], data.NewMap("stdout", text, "more", []any{[]byte{0xff}, "x"}))
	for k, field := range want.All() {
		if got := v.(*data.Map).Value(k); !data.Equal(got, field) {
			t.Errorf("field %v is %.100s", k, data.Repr(got))
		}
	}
	e, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told, err := e.Map()
	if err != nil || data.Repr(told.Value("return")) != "{'stdout': 'VALUE_TRIMMED', 'more': [b'\\xff', 'x']}" {
		t.Errorf("event %.300s, %v", data.Repr(told.Value("return")), err)
	}
}

func TestJobsExpectMinionsInAnyOrder(t *testing.T) {
	for _, minions := range [][]string{{"a", "b", "c"}, {"c", "a", "b"}, {"b", "c", "a"}} {
		for id, want := range map[string]bool{"a": true, "b": true, "c": true, "d": false} {
			if got := expects(&returners.Job{Minions: minions}, id); got != want {
				t.Errorf("%s of %v: %v", id, minions, got)
			}
		}
	}
}
