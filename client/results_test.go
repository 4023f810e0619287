package client

import (
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

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// A fakeMaster answers publish requests as script says, and has a real bus.
type fakeMaster struct {
	t      testing.TB
	dir    string
	bus    *eventbus.Bus
	stop   context.CancelFunc
	done   chan error
	script func(m *fakeMaster, load *data.Map) *data.Map // reply to a request

	mu    sync.Mutex
	loads []*data.Map
}

var _ transport.Requester = (*fakeMaster)(nil)

func newFakeMaster(t testing.TB, script func(*fakeMaster, *data.Map) *data.Map) *fakeMaster {
	dir, err := os.MkdirTemp("", "bc")
	if err != nil {
		t.Fatal(err)
	}
	m := &fakeMaster{t: t, dir: dir, script: script}
	m.writeKey("secret")
	m.serve()
	t.Cleanup(func() {
		m.halt()
		os.RemoveAll(dir)
		if _, alone := t.(*testing.T); alone { // a benchmark waits in goroutines of its own
			goleak.VerifyNone(t)
		}
	})
	return m
}

func (m *fakeMaster) writeKey(text string) {
	if err := os.WriteFile(filepath.Join(m.dir, ".root_key"), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// serve opens the bus, as a start of the master does.
func (m *fakeMaster) serve() {
	log := logging.Discard()
	m.bus = eventbus.New(eventbus.Options{Log: log})
	var ctx context.Context
	ctx, m.stop = context.WithCancel(context.Background())
	m.done = make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		m.done <- m.bus.Serve(ctx, eventbus.MasterSockets(m.dir),
			eventbus.ServeOptions{Ready: func() { close(ready) }})
	}()
	<-ready
}

func (m *fakeMaster) halt() {
	m.stop()
	<-m.done
}

func (m *fakeMaster) open() *Local { return m.openWith(nil) }

// openWith opens a Local with a shared connection, unless that is nil.
func (m *fakeMaster) openWith(share *eventbus.Share) *Local {
	l, err := Open(m.t.Context(), Options{CacheDir: m.dir, SockDir: m.dir, Share: share,
		User: "root", Caller: "root", Out: m, Timeout: 5 * time.Second})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { l.Close() })
	return l
}

// Do answers one request.
func (m *fakeMaster) Do(_ context.Context, body []byte) ([]byte, error) {
	v, err := payload.Unmarshal(body, payload.WireLimits())
	if err != nil {
		return nil, err
	}
	load := v.(*data.Map).Value("load").(*data.Map)
	m.mu.Lock()
	m.loads = append(m.loads, load)
	m.mu.Unlock()
	return payload.Marshal(data.NewMap("enc", "clear", "load", m.script(m, load)))
}

func (m *fakeMaster) Close() error { return nil }

// asked returns the functions that were published.
func (m *fakeMaster) asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var funs []string
	for _, l := range m.loads {
		funs = append(funs, fmt.Sprintf("%s %s", l.Text("fun"), data.Str(l.Value("tgt"))))
	}
	return funs
}

// fire puts what a minion returns on the bus.
func (m *fakeMaster) fire(jid, id string, value any, code int64) {
	err := m.bus.Fire("salt/job/"+jid+"/ret/"+id,
		data.NewMap("id", id, "jid", jid, "return", value, "retcode", code))
	if err != nil {
		m.t.Error(err)
	}
}

func published(jid string, ids ...any) *data.Map {
	return data.NewMap("jid", jid, "minions", ids, "missing", []any{})
}

// wait gives short waits that no test of a success waits out.
func wait() Wait {
	return Wait{Timeout: 50 * time.Millisecond, Gather: 50 * time.Millisecond, ShowSilent: true}
}

// gather runs a job and returns its results as "id value", or "id silent".
func gather(t testing.TB, l *Local, w Wait) ([]string, error) {
	t.Helper()
	j, err := l.Publish(t.Context(),
		Request{Target: "*", Kind: "glob", Fun: "test.ping",
			Kwargs: data.NewMap("show_jid", false, "metadata", "m")})
	if err != nil {
		return nil, err
	}
	var got []string
	for r, err := range l.Results(t.Context(), j, w) {
		if err != nil {
			return got, err
		}
		text := data.Str(r.Value)
		if r.Missing {
			text = "silent"
		}
		got = append(got, r.ID+" "+text)
	}
	slices.Sort(got)
	return got, nil
}

const jid, findJID = "20260101000000000001", "20260101000000000002"

func TestReturnsBeforeTheReplyAreSeen(t *testing.T) {
	m := newFakeMaster(t, func(m *fakeMaster, _ *data.Map) *data.Map {
		m.fire(jid, "a", true, 0) // faster than the reply to the client
		m.fire(jid, "b", true, 0)
		return published(jid, "a", "b")
	})
	w := wait()
	w.Timeout = time.Minute
	got, err := gather(t, m.open(), w)
	if d := cmp.Diff([]string{"a True", "b True"}, got); d != "" || err != nil {
		t.Errorf("results: %v\n%s", err, d)
	}
}

func TestSecondReturnsAndForeignEventsArePassedOver(t *testing.T) {
	m := newFakeMaster(t, func(m *fakeMaster, _ *data.Map) *data.Map {
		m.fire(jid, "a", "first", 0)
		m.fire(jid, "a", "second", 0)
		m.fire("20260101000000000009", "b", "of another job", 0)
		if err := m.bus.Fire("salt/job/"+jid+
			"/prog/b/0", data.NewMap("id", "b", "return", "progress")); err != nil {
			t.Error(err)
		}
		m.fire(jid, "stranger", "not expected", 0)
		m.fire(jid, "b", "late", 0)
		return published(jid, "a", "b")
	})
	got, err := gather(t, m.open(), wait())
	if d := cmp.Diff([]string{"a first", "b late", "stranger not expected"}, got); d != "" || err != nil {
		t.Errorf("results: %v\n%s", err, d)
	}
}

func TestLongJobsAreWaitedFor(t *testing.T) {
	rounds := 0
	m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
		if load.Text("fun") != "saltutil.find_job" {
			return published(jid, "slow", "quick")
		}
		rounds++
		switch rounds {
		case 1, 2:
			m.fire(findJID, "slow", data.NewMap("jid", jid, "fun", "test.ping"), 0)
		default:
			m.fire(jid, "slow", "done", 0)
		}
		return published(findJID, "slow")
	})
	l := m.open()
	m.fire(jid, "quick", "at once", 0)
	got, err := gather(t, l, wait())
	if d := cmp.Diff([]string{"quick at once", "slow done"}, got); d != "" || err != nil {
		t.Errorf("results: %v\n%s", err, d)
	}
	want := []string{"test.ping *", "saltutil.find_job ['slow']", "saltutil.find_job ['slow']",
		"saltutil.find_job ['slow']"}
	if d := cmp.Diff(want, m.asked()); d != "" {
		t.Errorf("published (-want +got):\n%s", d)
	}
	if kwargs := m.loads[1].Value("kwargs").(*data.Map); kwargs.Has("show_jid") ||
		kwargs.Text("metadata") != "m" {
		t.Errorf("kwargs of the question: %s", data.Repr(kwargs))
	}
}

// TestManyMinionsAreAskedByTheTargetOfTheJob has so many silent minions that a list of them, which each
// connected minion gets, would be long.
func TestManyMinionsAreAskedByTheTargetOfTheJob(t *testing.T) {
	var many []any
	for i := range 2000 {
		many = append(many, fmt.Sprintf("minion-%04d", i))
	}
	m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
		if load.Text("fun") != "saltutil.find_job" {
			return published(jid, many...)
		}
		for _, id := range many {
			m.fire(jid, id.(string), "done", 0)
		}
		return published(findJID, many...)
	})
	got, err := gather(t, m.open(), wait())
	if len(got) != len(many) || err != nil {
		t.Errorf("%d results, %v", len(got), err)
	}
	if d := cmp.Diff([]string{"test.ping *", "saltutil.find_job *"}, m.asked()); d != "" {
		t.Errorf("published (-want +got):\n%s", d)
	}
}

func TestSilentMinionsAreReported(t *testing.T) {
	for _, tt := range []struct {
		name string
		say  func(m *fakeMaster)
		show bool
		want []string
	}{
		{"nothing is heard of it", func(*fakeMaster) {}, true, []string{"gone silent", "nokey silent"}},
		{"it does not run the job", func(m *fakeMaster) { m.fire(findJID, "gone", data.NewMap(), 0) }, true, []string{"gone silent", "nokey silent"}},
		{"it cannot say", func(m *fakeMaster) { m.fire(findJID, "gone", "ERROR: blackout", 1) },
			true, []string{"gone silent", "nokey silent"}},
		{"nobody wants to know", func(*fakeMaster) {}, false, []string{"nokey silent"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
				if load.Text("fun") == "saltutil.find_job" {
					tt.say(m)
					return published(findJID, "gone")
				}
				return data.NewMap("jid", jid, "minions", []any{"gone"}, "missing", []any{"nokey"})
			})
			w := wait()
			w.ShowSilent = tt.show
			got, err := gather(t, m.open(), w)
			if d := cmp.Diff(tt.want, got); d != "" || err != nil {
				t.Errorf("results: %v\n%s", err, d)
			}
		})
	}
}

func TestMissingComeByEventToo(t *testing.T) {
	m := newFakeMaster(t, func(m *fakeMaster, _ *data.Map) *data.Map {
		err := m.bus.Fire("salt/job/"+jid+
			"/new", data.NewMap("minions", []any{"a"}, "missing", []any{"nokey"}))
		if err != nil {
			t.Error(err)
		}
		m.fire(jid, "a", true, 0)
		return data.NewMap("jid", jid, "minions", []any{"a"}) // as older masters answer
	})
	got, err := gather(t, m.open(), wait())
	if d := cmp.Diff([]string{"a True", "nokey silent"}, got); d != "" || err != nil {
		t.Errorf("results: %v\n%s", err, d)
	}
}

// TestReturnsDoNotSteerTheClient puts fields of the master's events, and the name of another
// minion, into returns: the client ignores them.
func TestSilentMinionsSayWhy(t *testing.T) {
	m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
		if load.Text("fun") == "saltutil.find_job" {
			if kwargs, _ := load.Value("kwargs").(*data.Map); kwargs.Has("queue") {
				t.Error("the question is to be queued")
			}
			if target := data.Str(load.Value("tgt")); target != "['silent', 'away', 'taken', 'steps', 'denies', 'late', 'back', 'syndic']" {
				t.Errorf("asked are %s", target)
			}
			m.fire(findJID, "denies", data.NewMap(), 0)
			m.fire(findJID, "late", data.NewMap(), 0)
			m.fire(findJID, "back", data.NewMap(), 0)
			return published(findJID, "denies")
		}
		for _, tag := range []string{"ack/taken", "ack/stranger", "prog/steps/0", "ack/late"} {
			if err := m.bus.Fire("salt/job/"+jid+"/"+tag, data.NewMap("id", "x")); err != nil {
				t.Error(err)
			}
		}
		for _, id := range []string{"missed", "taken", "stranger"} {
			if err := m.bus.Fire("salt/job/"+jid+"/missed/"+id,
				data.NewMap("id", id, "reason", "it was away")); err != nil {
				t.Error(err)
			}
		}
		for _, id := range []string{"syndic", "steps"} {
			if err := m.bus.Fire("salt/job/"+jid+"/missed/"+id,
				data.NewMap("id", id, "reason", "its events are refused", "syndic", true)); err != nil {
				t.Error(err)
			}
		}
		reply := published(jid, "silent", "away", "taken", "steps", "denies", "late", "back",
			"queued", "missed", "syndic")
		reply.Set("missing", []any{"nokey"})
		reply.Set("absent", []any{"away", "late", "back", "queued"})
		reply.Set("queued", []any{"queued"})
		reply.Set("queued_until", int64(1800000000))
		return reply
	})
	l := m.open()
	j, err := l.Publish(t.Context(),
		Request{Target: "*", Kind: "glob", Fun: "test.ping", Kwargs: data.NewMap("queue", int64(0))})
	if err != nil {
		t.Fatal(err)
	}
	if !j.Told || !j.Expires.Equal(time.Unix(1800000000, 0)) {
		t.Errorf("job %+v", j)
	}
	got := map[string]Reason{}
	for r, err := range l.Results(t.Context(), j, wait()) {
		if err != nil || !r.Missing {
			t.Fatal(r, err)
		}
		if got[r.ID] = r.Reason; (r.Why == "it was away") != (r.ID == "missed") {
			t.Errorf("of %s it is told: %q", r.ID, r.Why)
		}
	}
	want := map[string]Reason{"missed": Undelivered, "syndic": Undelivered, "silent": NoResponse, "away": NotConnected,
		"taken": AtWork, "steps": AtWork, "denies": NotRunning, "late": NotRunning,
		"back": NotConnected, "queued": Queued, "nokey": NoKey}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("reasons (-want +got):\n%s", d)
	}
}

// TestQueuedMinionsAreNotWaitedFor orders a job for minions that are all away: there is nothing to
// wait for.
func TestQueuedMinionsAreNotWaitedFor(t *testing.T) {
	m := newFakeMaster(t, func(*fakeMaster, *data.Map) *data.Map {
		reply := published(jid, "a", "b")
		reply.Set("absent", []any{"a", "b"})
		reply.Set("queued", []any{"b", "a"})
		return reply
	})
	w := Wait{Timeout: time.Hour, Gather: time.Hour}
	got, err := gather(t, m.open(), w)
	if d := cmp.Diff([]string{"a silent", "b silent"}, got); d != "" || err != nil {
		t.Errorf("results: %v\n%s", err, d)
	}
}

func TestReturnsDoNotSteerTheClient(t *testing.T) {
	m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
		if load.Text("fun") == "saltutil.find_job" {
			return published(findJID, "b")
		}
		for _, e := range []struct {
			id   string
			body *data.Map
		}{
			{"a", data.NewMap("id", "b", "return", "in the name of b")},
			{"a", data.NewMap("return", "of nobody")},
			{"a", data.NewMap("id", "a", "return", "own", "error", "stop",
				"minions", []any{"ghost"}, "missing", []any{"lost"})},
			{"b", data.NewMap("id", "b", "return", "own", "error", "stop")},
		} {
			if err := m.bus.Fire("salt/job/"+jid+"/ret/"+e.id, e.body); err != nil {
				t.Error(err)
			}
		}
		return published(jid, "a", "b")
	})
	got, err := gather(t, m.open(), wait())
	if d := cmp.Diff([]string{"a own", "b own"}, got); d != "" || err != nil {
		t.Errorf("results: %v\n%s", err, d)
	}
}

// TestAnswersComeFromTheirMinion checks that a minion cannot say in the name of another that it
// runs the job.
func TestAnswersComeFromTheirMinion(t *testing.T) {
	rounds := 0
	m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
		if load.Text("fun") != "saltutil.find_job" {
			return published(jid, "gone")
		}
		rounds++
		if err := m.bus.Fire("salt/job/"+findJID+
			"/ret/liar", data.NewMap("id", "gone", "return", data.NewMap("jid", jid))); err != nil {
			t.Error(err)
		}
		if rounds > 1 {
			m.fire(jid, "gone", "asked again", 0)
		}
		return published(findJID, "gone")
	})
	got, err := gather(t, m.open(), wait())
	if d := cmp.Diff([]string{"gone silent"}, got); d != "" || err != nil {
		t.Errorf("results: %v\n%s", err, d)
	}
}

func TestErrorsOfTheMasterEndTheWait(t *testing.T) {
	for _, what := range []string{"new", "error"} {
		t.Run(what, func(t *testing.T) {
			m := newFakeMaster(t, func(m *fakeMaster, _ *data.Map) *data.Map {
				if err := m.bus.Fire("salt/job/"+jid+"/"+what, data.NewMap("error", "no")); err != nil {
					t.Error(err)
				}
				return published(jid, "a")
			})
			if _, err := gather(t, m.open(), wait()); !errors.Is(err, ErrNotAuthorized) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestTheBusIsJoinedAgain(t *testing.T) {
	m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
		if load.Text("fun") == "saltutil.find_job" {
			m.fire(jid, "a", "after the restart", 0)
		}
		return published(jid, "a")
	})
	l := m.open()
	m.halt()
	m.serve()
	w := wait()
	w.Timeout = 300 * time.Millisecond
	got, err := gather(t, l, w)
	if d := cmp.Diff([]string{"a after the restart"}, got); d != "" || err != nil {
		t.Errorf("results: %v\n%s", err, d)
	}
}

// recordedReply is a master's reply to job_returns.
func recordedReply(t testing.TB, more bool, ids ...string) *data.Map {
	var loads []any
	for _, id := range ids {
		load, err := payload.MarshalBin(data.NewMap("id", id, "jid", jid, "return", "recorded", "retcode", int64(0)))
		if err != nil {
			t.Fatal(err)
		}
		loads = append(loads, []byte(load))
	}
	return data.NewMap("returns", loads, "more", more)
}

// TestMissedReturnsAreReadFromTheRecord loses the events of returns: the master's bus tells of a gap, or the
// connection was lost. The returns come in parts, and each minion's counts once.
func TestMissedReturnsAreReadFromTheRecord(t *testing.T) {
	for name, lost := range map[string]func(m *fakeMaster, l *Local){
		"gap": func(m *fakeMaster, _ *Local) {
			m.fire(jid, "a", "event", 0)
			if err := m.bus.Fire(eventbus.DroppedTag, data.NewMap("dropped", int64(2))); err != nil {
				t.Error(err)
			}
		},
		"restart": func(m *fakeMaster, _ *Local) {
			m.fire(jid, "a", "event", 0)
			m.halt()
			m.serve()
		},
	} {
		t.Run(name, func(t *testing.T) {
			var asked [][]string
			m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
				if load.Text("cmd") != jobReturns {
					reply := published(jid, "a", "b", "c", "d")
					reply.Set("absent", []any{})
					return reply
				}
				ids := data.TextsOf(load.Value("tgt"))
				asked = append(asked, ids)
				if load.Text("key") != "secret" || load.Text("jid") != jid {
					t.Errorf("request %s", data.Repr(load))
				}
				if len(asked) == 1 {
					return recordedReply(t, true, "b", "a")
				}
				return recordedReply(t, false, "c", "d")
			})
			l := m.open()
			w := wait()
			if w.Timeout = 500 * time.Millisecond; name == "gap" {
				w.Timeout = time.Hour // the notice starts the question
			}
			j, err := l.Publish(t.Context(), Request{Target: "*", Kind: "glob", Fun: "test.ping"})
			if err != nil {
				t.Fatal(err)
			}
			lost(m, l)
			var got []string
			for r, err := range l.Results(t.Context(), j, w) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r.ID+" "+data.Str(r.Value))
			}
			if d := cmp.Diff([]string{"a event", "b recorded", "c recorded", "d recorded"}, got); d != "" {
				t.Errorf("results:\n%s", d)
			}
			if d := cmp.Diff([][]string{{"b", "c", "d"}, {"c", "d"}}, asked); d != "" {
				t.Errorf("asked for:\n%s", d)
			}
		})
	}
}

// TestSaltsMasterIsNotAskedForItsRecord: it does not know the command, and a refusal ends nothing.
func TestSaltsMasterIsNotAskedForItsRecord(t *testing.T) {
	for _, told := range []bool{false, true} {
		t.Run(fmt.Sprint(told), func(t *testing.T) {
			asked := 0
			m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
				if load.Text("cmd") == jobReturns {
					asked++
					return data.NewMap("error", data.NewMap("name", "AuthorizationError", "message", "no"))
				}
				reply := published(jid, "a", "b")
				if told {
					reply.Set("absent", []any{})
				}
				m.fire(jid, "a", true, 0)
				return reply
			})
			got, err := gather(t, m.open(), wait())
			if d := cmp.Diff([]string{"a True", "b silent"}, got); d != "" || err != nil || asked > 0 != told {
				t.Errorf("asked %d times, %v\n%s", asked, err, d)
			}
		})
	}
}

// TestSharedConnection lets several orders share a connection, which a restart of the master breaks.
func TestSharedConnection(t *testing.T) {
	m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
		id := load.Text("jid")
		m.fire(id, "a", id, 0)
		return published(id, "a")
	})
	share := eventbus.NewShare(eventbus.MasterSockets(m.dir), eventbus.ShareOptions{})
	first, second := m.openWith(share), m.openWith(share)
	w := wait()
	w.Timeout = time.Minute
	check := func(l *Local, id string) {
		t.Helper()
		j, err := l.Publish(t.Context(), Request{Target: "*", Kind: "glob", Fun: "test.ping", JID: id})
		if err != nil {
			t.Fatal(err)
		}
		var got []any
		for r, err := range l.Results(t.Context(), j, w) {
			got = append(got, r.ID, r.Value, err)
		}
		if d := cmp.Diff([]any{"a", id, error(nil)}, got); d != "" {
			t.Errorf("results:\n%s", d)
		}
	}
	check(first, jid)
	check(second, findJID)
	first.Close()
	check(second, jid)
	m.halt()
	m.serve()
	if _, err := second.events.Next(t.Context()); !errors.Is(err, eventbus.ErrClosed) {
		t.Errorf("the lost connection gives %v", err)
	}
	if err := second.listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(second, findJID)
	check(m.openWith(share), jid)
}

func TestWaitEndsWithItsContext(t *testing.T) {
	m := newFakeMaster(t, func(*fakeMaster, *data.Map) *data.Map { return published(jid, "a") })
	l := m.open()
	j, err := l.Publish(t.Context(), Request{Target: "*", Kind: "glob", Fun: "test.ping"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range l.Results(ctx, j, Wait{Timeout: time.Hour}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		return
	}
	t.Error("the wait ended without an error")
}

func TestRefusals(t *testing.T) {
	refuse := func(name string) *data.Map { return data.NewMap("error", data.NewMap("name", name, "message", "no")) }
	var nobody *NoMinionsError
	for _, tt := range []struct {
		name  string
		reply *data.Map
		is    func(error) bool
	}{
		{"wrong key", refuse("AuthenticationError"),
			func(err error) bool { return errors.Is(err, ErrNotAuthenticated) }},
		{"not allowed", refuse("AuthorizationError"),
			func(err error) bool { return errors.Is(err, ErrNotAuthorized) }},
		{"nobody, with a reason", data.NewMap("jid", nil, "minions", []any{}, "error", "nobody"),
			func(err error) bool { return errors.As(err, &nobody) }},
		{"nobody", published(jid), func(err error) bool { return errors.As(err, &nobody) }},
		{"another error", refuse("Strange"), func(err error) bool { return err.Error() == "no" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newFakeMaster(t, func(*fakeMaster, *data.Map) *data.Map { return tt.reply })
			if _, err := gather(t, m.open(), wait()); err == nil || !tt.is(err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestKeyIsReadAgain(t *testing.T) {
	m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
		if load.Text("key") == "secret" {
			m.writeKey("of the new start")
			return data.NewMap("error", data.NewMap("name", "AuthenticationError"))
		}
		m.fire(jid, "a", load.Value("key"), 0)
		return published(jid, "a")
	})
	got, err := gather(t, m.open(), wait())
	if d := cmp.Diff([]string{"a of the new start"}, got); d != "" || err != nil {
		t.Errorf("results: %v\n%s", err, d)
	}
}

func TestUserAndKey(t *testing.T) {
	m := newFakeMaster(t, func(*fakeMaster, *data.Map) *data.Map { return published(jid) })
	if err := os.WriteFile(filepath.Join(m.dir, ".fred_key"), []byte("freds"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ user, caller, sudo, key, says string }{
		{"root", "root", "", "secret", "root"},
		{"root", "root", "eve", "secret", "sudo_eve"},
		{"root", "fred", "", "freds", "fred"},
		{"fred", "root", "", "freds", "root"},
	} {
		l := &Local{opts: Options{CacheDir: m.dir, User: tt.user, Caller: tt.caller, Sudo: tt.sudo}}
		key, user, err := l.credentials()
		if key != tt.key || user != tt.says || err != nil {
			t.Errorf("%+v: key %q, user %q, %v", tt, key, user, err)
		}
	}
	l := &Local{opts: Options{CacheDir: m.dir, User: "root", Caller: "nobody"}}
	if _, _, err := l.credentials(); !errors.Is(err, ErrKey) ||
		!strings.Contains(err.Error(), ".nobody_key") {
		t.Errorf("error %v", err)
	}
}

// TestRequestForm compares the order of fields with that of Salt's client.
func TestRequestForm(t *testing.T) {
	m := newFakeMaster(t, func(m *fakeMaster, _ *data.Map) *data.Map {
		m.fire(jid, "a", true, 0)
		return published(jid, "a")
	})
	if _, err := gather(t, m.open(), wait()); err != nil {
		t.Fatal(err)
	}
	want := []any{"cmd", "tgt", "fun", "arg", "key", "tgt_type", "ret", "timeout", "jid", "kwargs", "user"}
	if d := cmp.Diff(want, m.loads[0].Keys()); d != "" {
		t.Errorf("fields (-want +got):\n%s", d)
	}
}

func TestNoMaster(t *testing.T) {
	if _, err := Open(t.Context(), Options{SockDir: t.TempDir()}); !errors.Is(err, ErrNoMaster) {
		t.Errorf("error %v", err)
	}
}

// TestEncodedResults checks that values stay encoded unless the event bus has trimmed them.
func TestEncodedResults(t *testing.T) {
	m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
		m.fire(load.Text("jid"), "m1", data.NewMap("a", []any{int64(1)}), 0)
		m.fire(load.Text("jid"), "m2", "VALUE_TRIMMED", 0)
		return published(load.Text("jid"), "m1", "m2")
	})
	l := m.open()
	l.opts.Return = func(context.Context, job.ID, string) (data.Raw, error) {
		return payload.MarshalBin(data.NewMap("return", "whole"))
	}
	j, err := l.Publish(t.Context(), Request{Target: "*", Kind: "glob", Fun: "x", JID: "20260101000000000001"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	w := Wait{Timeout: time.Minute, Gather: time.Minute, Encoded: true}
	for r, err := range l.Results(t.Context(), j, w) {
		if err != nil || r.Retcode != int64(0) {
			t.Fatal(r, err)
		}
		got[r.ID] = r.Value
	}
	value, err := payload.MarshalBin(data.NewMap("a", []any{int64(1)}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"m1": data.Raw(value), "m2": "whole"}, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
