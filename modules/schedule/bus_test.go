package schedule

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/schedule"
)

// minionOnBus runs a scheduler behind a minion's event bus, whose sockets are below dir.
func minionOnBus(t *testing.T, dir, jobs string) {
	t.Helper()
	s, err := schedule.New(schedule.Options{Jobs: read(t, jobs), Location: time.UTC,
		Run: func(context.Context, schedule.Call) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := eventbus.MinionSockets(filepath.Join(dir, "run"), "web1", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	bus, ready := eventbus.New(eventbus.Options{}), make(chan struct{})
	requests := bus.Subscribe(eventbus.SubscribeOptions{Prefixes: []string{"manage_schedule"}})
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := bus.Serve(ctx, sockets,
			eventbus.ServeOptions{Ready: func() { close(ready) }}); err != nil && ctx.Err() == nil {
			t.Errorf("bus: %v", err)
		}
	})
	done.Go(func() { answerAll(ctx, t, s, bus, requests) })
	t.Cleanup(func() { stop(); done.Wait(); requests.Close() })
	<-ready
}

func answerAll(
	ctx context.Context, t *testing.T, s *schedule.Scheduler, bus *eventbus.Bus,
	requests *eventbus.Subscription,
) {
	for event := range requests.All(ctx) {
		request, err := event.Map()
		if err != nil {
			t.Error(err)
			return
		}
		tag, body, err := s.Manage(ctx, request)
		if err == nil && tag != "" {
			err = bus.Fire(tag, body)
		}
		if err != nil {
			t.Errorf("answer %s: %v", data.Repr(request), err)
		}
	}
}

func TestSaltCallUsesMinionOfHost(t *testing.T) {
	dir := t.TempDir()
	opts := data.NewMap("conf_file", filepath.Join(dir, "minion"), "id", "web1",
		"sock_dir", filepath.Join(dir, "run"))
	r, err := loader.NewRegistry(&loader.Env{Opts: opts}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{Registry: r, t: t, dir: dir}
	f.expect("add | job2 | function=test.ping | seconds=60",
		"{'comment': 'Failed to add job job2 to schedule.', 'result': False, 'changes': {}}")
	minionOnBus(t, dir, job1)
	for _, c := range [][2]string{
		{"add | job2 | function=test.ping | seconds=60",
			"{'comment': 'Added job: job2 to schedule.', 'result': True, 'changes': {'job2': 'added'}}"},
		{"disable_job | job1", "{'comment': 'Disabled Job job1 in schedule.', 'result': True, 'changes': {'job1': 'disabled'}}"},
		{"disable_job | job1", "{'comment': 'Disabled Job job1 in schedule.', 'result': True, 'changes': {'job1': 'disabled'}}"},
		{"delete | job2", "{'comment': 'Deleted Job job2 from schedule.', 'result': True, 'changes': {'job2': 'removed'}}"},
		{"delete | job2", "{'comment': 'Job job2 does not exist.', 'result': False, 'changes': {}}"},
		{"list | return_yaml=False", "{'job1': {'function': 'test.ping', 'hours': 1, 'maxrunning': 1, 'name': 'job1', 'enabled': False, 'jid_include': True}}"},
	} {
		f.expect(c[0], c[1])
	}
	if got := f.call("job_status | job1 | time_fmt=(%Y)"); !strings.Contains(got, "'_next_fire_time': '(20") {
		t.Errorf("job_status gives %s", got)
	}
}
