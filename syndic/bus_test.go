package syndic

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
)

// storedJobs is a job cache with the same returns for each job.
type storedJobs struct {
	job     returners.Job
	returns []returners.Return
}

func (s *storedJobs) Job(_ context.Context, id job.ID) (*returners.Job, error) {
	found := s.job
	found.ID = id
	return &found, nil
}

func (s *storedJobs) Returns(context.Context, job.ID) ([]returners.Return, error) {
	return s.returns, nil
}

// newBareSyndic returns a syndic that has a router to upper masters a and b, which are connected, and no
// links.
func newBareSyndic(t *testing.T, cache *storedJobs) *Syndic {
	t.Helper()
	log := logrus.New()
	log.SetOutput(t.Output())
	s := &Syndic{log: log, quiet: &loglimit.Limiter{}, look: make(chan struct{}, 1),
		router: newTestRouter(t, "a", "b"),
		opts:   Options{Log: log, Now: time.Now, Jobs: func() JobReader { return cache }}}
	s.journal, s.uppers = s.router.journal, s.router.uppers
	s.replay, s.orders = newReplay(s), newOrders(s)
	return s
}

// TestGapIsReplayed sends notices of dropped events: the job cache is read at once, and again after gapPause
// however many notices follow. Upper masters do not get the notices.
func TestGapIsReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := &countedJobs{}
		s := newBareSyndic(t, &cache.storedJobs)
		s.opts.Jobs = func() JobReader { return cache }
		if _, err := s.journal.order(jid, "a_4506", digest{1}); err != nil {
			t.Fatal(err)
		}
		body, err := payload.MarshalBin(data.NewMap("jid", string(jid), "id", "web1", "return", true,
			"fun", "test.ping"))
		if err != nil {
			t.Fatal(err)
		}
		cache.job.Minions = []string{"web1", "web2"} // web2 does not return
		cache.returns = []returners.Return{{Minion: "web1", Load: body}}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.replay.run(ctx) }()
		notice := func() {
			t.Helper()
			bus := eventbus.New(eventbus.Options{})
			sub := bus.Subscribe(eventbus.SubscribeOptions{})
			defer sub.Close()
			if err := bus.Fire(eventbus.DroppedTag, data.NewMap("dropped", int64(3))); err != nil {
				t.Fatal(err)
			}
			e, err := sub.Next(ctx)
			if err == nil {
				err = s.handleEvent(ctx, e)
			}
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		notice()
		if to := s.router.holder(t); to != "a" || cache.reads.Load() != 1 {
			t.Errorf("after %d reads of the job cache the return waits for master %q", cache.reads.Load(), to)
		}
		for range 90 { // for 9 seconds
			time.Sleep(gapPause / 100)
			notice()
		}
		if n := cache.reads.Load(); n != 1 {
			t.Errorf("%d reads within the pause", n)
		}
		time.Sleep(replayPause / 2)
		if n := cache.reads.Load(); n != 2 {
			t.Errorf("%d reads after the pause, want 2", n)
		}
		for _, u := range s.uppers {
			if events, missed := u.queue.takeEvents(10); len(events)+missed > 0 {
				t.Errorf("upper master %s gets %q and misses %d", u.address.text, events, missed)
			}
		}
		select {
		case <-s.look:
		default:
			t.Error("the inventory is not looked at, though events about it may be missing")
		}
		stop()
		<-done
	})
}

// countedJobs are storedJobs that count the jobs that are read.
type countedJobs struct {
	storedJobs
	reads atomic.Int64
}

func (c *countedJobs) Job(ctx context.Context, id job.ID) (*returners.Job, error) {
	c.reads.Add(1)
	return c.storedJobs.Job(ctx, id)
}

// TestTrimmedReturnWithoutRoom checks that a trimmed return goes up whole, from the job cache, if the list of
// trimmed returns is full when it comes.
func TestTrimmedReturnWithoutRoom(t *testing.T) {
	cache := &storedJobs{}
	s := newBareSyndic(t, cache)
	for range maxTrimmed {
		if !s.replay.trimmed.add(&answer{}) {
			t.Fatal("the list is full")
		}
	}
	fields := func(value string) payload.Fields {
		b, err := payload.MarshalBin(data.NewMap("jid", string(jid), "id", "web1", "return", value,
			"fun", "test.echo"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := payload.ParseFields(b, payload.WireLimits())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if err := s.handleReturn(t.Context(), fields("VALUE_TRIMMED")); err != nil {
		t.Fatal(err)
	}
	if to := s.router.holder(t); to != "" {
		t.Fatalf("the trimmed return waits for master %s", to)
	}
	if s.replay.take() == nil {
		t.Fatal("the job is not marked")
	}
	cache.job.Minions = []string{"web1"}
	cache.returns = []returners.Return{{Minion: "web1", Load: fields("whole").Marshal()}}
	s.replay.all()
	s.replay.read(t.Context())
	to := s.router.holder(t)
	if to == "" {
		t.Fatal("the return is not read from the job cache")
	}
	for _, u := range s.router.uppers {
		if u.address.text == to {
			if body := string(u.queue.peek(1)[0].body); !strings.Contains(body, "whole") {
				t.Errorf("return %q", body)
			}
		}
	}
}

func TestSubjectOfAnEvent(t *testing.T) {
	for tag, want := range map[string]string{
		"salt/minion/web1/start":                        "web1",
		"salt/beacon/web1/disk/":                        "web1",
		"salt/state_result/20260301120000000000/web1/x": "web1",
		"salt/job/20260301120000000000/prog/web1/1":     "web1",
		"salt/job/20260301120000000000/new":             "",
		"salt/auth":                                     "",
		"my/minion/web1/start":                          "",
	} {
		if got := subject(tag); got != want {
			t.Errorf("%s: %q, want %q", tag, got, want)
		}
	}
}

func FuzzNewAnswer(f *testing.F) {
	for _, m := range []*data.Map{
		data.NewMap("jid", string(jid), "id", "web1", "return", true, "fun", "test.ping", "master_id", "top"),
		data.NewMap("jid", int64(1), "id", []any{}, "return", data.NewMap()),
		data.NewMap("jid", string(jid), "id", "../x", "return", nil),
	} {
		b, err := payload.MarshalBin(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fields, err := payload.ParseFields(b, payload.WireLimits())
		if err != nil {
			return
		}
		a, err := newAnswer(fields)
		if err != nil {
			return
		}
		if !job.ValidID(a.jid) || pki.ValidID(a.minion) != nil {
			t.Errorf("job %q, minion %q", a.jid, a.minion)
		}
		if _, err := payload.ParseFields(a.body, payload.WireLimits()); err != nil {
			t.Errorf("body %x: %v", a.body, err)
		}
	})
}
