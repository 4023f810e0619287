package master_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/presence"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/jobstore"
)

// a scene is a master and minions with directories of their own, and a log of what minions ran.
type scene struct {
	dir    string
	master *testsalt.Master
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{dir: testsalt.Dir(t)}
	s.start(t, 0, 0)
	return s
}

// start starts the master, on ports of before.
func (s *scene) start(t *testing.T, reply, publish int) {
	t.Helper()
	cfg := testsalt.MasterConfig(filepath.Join(s.dir, "m"))
	cfg.RetPort, cfg.PublishPort = reply, publish
	s.master = testsalt.StartMaster(t, cfg)
}

// restart ends the master and starts it again.
func (s *scene) restart(t *testing.T) {
	t.Helper()
	s.master.Stop(t)
	ended := s.written(t)
	s.start(t, s.master.Config.RetPort, s.master.Config.PublishPort)
	awaits(t, func() (string, bool) { // until then the file tells who was connected before
		return "the master does not write who is connected", s.written(t).After(ended)
	})
}

// written returns when the file that tells who is connected was written.
func (s *scene) written(t *testing.T) time.Time {
	t.Helper()
	info, err := os.Stat(filepath.Join(s.cache(), "presence"))
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

// minion starts a minion and waits until it is connected.
func (s *scene) minion(t *testing.T, id string) *testsalt.Minion {
	t.Helper()
	m := testsalt.StartMinion(t, testsalt.MinionConfig(filepath.Join(s.dir, id), id, s.master.Address))
	s.awaitConnected(t, func(ids []string) bool { return slices.Contains(ids, id) })
	return m
}

func (s *scene) cache() string { return s.master.Config.CacheDir }

// awaitConnected waits until the file that tells who is connected satisfies ok.
func (s *scene) awaitConnected(t *testing.T, ok func([]string) bool) {
	t.Helper()
	awaits(t, func() (string, bool) {
		ids, err := presence.Read(s.cache())
		return fmt.Sprint("connected: ", ids, err), err == nil && ok(ids)
	})
}

// awaits waits until something has come about.
func awaits(t *testing.T, look func() (string, bool)) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		text, ok := look()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatal(text)
		}
	}
}

// order publishes a job that writes a line to a file of its minion.
func (s *scene) order(t *testing.T, tgt string, kwargs *data.Map) *client.Job {
	t.Helper()
	l := s.master.Client(t)
	j, err := l.Publish(t.Context(), client.Request{Target: tgt, Kind: "glob", Fun: "cmd.run",
		Arg: []any{"echo ran >> " + s.dir + "/$WHO",
			data.NewMap("__kwarg__", true, "env", data.NewMap("WHO", "ran"))}, Kwargs: kwargs})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// runs returns how often jobs of order were run.
func (s *scene) runs(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "ran"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(text), "ran")
}

// states returns how far a job has come, as another process reads it.
func (s *scene) states(t *testing.T, id job.ID) map[string]returners.State {
	t.Helper()
	r, err := jobstore.OpenReadOnly(t.Context(), filepath.Join(s.cache(), "jobs.db"), jobstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list, err := r.Progress(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]returners.State{}
	for _, p := range list {
		states[p.Minion] = p.State
	}
	return states
}

func (s *scene) awaitState(t *testing.T, id job.ID, minion string, want returners.State) {
	t.Helper()
	awaits(t, func() (string, bool) {
		got := s.states(t, id)[minion]
		return fmt.Sprintf("job %s on %s is %q, want %q", id, minion, got, want), got == want
	})
}

// TestPresenceOfMinionsBehindOneAddress has two minions of one address connect and disconnect: the
// file and the events show exactly which are connected.
func TestPresenceOfMinionsBehindOneAddress(t *testing.T) {
	need.Time(t, "minions come back")
	t.Parallel()
	s := newScene(t)
	web1 := s.minion(t, "web1")
	s.minion(t, "web2")
	web1.Stop()
	s.awaitConnected(t, func(ids []string) bool { return slices.Equal(ids, []string{"web2"}) })
	s.minion(t, "web1")
	s.awaitConnected(t, func(ids []string) bool { return slices.Equal(ids, []string{"web1", "web2"}) })
	s.restart(t)
	s.awaitConnected(t, func(ids []string) bool { return slices.Equal(ids, []string{"web1", "web2"}) })
	s.master.Stop(t)
	if ids, err := presence.Read(s.cache()); err == nil {
		t.Errorf("without a master %v are said to be connected", ids)
	}
}

// TestJobsAreAcknowledged runs a job that takes a while: the master and other processes know that
// the minion has it, also after a restart of the master, and a short job and one about jobs are not
// acknowledged.
func TestJobsAreAcknowledged(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.minion(t, "web1")
	bus := s.master.Listen(t, "salt/job/")
	l := s.master.Client(t)
	publish := func(fun string, arg ...any) *client.Job {
		t.Helper()
		j, err := l.Publish(t.Context(), client.Request{Target: "web1", Kind: "glob", Fun: fun, Arg: arg})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	long := publish("test.sleep", int64(60))
	e := testsalt.AwaitEvent(t, bus, "salt/job/"+string(long.ID)+"/ack/")
	if want := "salt/job/" + string(long.ID) + "/ack/web1"; e.Tag != want {
		t.Errorf("event %s, want %s", e.Tag, want)
	}
	s.awaitState(t, long.ID, "web1", returners.Acknowledged)
	testsalt.AwaitEvent(t, bus, "salt/job/"+string(publish("test.ping").ID)+"/ret/web1")
	testsalt.AwaitEvent(t, bus, "salt/job/"+
		string(publish("saltutil.find_job", string(long.ID)).ID)+"/ret/web1")
	s.awaitState(t, long.ID, "web1", returners.Running) // the question was answered
	s.restart(t)
	if got := s.states(t, long.ID)["web1"]; got != returners.Running {
		t.Errorf("after a restart web1 is %q", got)
	}
	bus = s.master.Listen(t, "salt/job/")
	s.awaitConnected(t, func(ids []string) bool { return len(ids) == 1 })
	l = s.master.Client(t)
	publish("saltutil.kill_job", string(long.ID))
	testsalt.AwaitEvent(t, bus, "salt/job/"+string(long.ID)+"/ret/web1")
	if got := s.states(t, long.ID)["web1"]; got != returners.Returned {
		t.Errorf("after its return web1 is %q", got)
	}
}

// TestQueuedJobRunsOnceWhenItsMinionIsBack keeps a job for a minion that is away, over restarts of
// the master before and of the minion after it ran.
func TestQueuedJobRunsOnceWhenItsMinionIsBack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.minion(t, "web1").Stop()
	s.minion(t, "web2")
	s.awaitConnected(t, func(ids []string) bool { return slices.Equal(ids, []string{"web2"}) })
	plain := s.order(t, "web1", nil)
	if !plain.Told || !slices.Equal(plain.Absent, []string{"web1"}) || len(plain.Queued) > 0 {
		t.Errorf("a job without --queue: absent %v, queued %v", plain.Absent, plain.Queued)
	}
	j := s.order(t, "web1", data.NewMap("queue", int64(0)))
	if !slices.Equal(j.Queued, []string{"web1"}) || time.Until(j.Expires) < 23*time.Hour {
		t.Fatalf("queued %v until %v", j.Queued, j.Expires)
	}
	cancelled := s.order(t, "web1", data.NewMap("queue", int64(600)))
	if entries, err := queue.List(s.cache()); err != nil || len(entries) != 2 ||
		entries[0].ID != j.ID || entries[0].Minion != "web1" {
		t.Errorf("list: %+v, %v", entries, err)
	}
	if entries, err := queue.Cancel(s.cache(), cancelled.ID); err != nil || len(entries) != 1 {
		t.Errorf("cancel: %+v, %v", entries, err)
	}
	s.awaitState(t, cancelled.ID, "web1", returners.Gone)
	s.awaitState(t, j.ID, "web1", returners.Queued)
	s.restart(t)
	if got := s.states(t, j.ID)["web1"]; got != returners.Queued {
		t.Errorf("after a restart of the master web1 is %q", got)
	}
	bus := s.master.Listen(t, "salt/job/")
	web1 := s.minion(t, "web1")
	testsalt.AwaitEvent(t, bus, "salt/job/"+string(j.ID)+"/ret/web1")
	s.awaitEmpty(t)
	if got := s.states(t, j.ID)["web1"]; got != returners.Returned || s.runs(t) != 1 {
		t.Errorf("web1 is %q and has run %d jobs", got, s.runs(t))
	}
	web1.Stop()
	s.minion(t, "web1")
	if got := s.states(t, plain.ID)["web1"]; got != returners.Absent || s.runs(t) != 1 {
		t.Errorf("the job that was not queued is %q; %d jobs have run", got, s.runs(t))
	}
}

func (s *scene) awaitEmpty(t *testing.T) {
	t.Helper()
	awaits(t, func() (string, bool) {
		entries, err := queue.List(s.cache())
		return fmt.Sprint("queue: ", entries, err), err == nil && len(entries) == 0
	})
}

// TestQueuedJobIsNotRunTwiceAfterACrash puts the queue into the state of each moment at which the
// master could be killed while it sends a job, before and after the minion has run it: the job runs
// once in all.
func TestQueuedJobIsNotRunTwiceAfterACrash(t *testing.T) {
	need.Time(t, "the master looks at its queue several times")
	t.Parallel()
	for _, tt := range []struct {
		name       string
		begun, ran bool
	}{
		{"before it was written down that the job is sent", false, false},
		{"before the job was sent", true, false},
		{"after the minion has run the job", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			web1 := s.minion(t, "web1")
			if !tt.ran {
				web1.Stop()
				s.awaitConnected(t, func(ids []string) bool { return len(ids) == 0 })
			}
			j := s.order(t, "web1", data.NewMap("queue", int64(0)))
			if tt.ran {
				s.awaitState(t, j.ID, "web1", returners.Returned)
				web1.Stop()
			}
			s.master.Stop(t)
			s.requeue(t, j.ID, tt.begun)
			s.start(t, s.master.Config.RetPort, s.master.Config.PublishPort)
			s.minion(t, "web1")
			if !tt.ran {
				s.awaitState(t, j.ID, "web1", returners.Returned)
				s.awaitEmpty(t)
			}
			s.drain(t)
			if n := s.runs(t); n != 1 {
				t.Errorf("the job was run %d times", n)
			}
		})
	}
}

// requeue makes the queue what it was before a job was sent, or when its sending had begun.
func (s *scene) requeue(t *testing.T, id job.ID, begun bool) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(s.cache(), "offline")); err != nil {
		t.Fatal(err)
	}
	r, err := jobstore.OpenReadOnly(t.Context(), filepath.Join(s.cache(), "jobs.db"), jobstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	known, err := r.Job(t.Context(), id)
	r.Close()
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(s.cache(), queue.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Put(queue.Item{ID: id, Owner: queue.Owner{Name: "root", Full: true},
		Load: known.Load, Minions: []string{"web1"}, Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if begun {
		if ok, err := q.Begin(id, "web1"); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
}

// drain runs a job after the queue was looked at more than once, so that what was sent before is
// done.
func (s *scene) drain(t *testing.T) {
	t.Helper()
	l := s.master.Client(t)
	for range 3 {
		j, err := l.Publish(t.Context(),
			client.Request{Target: "web1", Kind: "glob", Fun: "test.sleep", Arg: []any{int64(1)}})
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range l.Results(t.Context(), j,
			client.Wait{Timeout: 10 * time.Second, Gather: 10 * time.Second, ShowSilent: true}) {
			if err != nil || r.Missing {
				t.Fatal(r, err)
			}
		}
	}
}

// TestQueuedJobExpires lets a queued job expire.
func TestQueuedJobExpires(t *testing.T) {
	need.Time(t, "the master looks at its queue several times")
	t.Parallel()
	s := newScene(t)
	s.minion(t, "web1").Stop()
	s.awaitConnected(t, func(ids []string) bool { return len(ids) == 0 })
	bus := s.master.Listen(t, "salt/job/")
	j := s.order(t, "web1", data.NewMap("queue", int64(1)))
	s.awaitState(t, j.ID, "web1", returners.Missed)
	testsalt.AwaitEvent(t, bus, "salt/job/"+string(j.ID)+"/missed/web1")
	s.minion(t, "web1")
	s.drain(t)
	if n := s.runs(t); n != 0 {
		t.Errorf("an expired job was run %d times", n)
	}
}

// TestCommandLineKnowsWhy waits for a minion that answers, one that is away, one with a queued job
// and one without a key: each is reported correctly.
func TestCommandLineKnowsWhy(t *testing.T) {
	need.Time(t, "it waits for minions that are away")
	t.Parallel()
	s := newScene(t)
	s.minion(t, "web1")
	s.minion(t, "queued").Stop()
	s.minion(t, "away").Stop()
	s.awaitConnected(t, func(ids []string) bool { return len(ids) == 1 })
	for _, tt := range []struct {
		kwargs *data.Map
		want   string
	}{
		{nil, "map[away:2 queued:2 stranger:1]"},
		{data.NewMap("queue", int64(60)), "map[away:3 queued:3 stranger:1]"},
	} {
		l := s.master.Client(t)
		j, err := l.Publish(t.Context(),
			client.Request{Target: []any{"web1", "away", "queued", "stranger"},
				Kind: "list", Fun: "test.ping", Kwargs: tt.kwargs})
		if err != nil {
			t.Fatal(err)
		}
		silent, returned := map[string]client.Reason{}, 0
		for r, err := range l.Results(t.Context(), j,
			client.Wait{Timeout: 2 * time.Second, Gather: time.Second, ShowSilent: true}) {
			switch {
			case err != nil:
				t.Fatal(err)
			case r.Missing:
				silent[r.ID] = r.Reason
			default:
				returned++
			}
		}
		if got := fmt.Sprint(silent); got != tt.want || returned != 1 {
			t.Errorf("with %s: %d returned, silent %s, want %s", data.Repr(tt.kwargs), returned, got, tt.want)
		}
	}
}
