package master

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/batch"
)

// A watched batch runs on three minions, of which a takes 3 s and b 30 s.
type watched struct {
	*bench
	crew   *crew
	events *eventbus.Subscription
	end    func()
}

// watchBatches runs test in a bubble with a master in which daemon and fred have test.*, as users
// of the host and of external_auth.
func watchBatches(t *testing.T, test func(t *testing.T, w *watched)) {
	synctest.Test(t, func(t *testing.T) {
		acl := data.NewMap("daemon", []any{"test.*"}, "fred", []any{"test.*"})
		b := newBench(t, func(c *config.Master) { c.ExternalAuth, c.PublisherACL = data.NewMap("auto", acl), acl }, "a", "b", "c")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := &watched{bench: b, crew: crewOf(ctx, b,
			map[string]time.Duration{"a": 3 * time.Second, "b": 30 * time.Second}, nil)}
		w.events = b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
		w.end = b.runBatches(t)
		test(t, w)
		w.events.Close()
		w.end()
	})
}

// begin orders a batch as somebody and returns its id when the first minions work.
func (w *watched) begin(t *testing.T, who func(*bench) *data.Map, size string) string {
	t.Helper()
	load := who(w.bench)
	kwargs := batchOptions("batch", size)
	login, _ := load.Value("kwargs").(*data.Map)
	for k, v := range login.All() {
		kwargs.Set(k, v)
	}
	reply := w.order(t, "publish_batch", "user", load.Value("user"), "key", load.Value("key"),
		"kwargs", kwargs)
	if !data.Truth(reply.Value("batch")) {
		t.Fatalf("reply %s", data.Repr(reply))
	}
	until(t, w.events, "step")
	return reply.Text("jid")
}

// stopAs orders the end of a batch as somebody.
func (w *watched) stopAs(t *testing.T, who func(*bench) *data.Map, id string) (stopped bool) {
	t.Helper()
	load := who(w.bench)
	reply := w.order(t, "stop_batch", "jid", id, "user", load.Value("user"),
		"key", load.Value("key"), "kwargs", load.Value("kwargs"))
	return data.Truth(reply.Value("stopped"))
}

func (w *watched) restart(t *testing.T, between func()) {
	w.end()
	between()
	w.end = w.runBatches(t)
}

// change gives the master other options.
func (w *watched) change(lose func(c *config.Master)) {
	changed := *w.cfg
	lose(&changed)
	w.Renew(&changed)
}

// refused checks that a batch ended since its user may not go on, and that the minions given alone
// got the job.
func (w *watched) refused(t *testing.T, ran ...string) {
	t.Helper()
	done := until(t, w.events, "done")
	synctest.Wait()
	if text := done.Text("error"); !strings.HasPrefix(text, "no further minions start: ") {
		t.Errorf("error %q", text)
	}
	w.crew.mu.Lock()
	same(t, "who ran it", slices.Sorted(slices.Values(w.crew.ran)), ran)
	w.crew.mu.Unlock()
	same(t, "done", ids(done.Value("done_minions")), ran)
	same(t, "not started", ids(done.Value("not_started")), []string{"a", "b", "c"}[len(ran):])
	if left, err := w.batches.bank.List(batchBank); err != nil || len(left) > 0 {
		t.Errorf("records left: %v, %v", left, err)
	}
}

// goesOn checks that a batch ended as it should.
func (w *watched) goesOn(t *testing.T) {
	t.Helper()
	done := until(t, w.events, "done")
	if done.Has("error") {
		t.Errorf("error %q", done.Text("error"))
	}
	same(t, "done", ids(done.Value("done_minions")), []string{"a", "b", "c"})
}

func loseAll(c *config.Master) {
	c.PublisherACL = data.NewMap("someone", []any{"test.*"})
	c.ExternalAuth = data.NewMap("auto", c.PublisherACL)
}

// rightsTaken are users and what happens to their rights while their batch runs.
var rightsTaken = []struct {
	name   string
	who    func(*bench) *data.Map
	lose   func(c *config.Master)
	goesOn bool
}{
	{"root", rootLoad, loseAll, true},
	{"a user who may", daemonLoad, func(*config.Master) {}, true},
	{"a user who may not", daemonLoad, loseAll, false},
	{"a user who may something else", daemonLoad,
		func(c *config.Master) { c.PublisherACL = data.NewMap("daemon", []any{"test.ping"}) }, false},
	{"a user who may it elsewhere", daemonLoad, func(c *config.Master) {
		c.PublisherACL = data.NewMap("daemon", []any{data.NewMap("a", []any{"test.echo"})})
	}, false},
	{"a user on the blacklist", daemonLoad,
		func(c *config.Master) { c.PublisherACLBlacklist = data.NewMap("users", []any{"daemon"}) }, false},
	{"a login", fredLoad, func(c *config.Master) { c.PublisherACL = data.NewMap("someone", []any{"test.*"}) }, true},
	{"a login that is named no more", fredLoad,
		func(c *config.Master) {
			c.ExternalAuth = data.NewMap("auto",
				data.NewMap("someone", []any{"test.*"}))
		}, false},
	{"a login of a system that is gone", fredLoad,
		func(c *config.Master) { c.ExternalAuth = data.NewMap() }, false},
}

// TestBatchStopsWhenItsUserLosesRights takes a right away while the first minion
// works, with and without a restart of the master in between.
func TestBatchStopsWhenItsUserLosesRights(t *testing.T) {
	for _, tt := range rightsTaken {
		for what, take := range map[string]func(*testing.T, *watched){
			"":                  func(_ *testing.T, w *watched) { w.change(tt.lose) },
			" over the restart": func(t *testing.T, w *watched) { w.restart(t, func() { w.change(tt.lose) }) },
		} {
			t.Run(tt.name+what, func(t *testing.T) {
				watchBatches(t, func(t *testing.T, w *watched) {
					w.begin(t, tt.who, "1")
					take(t, w)
					if tt.goesOn {
						w.goesOn(t)
						return
					}
					w.refused(t, "a")
				})
			})
		}
	}
}

// TestRefusedBatchWaitsForThoseAtWork restarts the master, and restores the right, while a minion
// that started before still works: its return is announced, and no further minion starts.
func TestRefusedBatchWaitsForThoseAtWork(t *testing.T) {
	watchBatches(t, func(t *testing.T, w *watched) {
		w.begin(t, daemonLoad, "2")
		w.change(loseAll)
		time.Sleep(10 * time.Second) // a has answered
		w.restart(t, func() { w.change(func(*config.Master) {}) })
		w.refused(t, "a", "b")
	})
}

// TestBatchIsStoppedByItsUserAlone has users of one name on the host and in external_auth.
func TestBatchIsStoppedByItsUserAlone(t *testing.T) {
	other := func(b *bench) *data.Map {
		load := fredLoad(b)
		load.Set("kwargs", data.NewMap("eauth", "auto", "username", "daemon", "password", "x"))
		return load
	}
	for _, tt := range []struct {
		name          string
		owner, second func(*bench) *data.Map
	}{{"of the host", daemonLoad, other}, {"of external_auth", other, daemonLoad}} {
		t.Run(tt.name, func(t *testing.T) {
			watchBatches(t, func(t *testing.T, w *watched) {
				id := w.begin(t, tt.owner, "1")
				if w.stopAs(t, tt.second, id) {
					t.Error("another of the same name stopped it")
				}
				if !w.stopAs(t, tt.owner, id) {
					t.Error("its user cannot stop it")
				}
				done := until(t, w.events, "done")
				same(t, "not started", ids(done.Value("not_started")), []string{"b", "c"})
			})
		})
	}
}

// TestRecordOfABatchWithTheNameAlone resumes batches from records of earlier versions.
func TestRecordOfABatchWithTheNameAlone(t *testing.T) {
	for _, tt := range rightsTaken {
		if strings.HasPrefix(tt.name, "a user on") {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			watchBatches(t, func(t *testing.T, w *watched) {
				load := tt.who(w.bench)
				kwargs, _ := load.Value("kwargs").(*data.Map)
				load.Set("fun", "test.echo")
				load.Set("arg", []any{"x"})
				load.Set("tgt", []any{"a", "b", "c"})
				name := load.Text("user")
				if kwargs.Has("eauth") {
					name = kwargs.Text("username")
				}
				id := job.ID("20260101000000000000")
				plan := batch.Plan{Size: batch.Size{Number: 1}, Timeout: time.Second, Gather: time.Second}
				raw, err := batch.NewRun(plan,
					[]string{"a", "b", "c"}).Marshal(data.NewMap("load",
					withoutSecrets(load, kwargs), "owner", name, "gathered", false))
				must(t, err)
				w.restart(t, func() {
					must(t, w.batches.bank.Store(batchBank, string(id), raw))
					w.change(tt.lose)
				})
				if tt.goesOn {
					w.goesOn(t)
					return
				}
				done := until(t, w.events, "done")
				if text := done.Text("error"); !strings.HasPrefix(text, "no further minions start: ") {
					t.Errorf("error %q", text)
				}
				w.crew.mu.Lock()
				defer w.crew.mu.Unlock()
				if slices.ContainsFunc(w.crew.ran, func(id string) bool { return id != "a" }) {
					t.Errorf("%v ran it", w.crew.ran)
				}
			})
		})
	}
}

// TestBatchWithRightsOfALoginAlone has a user whose rights cannot be looked up without their
// password: the reply leaves the batch to their client.
func TestBatchWithRightsOfALoginAlone(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.ExternalAuth = data.NewMap("ruled", data.NewMap()) }, "a")
	login := []any{"eauth", "ruled", "username", "fred", "password", "x"}
	reply := b.order(t, "publish_batch", "key", nil, "kwargs", batchOptions(login...))
	if reply.Len() > 0 || len(b.batches.running) > 0 {
		t.Errorf("reply %s; %d batches", data.Repr(reply), len(b.batches.running))
	}
	if reply := b.order(t, "publish", "key", nil, "kwargs", data.NewMap(login...)); reply.Text("jid") == "" {
		t.Errorf("he may not send a job: %s", data.Repr(reply))
	}
}
