package schedule

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/schedule"
	"github.com/brineproject/brine/yaml"
)

// A fake is a minion around the module: a scheduler and a bus for its events only.
type fake struct {
	*loader.Registry
	t         *testing.T
	dir       string
	scheduler *schedule.Scheduler // nil if no minion runs
	silent    bool                // the minion receives events and answers none
	fired     []string
	published []string
	publish   any // the result of publish.publish

	mu      sync.Mutex
	answers map[string]*data.Map
	runs    []string
}

// inMinion runs f with the module in a minion whose schedule has the jobs.
func inMinion(t *testing.T, jobs, pillar string, f func(f *fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		x := &fake{t: t, dir: t.TempDir(), answers: map[string]*data.Map{}}
		var err error
		x.scheduler, err = schedule.New(schedule.Options{Jobs: read(t, jobs),
			Pillar: read(t, pillar), File: x.path("_schedule.conf"), Location: time.UTC,
			Now: func() time.Time { return time.Date(2017, 11, 29, 15, 0, 0, 0, time.UTC) }, Run: x.run})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = x.scheduler.Run(ctx) })
		synctest.Wait()
		x.Registry = x.registry(t, read(t, pillar))
		f(x)
		cancel()
		wg.Wait()
	})
}

func read(t *testing.T, text string) *data.Map {
	t.Helper()
	v, err := yaml.Load([]byte(text), yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := v.(*data.Map)
	return m
}

func (f *fake) path(name string) string { return filepath.Join(f.dir, "minion.d", name) }

func (f *fake) registry(t *testing.T, pillar *data.Map) *loader.Registry {
	t.Helper()
	in := data.NewMap()
	if pillar != nil {
		in.Set("schedule", pillar)
	}
	opts := data.NewMap("conf_file", filepath.Join(f.dir, "minion"), "default_include",
		"minion.d/*.conf", "id", "web1", "sock_dir", filepath.Join(f.dir, "run"))
	r, err := loader.NewRegistry(&loader.Env{Opts: opts, Pillar: func() *data.Map { return in },
		Host: loader.Host{Bus: f}}, []loader.Plugin{Plugin(), f.publisher()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type publishArgs struct {
	Tgt string
	Fun string
	Arg []any
}

// publisher returns the module publish.
func (f *fake) publisher() loader.Plugin {
	return loader.Plugin{Name: "publish", New: func(*loader.Env) (*loader.Module, error) {
		if f.publish == nil {
			return nil, errors.New("not here")
		}
		return &loader.Module{Funcs: []loader.Func{loader.F("publish",
			func(_ context.Context, a publishArgs) (any, error) {
				f.published = append(f.published, a.Tgt+" "+a.Fun+" "+data.Repr(a.Arg))
				return f.publish, nil
			})}}, nil
	}}
}

func (f *fake) run(_ context.Context, c schedule.Call) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs = append(f.runs, c.Name)
	return nil
}

func (f *fake) Fire(ctx context.Context, tag string, body *data.Map) error {
	f.fired = append(f.fired, tag+" "+data.Repr(body))
	switch {
	case f.scheduler == nil:
		return errors.New("no minion")
	case f.silent || tag != "manage_schedule":
		return nil
	}
	answer, reply, err := f.scheduler.Manage(ctx, body)
	if err != nil {
		f.t.Errorf("Manage(%s): %v", data.Repr(body), err)
	}
	f.answers[answer] = reply
	return nil
}

func (f *fake) Await(ctx context.Context, tag string, act func() error) (*data.Map, error) {
	clear(f.answers)
	if err := act(); err != nil {
		return nil, err
	}
	for answer, body := range f.answers {
		if strings.HasPrefix(answer, tag) {
			return body, nil
		}
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// call runs a function as a job and returns the result in Python's form.
func (f *fake) call(line string) string {
	f.t.Helper()
	argv := strings.Split(line, " | ")
	res := f.Call(f.t.Context(), "schedule."+argv[0], loader.WireArgs(argv[1:]),
		loader.CallOptions{Pub: data.NewMap("jid", "me")})
	return data.Repr(res.Value)
}

func (f *fake) expect(line, want string) {
	f.t.Helper()
	if got := f.call(line); got != want {
		f.t.Errorf("schedule.%s gives\n%s\nwant\n%s", line, got, want)
	}
}

const job1 = "job1: {function: test.ping, hours: 1, maxrunning: 1, name: job1, enabled: true, jid_include: true}"

// TestCallsTwice runs functions; those that change something run twice.
func TestCallsTwice(t *testing.T) {
	const ping = "'function': 'test.ping', "
	const rest = "'maxrunning': 1, 'name': 'job2', 'enabled': True, 'jid_include': True"
	inMinion(t, job1, "pillared: {function: test.fib, days: 1}", func(f *fake) {
		for _, c := range [][2]string{
			{"add | job1 | function=test.ping",
				"{'comment': 'Job job1 already exists in schedule.', 'result': False, 'changes': {}}"},
			{"add | job2 | function=test.ping | seconds=3600 | when=2400",
				`{'comment': 'Error: Unable to use "seconds", "minutes", "hours", or "days" with "when" or "cron" options.', 'result': False, 'changes': {}}`},
			{"add | job2 | function=test.ping | when=2400 | cron=2",
				`{'comment': 'Unable to use "when" and "cron" options together.  Ignoring.', 'result': False, 'changes': {}}`},
			{"add | job2 | function=test.ping | test=True",
				"{'comment': 'Job: job2 would be added to schedule.', 'result': True, 'changes': {}}"},
			{"add |  | function=test.ping", "{'comment': 'Job name is required.', 'result': False}"},
			{"add | job2 | function=test.ping | seconds=3600",
				"{'comment': 'Added job: job2 to schedule.', 'result': True, 'changes': {'job2': 'added'}}"},
			{"add | job2 | function=test.ping | seconds=3600",
				"{'comment': 'Job job2 already exists in schedule.', 'result': False, 'changes': {}}"},
			{"modify | job2 | seconds=3600 | test=True",
				"{'comment': 'Job job2 in correct state', 'changes': {}, 'result': True}"},
			{"modify | job2 | seconds=60 | test=True",
				"{'comment': 'Job: job2 would be modified in schedule.', 'changes': {'job2': {'old': {" + ping + "'seconds': 3600, " + rest + "}, 'new': {" + ping + "'seconds': 60, " + rest + "}}}, 'result': True}"},
			{"modify | job2 | seconds=60",
				"{'comment': 'Modified job: job2 in schedule.', 'changes': {'job2': {'old': {" +
					ping + "'seconds': 3600, " + rest + "}, 'new': {" + ping + "'seconds': 60, " +
					rest + "}}}, 'result': True}"},
			{"modify | job2 | seconds=60",
				"{'comment': 'Job job2 in correct state', 'changes': {}, 'result': True}"},
			{"modify | job3 | seconds=60",
				"{'comment': 'Job job3 does not exist in schedule.', 'changes': {}, 'result': False}"},
			{"modify | job2 | seconds=60 | cron=2",
				`{'comment': 'Error: Unable to use "seconds", "minutes", "hours", or "days" with "when" option.', 'changes': {}, 'result': False}`},
			{"modify | job2 | when=2400 | cron=2",
				`{'comment': 'Unable to use "when" and "cron" options together.  Ignoring.', 'changes': {}, 'result': False}`},
			{"list | return_yaml=False", "{'pillared': {'function': 'test.fib', 'days': 1, " +
				"'name': 'pillared', 'enabled': True}, 'job1': {" + ping +
				"'hours': 1, 'maxrunning': 1, 'name': " +
				"'job1', 'enabled': True, 'jid_include': True}, 'job2': {" + ping +
				"'seconds': 60, " + rest + "}}"},
			{"list | return_yaml=False | where=pillar",
				"{'pillared': {'function': 'test.fib', 'days': 1, 'name': 'pillared', 'enabled': True}}"},
			{"disable_job | job1 | test=True",
				"{'comment': 'Job: job1 would be disabled in schedule.', 'result': True, 'changes': {}}"},
			{"disable_job | job1", "{'comment': 'Disabled Job job1 in schedule.', 'result': True, 'changes': {'job1': 'disabled'}}"},
			{"disable_job | job1", "{'comment': 'Disabled Job job1 in schedule.', 'result': True, 'changes': {'job1': 'disabled'}}"},
			{"disable_job | pillared", "{'comment': 'Failed to disable job pillared in schedule.', 'result': False, 'changes': {}}"},
			{"disable_job | nosuch", "{'comment': 'Job nosuch does not exist.', 'result': False, 'changes': {}}"},
			{"list | return_yaml=False | show_disabled=False | where=opts", "{'job2': {" + ping +
				"'seconds': 60, " + rest + "}}"},
			{"run_job | job1", "{'comment': 'Job job1 is disabled.', 'result': True}"},
			{"run_job | job1 | force=True", "{'comment': 'Scheduling Job job1 on minion.', 'result': True}"},
			{"run_job | job2", "{'comment': 'Scheduling Job job2 on minion.', 'result': True}"},
			{"run_job | nosuch", "{'comment': 'Job nosuch does not exist.', 'result': False}"},
			{"enable_job | job1", "{'comment': 'Enabled Job job1 in schedule.', 'result': True, 'changes': {'job1': 'enabled'}}"},
			{"enable_job | job1", "{'comment': 'Enabled Job job1 in schedule.', 'result': True, 'changes': {'job1': 'enabled'}}"},
			{"enable_job | nosuch", "{'comment': 'Job nosuch does not exist.', 'result': False, 'changes': {}}"},
			{"is_enabled", "True"},
			{"is_enabled | job1", "{" + ping +
				"'hours': 1, 'maxrunning': 1, 'name': 'job1', 'enabled': True, 'jid_include': True}"},
			{"is_enabled | nosuch", "{}"},
			{"disable | test=True", "{'comment': 'Schedule would be disabled.', 'changes': {}, 'result': True}"},
			{"disable", "{'comment': 'Disabled schedule on minion.', 'changes': {'schedule': 'disabled'}, 'result': True}"},
			{"disable", "{'comment': 'Disabled schedule on minion.', 'changes': {'schedule': 'disabled'}, 'result': True}"},
			{"is_enabled", "False"},
			{"enable | test=True", "{'comment': 'Schedule would be enabled.', 'changes': {}, 'result': True}"},
			{"enable", "{'comment': 'Enabled schedule on minion.', 'changes': {'schedule': 'enabled'}, 'result': True}"},
			{"enable", "{'comment': 'Enabled schedule on minion.', 'changes': {'schedule': 'enabled'}, 'result': True}"},
			{"save | test=True", "{'comment': 'Schedule would be saved.', 'result': True}"},
			{"save", "{'comment': 'Schedule (non-pillar items) saved.', 'result': True}"},
			{"save", "{'comment': 'Schedule (non-pillar items) saved.', 'result': True}"},
			{"show_next_fire_time | job2", "{'result': True, 'next_fire_time': '2017-11-29T15:01:00'}"},
			{"show_next_fire_time | job2", "{'result': True, 'next_fire_time': '2017-11-29T15:01:00'}"},
			{"show_next_fire_time | nosuch", "{'result': True, 'next_fire_time': None}"},
			{"postpone_job | job1 | 2017-11-29T16:00:00 | 2017-11-29T17:00:00",
				"{'comment': 'Postponed Job job1 in schedule.', 'result': True}"},
			{"postpone_job | job1 | 2017-11-29T16:00:00 | 2017-11-29T17:00:00",
				"{'comment': 'Postponed Job job1 in schedule.', 'result': True}"},
			{"postpone_job | job1 | soon | 2017-11-29T17:00:00",
				"{'comment': 'Date string could not be parsed.', 'result': False}"},
			{"postpone_job | job1 | 2017-11-29T16:00:00 | later",
				"{'comment': 'Date string could not be parsed.', 'result': False}"},
			{"postpone_job |  | 2017-11-29T16:00:00 | later",
				"{'comment': 'Job name is required.', 'result': False}"},
			{"postpone_job | job1 |  | later",
				"{'comment': 'Job current time is required.', 'result': False}"},
			{"postpone_job | job1 | 2017-11-29T16:00:00 | ",
				"{'comment': 'Job new_time is required.', 'result': False}"},
			{"postpone_job | nosuch | 2017-11-29T16:00:00 | 2017-11-29T17:00:00",
				"{'comment': 'Job nosuch does not exist.', 'result': False}"},
			{"skip_job | job1 | 2017-11-29T16:00:00",
				"{'comment': 'Added Skip Job job1 in schedule.', 'result': True}"},
			{"skip_job | job1 | 29/11/2017 16 | time_fmt=%d/%m/%Y %H",
				"{'comment': 'Added Skip Job job1 in schedule.', 'result': True}"},
			{"skip_job | job1 | soon", "{'comment': 'Date string could not be parsed.', 'result': False}"},
			{"skip_job | nosuch | 2017-11-29T16:00:00",
				"{'comment': 'Job nosuch does not exist.', 'result': False}"},
			{"delete | job2 | test=True", "{'comment': 'Job: job2 would be deleted from schedule.', 'result': True, 'changes': {}}"},
			{"delete | job2", "{'comment': 'Deleted Job job2 from schedule.', 'result': True, 'changes': {'job2': 'removed'}}"},
			{"delete | job2", "{'comment': 'Job job2 does not exist.', 'result': False, 'changes': {}}"},
			{"delete | pillared", "{'comment': 'Failed to delete job pillared from schedule.', 'result': False, 'changes': {}}"},
			{"purge | test=True", "{'comment': ['Job: pillared would be deleted from schedule.', 'Job: job1 would be deleted from schedule.'], 'changes': {}, 'result': True}"},
			{"purge", "{'comment': ['Failed to delete job pillared from schedule.', 'Deleted job: job1 from schedule.'], 'changes': {'job1': 'removed'}, 'result': True}"},
			{"purge", "{'comment': ['Failed to delete job pillared from schedule.'], 'changes': {}, 'result': True}"},
		} {
			f.expect(c[0], c[1])
		}
		synctest.Wait()
		// jobs run in parallel
		if got := strings.Join(slices.Sorted(slices.Values(f.runs)), " "); got != "job1 job2" {
			t.Errorf("ran %s", got)
		}
	})
}

func TestListAsYAML(t *testing.T) {
	inMinion(t, job1+"\n__hidden: {function: a.b, hours: 1}\nsplay: 5\nwords: {function: a.b, enabled: 'false', splay: null, cron: '@daily'}", "", func(f *fake) {
		f.call("enable_job | job1")
		f.call("add | new | function=test.ping | job_args=[1] | days=1 | persist=False")
		want := `schedule:
  job1:
    enabled: true
    function: test.ping
    hours: 1
    jid_include: true
    maxrunning: 1
    name: job1
    saved: true
  new:
    args:
    - 1
    days: 1
    enabled: true
    function: test.ping
    jid_include: true
    maxrunning: 1
    name: new
    saved: false
  splay: 5
  words:
    cron: '@daily'
    enabled: false
    function: a.b
    name: words
    saved: true
`
		for range 2 {
			f.expect("list", data.Repr(want))
		}
		if got := f.call("list | show_all=True | return_yaml=False"); !strings.Contains(got, "__hidden") {
			t.Errorf("show_all leaves out hidden jobs: %s", got)
		}
	})
}

func TestJobStatus(t *testing.T) {
	inMinion(t, "job1: {function: test.ping, when: 4pm, enabled: false}", "", func(f *fake) {
		for range 2 {
			f.expect("job_status | job1 | time_fmt=%H:%M",
				"{'function': 'test.ping', 'when': '4pm', 'enabled': False, 'name': 'job1', '_next_fire_time': '16:00', "+
					"'_splay': None, '_next_scheduled_fire_time': '16:00', '_skipped': True, '_skip_reason': 'disabled', '_skipped_time': '15:00'}")
		}
		f.expect("job_status | nosuch", "{}")
	})
}

// TestJobsThatNeverRun checks that a job which the scheduler would ignore is rejected, with the
// text that the scheduler logs.
func TestJobsThatNeverRun(t *testing.T) {
	inMinion(t, "", "", func(f *fake) {
		for times, comment := range map[string]string{
			"seconds=-5":                     "Invalid interval of -5 seconds. Ignoring job j.",
			"hours=x":                        "Invalid hours x. Ignoring job j.",
			"cron=nonsense":                  "Invalid cron string. Ignoring job j.",
			"cron=61 * * * *":                "Invalid cron string. Ignoring job j.",
			"once=nonsense":                  "Date string could not be parsed: nonsense, %Y-%m-%dT%H:%M:%S. Ignoring job j.",
			"seconds=5 | until=nope":         "Invalid date string for until. Ignoring job j.",
			"seconds=5 | range={start: 8am}": "Invalid date string for end. Ignoring job j.",
		} {
			for range 2 {
				f.expect("add | j | function=test.ping | "+times, "{'comment': '"+comment+
					"', 'result': False}")
			}
		}
		f.expect("add | j | function=test.ping | seconds=0 | test=True",
			"{'comment': 'Job: j would be added to schedule.', 'result': True, 'changes': {}}")
		f.expect("add | j | function=test.ping | test=True",
			"{'comment': 'Job: j would be added to schedule.', 'result': True, 'changes': {}}")
	})
}

func TestBuildScheduleItem(t *testing.T) {
	inMinion(t, "", "", func(f *fake) {
		for _, c := range [][2]string{
			{"", "{'comment': 'Job name is required.', 'result': False}"},
			{"job1 | function=test.ping", "{'function': 'test.ping', 'maxrunning': 1, 'name': 'job1', 'enabled': True, 'jid_include': True}"},
			{"job1 | function=test.ping | seconds=3600 | when=2400",
				`{'comment': 'Unable to use "seconds", "minutes", "hours", or "days" with "when" or "cron" options.', 'result': False}`},
			{"job1 | function=test.ping | when=2400 | cron=2",
				`{'comment': 'Unable to use "when" and "cron" options together.  Ignoring.', 'result': False}`},
			{"job1 | function=test.ping | when=garbage",
				`{'comment': 'Schedule item garbage for "when" in invalid.', 'result': False}`},
			{"job1 | function=test.args | job_kwargs=[{'key1': 'value1'}]",
				"{'comment': 'job_kwargs is not a dict. please correct and try again.', 'result': False}"},
			{"job1 | function=test.args | job_args={'positional': 1}",
				"{'comment': 'job_args is not a list. please correct and try again.', 'result': False}"},
			{"job1 | function=test.ping | days=2 | return_job=False | metadata={a: 1} | job_args=[1] | job_kwargs={b: 2} | maxrunning=3 | enabled=False | jid_include=False | splay={end: 2, start: 1}",
				"{'function': 'test.ping', 'days': 2, 'return_job': False, 'metadata': {'a': 1}, " +
					"'args': [1], 'kwargs': {'b': 2}, 'maxrunning': 3, 'name': 'job1', 'enabled': False, " +
					"'jid_include': False, 'splay': {'start': 1, 'end': 2}}"},
			{"job1 | function=test.ping | when=[4pm, Monday 5pm] | splay=5 | until=6pm | other=1",
				"{'function': 'test.ping', 'maxrunning': " +
					"1, 'name': 'job1', 'enabled': True, 'jid_include': True, 'splay': 5, 'when': ['4pm', " +
					"'Monday 5pm'], 'until': '6pm'}"},
		} {
			for range 2 {
				f.expect("build_schedule_item | "+c[0], c[1])
			}
		}
		for line, want := range map[string]string{
			"build_schedule_item | job1": "KeyError: 'function'",
			"build_schedule_item | job1 | function=test.ping | splay={'start': 1}": "KeyError: 'end'",
			"build_schedule_item": "missing 1 required positional argument: 'name'",
		} {
			if got := f.call(line); !strings.Contains(got, strings.Trim(data.Repr(want), `'"`)) &&
				!strings.Contains(strings.ReplaceAll(got, `\'`, `'`), want) {
				t.Errorf("schedule.%s gives %s, want %s", line, got, want)
			}
		}
	})
}

func TestOffline(t *testing.T) {
	inMinion(t, "", "", func(f *fake) {
		f.scheduler = nil
		const added = "schedule:\n  job3: {function: test.ping, seconds: 3600, maxrunning: 1, name: job3, enabled: true,\n    jid_include: true}\n"
		for _, c := range [][3]string{
			{"add | job3 | function=test.ping | seconds=3600 | offline=True",
				"{'comment': 'Added job: job3 to schedule.', 'result': True, 'changes': {'job3': 'added'}}", added},
			{"add | job3 | function=test.ping | seconds=3600 | offline=True",
				"{'comment': 'Job job3 already exists in schedule.', 'result': False, 'changes': {}}", added},
			{"list | offline=True", data.Repr("schedule:\n  job3:\n    enabled: true\n    function: test.ping\n    jid_include: true\n    maxrunning: 1\n    name: job3\n    saved: true\n    seconds: 3600\n"), added},
			{"modify | job3 | seconds=60 | offline=True", "{'comment': 'Modified job: job3 in " +
				"schedule.', 'changes': {'job3': {'old': {'function': 'test.ping', 'seconds': 3600, " +
				"'maxrunning': 1, 'name': 'job3', 'enabled': True, 'jid_include': True}, 'new': " +
				"{'function': 'test.ping', 'seconds': 60, 'maxrunning': 1, 'name': 'job3', 'enabled': " +
				"True, 'jid_include': True}}}, 'result': True}",
				strings.Replace(added, "3600", "60", 1)},
			{"modify | job3 | seconds=60 | offline=True",
				"{'comment': 'Job job3 in correct state', 'changes': {}, 'result': True}",
				strings.Replace(added, "3600", "60", 1)},
			{"delete | job3 | offline=True",
				"{'comment': 'Deleted Job job3 from schedule.', 'result': True, 'changes': {'job3': 'removed'}}", "schedule: {}\n"},
			{"delete | job3 | offline=True",
				"{'comment': 'Job job3 does not exist.', 'result': False, 'changes': {}}", "schedule: {}\n"},
			{"add | b | function=test.ping | offline=True",
				"{'comment': 'Added job: b to schedule.', 'result': True, 'changes': {'b': 'added'}}", ""},
			{"add | a | function=test.ping | offline=True",
				"{'comment': 'Added job: a to schedule.', 'result': True, 'changes': {'a': 'added'}}", ""},
			{"purge | offline=True", "{'comment': ['Deleted job: a from schedule.', 'Deleted job: b from schedule.'], 'changes': {'a': 'removed', 'b': 'removed'}, 'result': True}", "schedule: {}\n"},
			{"purge | offline=True", "{'comment': [], 'changes': {}, 'result': True}", "schedule: {}\n"},
		} {
			f.expect(c[0], c[1])
			if got, err := os.ReadFile(f.path("_schedule.conf")); c[2] != "" &&
				(err != nil || string(got) != c[2]) {
				t.Errorf("after schedule.%s there is\n%s%v\nwant\n%s", c[0], got, err, c[2])
			}
		}
		if len(f.fired) != 0 {
			t.Errorf("fired %s", f.fired)
		}
	})
}

func TestMoveAndCopy(t *testing.T) {
	inMinion(t, job1, "p: {function: test.ping, kwargs: {a: 1}}", func(f *fake) {
		if got := f.call("copy | job1 | web2"); !strings.Contains(got, "publish.publish") {
			t.Errorf("without the module publish: %s", got)
		}
		for _, c := range []struct {
			answer     *data.Map
			line, want string
		}{
			{data.NewMap("web2", true), "copy | job1 | web2",
				"{'comment': 'Copied Job job1 from schedule to minion(s).', 'result': True, 'minions': ['web2']}"},
			{data.NewMap("web2", true), "copy | p | web2",
				"{'comment': 'Copied Job p from schedule to minion(s).', 'result': True, 'minions': ['web2']}"},
			{data.NewMap("web2", true, "web3", false), "copy | job1 | web*",
				"{'comment': 'the following minions return False', 'result': False, 'minions': ['web3']}"},
			{data.NewMap("web2", data.NewMap("result", true),
				"web3", data.NewMap("comment", "Job job1 already exists in schedule.",
					"result", false)), "move | job1 | web*",
				"{'comment': 'the following minions return False', 'result': False, 'minions': ['web3']}"},
			{data.NewMap(), "copy | job1 | nobody",
				"{'comment': 'no servers answered the published schedule.add command', 'result': False}"},
			{data.NewMap(), "move | job1 | web2",
				"{'comment': 'no servers answered the published schedule.add command', 'result': False}"},
			{data.NewMap("web2", true), "move | job1 | web2 | test=True",
				"{'comment': 'Job: job1 would be moved from schedule.', 'result': True}"},
			{data.NewMap("web2", true), "copy | job1 | web2 | test=True",
				"{'comment': 'Job: job1 would be copied from schedule.', 'result': True}"},
			{data.NewMap("web2", true), "move | job1 | web2",
				"{'comment': 'Moved Job job1 from schedule.', 'result': True, 'minions': ['web2']}"},
			{data.NewMap("web2", true), "move | job1 | web2",
				"{'comment': 'Job job1 does not exist.', 'result': False}"},
		} {
			f.publish = c.answer
			f.Reload()
			f.expect(c.line, c.want)
		}
		want := "web2 schedule.add ['function=test.ping', 'hours=1', 'maxrunning=1', 'name=job1', 'enabled=True', 'jid_include=True'], " +
			`web2 schedule.add ['function=test.ping', "kwargs={'a': 1}", 'name=p', 'enabled=True']`
		if got := strings.Join(f.published[:2], ", "); got != want {
			t.Errorf("published\n%s\nwant\n%s", got, want)
		}
	})
}

func TestReload(t *testing.T) {
	inMinion(t, "", "p: {function: test.ping}", func(f *fake) {
		pillar := "'Reloaded schedule from pillar on minion.'"
		empty := "{'comment': [" + pillar +
			", 'Failed to reload schedule on minion.  Saved file is empty or invalid.'], 'result': False}"
		f.expect("reload", "{'comment': ["+pillar+"], 'result': True}")
		for _, c := range [][3]string{
			{"_schedule.conf", "schedule: {a: {function: test.ping, hours: 1}}", "{'comment': [" +
				pillar + ", 'Reloaded schedule on minion from schedule.conf.'], 'result': True}"},
			{"schedule.conf", "schedule: {b: {function: test.ping, hours: 1}}", "{'comment': [" +
				pillar + ", 'Reloaded schedule on minion from schedule.conf.'], 'result': True}"},
			{"schedule.conf", "schedule: {}", empty},
			{"schedule.conf", "", empty},
			{"schedule.conf", "text", empty},
		} {
			if err := os.MkdirAll(filepath.Dir(f.path("")), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(f.path(""), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f.path(c[0]), []byte(c[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				f.expect("reload", c[2])
			}
		}
		if err := os.WriteFile(f.path("schedule.conf"), []byte("a: [\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := f.call("reload"); !strings.Contains(got, "Unable to read existing schedule file: ") {
			t.Errorf("of a broken file: %s", got)
		}
		if got := f.call("list | return_yaml=False | where=opts"); !strings.HasPrefix(got,
			"{'a': {") || !strings.Contains(got, "'b': {") {
			t.Errorf("after it there is %s", got)
		}
		f.scheduler = nil
		if got := f.call("reload"); !strings.Contains(got,
			"Failed to reload schedule from pillar on minion.") {
			t.Errorf("without a minion: %s", got)
		}
	})
}

// TestNoAnswer runs calls without a minion, and with one that does not answer.
func TestNoAnswer(t *testing.T) {
	for _, silent := range []bool{false, true} {
		inMinion(t, job1, "", func(f *fake) {
			f.silent = silent
			if !silent {
				f.scheduler = nil
			}
			for _, c := range [][2]string{
				{"list", `'schedule: {}\n'`},
				{"is_enabled", "True"},
				{"is_enabled | job1", "{}"},
				{"purge", "{'comment': [], 'changes': {}, 'result': True}"},
				{"delete | job1", "{'comment': 'Job job1 does not exist.', 'result': False, 'changes': {}}"},
				{"add | job1 | function=test.ping",
					"{'comment': 'Failed to add job job1 to schedule.', 'result': False, 'changes': {}}"},
				{"enable", "{'comment': [], 'changes': {}, 'result': True}"},
				{"save", "{'comment': 'Failed to save schedule.', 'result': False}"},
				{"show_next_fire_time | job1",
					"{'result': True, 'comment': 'next fire time not available.'}"},
				{"job_status | job1", "None"},
			} {
				f.expect(c[0], c[1])
			}
		})
	}
}

func TestTestOptionOfTheMinion(t *testing.T) {
	inMinion(t, job1, "", func(f *fake) {
		f.Env().Opts.Set("test", true)
		for range 2 {
			f.expect("enable_job | job1", "{'comment': 'Job: job1 would be enabled in schedule.', 'result': True, 'changes': {}}")
			f.expect("skip_job | job1 | 2017-11-29T16:00:00",
				"{'comment': 'Job: job1 would be skipped in schedule.', 'result': True}")
			f.expect("postpone_job | job1 | 2017-11-29T16:00:00 | 2017-11-29T17:00:00",
				"{'comment': 'Job: job1 would be postponed in schedule.', 'result': True}")
		}
		if len(f.fired) != 0 {
			t.Errorf("fired %s", f.fired)
		}
	})
}
