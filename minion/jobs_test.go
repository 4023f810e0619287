package minion

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
)

// A workshop is a minion without a network, with functions that count and wait.
type workshop struct {
	*Minion
	link   *link
	master *fakeMaster
	ran    atomic.Int64
	atOnce atomic.Int64
	most   atomic.Int64
	hold   chan struct{} // what test.hold waits for
}

func newWorkshop(t *testing.T, cfg *config.Minion) *workshop {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(cfg.CacheDir, "proc"), 0o700); err != nil {
		t.Fatal(err)
	}
	cfg.ID, cfg.PubRet = "web1", true
	w := &workshop{Minion: newMinion(cfg, data.NewMap(), Options{Log: quiet()}),
		master: &fakeMaster{}, hold: make(chan struct{})}
	w.bus = eventbus.New(eventbus.Options{Log: w.log})
	w.facts = &facts{current: data.NewMap(), pillarMap: data.NewMap()}
	var err error
	if w.funcs, err = loader.NewRegistry(&loader.Env{},
		[]loader.Plugin{{Name: "test", New: w.module}, {Name: "saltutil", New: w.module}}); err != nil {
		t.Fatal(err)
	}
	c, _ := newTestCourier(t, w.master, filepath.Join(cfg.CacheDir, "spool"))
	w.link = &link{m: w.Minion, log: w.log, gate: c.gate, courier: c,
		address: masterAddress{text: "salt"}, acks: newAcks("web1", quiet(), nil, nil)}
	w.links = []*link{w.link}
	w.jobs = newJobs(w.Minion, false)
	t.Cleanup(func() { w.jobs.seen.close() })
	return w
}

func (w *workshop) module(*loader.Env) (*loader.Module, error) {
	count := func(context.Context, loader.NoArgs) (any, error) { return w.ran.Add(1), nil }
	hold := func(context.Context, loader.NoArgs) (any, error) {
		w.most.Store(max(w.most.Load(), w.atOnce.Add(1)))
		defer w.atOnce.Add(-1)
		<-w.hold
		return w.ran.Add(1), nil
	}
	return &loader.Module{Funcs: []loader.Func{loader.F("count", count),
		loader.F("find_job", count), loader.F("hold", hold)}}, nil
}

func (w *workshop) publish(fun string, jid int) {
	w.jobs.start(context.Background(),
		&job.Publication{JID: job.ID(fmt.Sprintf("%020d", jid)), Fun: []string{fun},
			Target: "*"}, w.link, 100)
}

func (w *workshop) wait() {
	w.jobs.work.done.Wait()
	w.jobs.queries.done.Wait()
}

func TestCVE2022_22936(t *testing.T) {
	cfg := &config.Minion{MinionPaths: config.MinionPaths{CacheDir: t.TempDir()}}
	w := newWorkshop(t, cfg)
	w.publish("test.count", 1)
	w.publish("test.count", 1)
	w.wait()
	w.publish("test.count", 1)
	w.wait()
	if err := w.jobs.close(); err != nil {
		t.Fatal(err)
	}
	after := newWorkshop(t, cfg)
	after.publish("test.count", 1)
	after.publish("test.count", 2)
	after.wait()
	if w.ran.Load() != 1 || after.ran.Load() != 1 {
		t.Errorf("ran %d times before the restart, %d after it", w.ran.Load(), after.ran.Load())
	}
}

// TestRepeatedJobIsAcknowledgedAgain takes a job twice, as from a master that was killed before it
// kept the acknowledgement, and a question about jobs: the job runs once and waits to be
// acknowledged twice.
func TestRepeatedJobIsAcknowledgedAgain(t *testing.T) {
	w := newWorkshop(t, &config.Minion{MinionPaths: config.MinionPaths{CacheDir: t.TempDir()}})
	w.link.acks.want.Store(true)
	for range 2 {
		w.publish("test.count", 1)
		w.publish("saltutil.find_job", 2)
		w.wait()
	}
	var told []job.ID
	for _, a := range w.link.acks.waiting {
		told = append(told, a.jid)
	}
	if want := []job.ID{"00000000000000000001", "00000000000000000001"}; !slices.Equal(told,
		want) || w.ran.Load() != 2 {
		t.Errorf("to be acknowledged: %v, want %v; %d jobs have run, want 2", told, want, w.ran.Load())
	}
	if err := w.jobs.sync(told); err != nil {
		t.Error(err)
	}
}

func TestFloodIsBoundedAndQuestionsAreAnswered(t *testing.T) {
	w := newWorkshop(t, &config.Minion{MinionPaths: config.MinionPaths{CacheDir: t.TempDir()},
		MinionJobs: config.MinionJobs{ProcessCountMax: 4}})
	w.jobs.work.maxWaiting = 100
	for n := range 200 {
		w.publish("test.hold", n)
	}
	w.publish("saltutil.find_job", 1000)
	for end := time.Now().Add(10 * time.Second); w.ran.Load() == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // the function tells nobody else
	}
	if w.ran.Load() != 1 {
		t.Fatal("the question waits behind the jobs")
	}
	if n := len(w.Running()); n != 104 && n != 105 {
		t.Errorf("%d jobs count as running, want 104", n)
	}
	close(w.hold)
	w.wait()
	if w.ran.Load() != 105 || w.most.Load() > 4 {
		t.Errorf("%d jobs ran, %d at once", w.ran.Load(), w.most.Load())
	}
	deliverAll(t, w.link.courier)
	if _, got := w.master.state(); len(got) != 201 {
		t.Errorf("%d returns for 201 publications", len(got))
	}
	if left, err := os.ReadDir(w.jobs.proc.dir); err != nil || len(left) > 0 {
		t.Errorf("files of jobs: %v %v", left, err)
	}
}

func TestJobsLeftByAKillAreReported(t *testing.T) {
	cfg := &config.Minion{MinionPaths: config.MinionPaths{CacheDir: t.TempDir()}}
	w := newWorkshop(t, cfg)
	pub := &job.Publication{JID: "20260101000000000001", Fun: []string{"state.apply"},
		Arg: []any{"web"}, Target: "*", User: "root"}
	if err := w.jobs.proc.add(pub, "salt"); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{"20260101000000000002": "",
		"20260101000000000003": "\xdf\xff\xff\xff\xff", "README": "x"} {
		if err := os.WriteFile(filepath.Join(w.jobs.proc.dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w = newWorkshop(t, cfg)
	w.jobs.report()
	deliverAll(t, w.link.courier)
	_, got := w.master.state()
	slices.Sort(got)
	if want := []string{"20260101000000000001", "20260101000000000002",
		"20260101000000000003"}; !slices.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
	w.publish("test.count", 7)
	w.jobs.start(context.Background(),
		&job.Publication{JID: "20260101000000000001", Fun: []string{"test.count"}, Target: "*"}, w.link, 1)
	w.wait()
	if w.ran.Load() != 1 {
		t.Errorf("%d jobs ran, want 1: one that was reported must not run", w.ran.Load())
	}
	if left, err := os.ReadDir(w.jobs.proc.dir); err != nil || len(left) != 1 {
		t.Errorf("files in proc: %v %v", left, err)
	}
}

func TestUnsafeJobIDsAreRefused(t *testing.T) {
	w := newWorkshop(t, &config.Minion{MinionPaths: config.MinionPaths{CacheDir: t.TempDir()}})
	for _, jid := range []string{"", "..", "../x", "a/b", "a\x00b", "a\nb", string(make([]byte, 100))} {
		w.jobs.start(context.Background(),
			&job.Publication{JID: job.ID(jid), Fun: []string{"test.count"}, Target: "*"}, w.link, 1)
	}
	w.wait()
	if w.ran.Load() != 0 {
		t.Errorf("%d jobs ran", w.ran.Load())
	}
}

func TestBlackoutLists(t *testing.T) {
	for name, tt := range map[string]struct {
		facts *data.Map
		fun   string
		want  bool
	}{
		"off":            {data.NewMap(), "test.ping", false},
		"on":             {data.NewMap("minion_blackout", true), "test.ping", true},
		"refresh is let": {data.NewMap("minion_blackout", true), "saltutil.refresh_pillar", false},
		"on the list": {data.NewMap("minion_blackout", true, "minion_blackout_whitelist",
			[]any{"test.ping"}), "test.ping", false},
		"not on the list": {data.NewMap("minion_blackout", true, "minion_blackout_whitelist",
			[]any{"test.ping"}), "test.echo", true},
		"list is one text": {data.NewMap("minion_blackout", true, "minion_blackout_whitelist",
			"test.ping"), "test.ping", false},
	} {
		if got := blackout(tt.facts, tt.fun); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
