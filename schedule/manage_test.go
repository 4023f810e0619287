package schedule

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
)

// keysOf returns the names in the schedule of an answer.
func keysOf(body *data.Map) string {
	m, _ := body.Value("schedule").(*data.Map)
	var names []string
	for k := range m.All() {
		names = append(names, data.Str(k))
	}
	return strings.Join(names, " ")
}

func TestManageAnswersWithSaltsTags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "minion.d", "_schedule.conf")
	s := func(text string) *data.Map { return parsed(t, text) }
	inBubble(t, "2017-11-29T15:00:00", "a: {function: test.ping, hours: 1, _seconds: 5}\nold: text",
		Options{Pillar: s("p: {function: test.fib, hours: 2}"), File: file}, func(b *bench) {
			for _, c := range []struct {
				request   []any
				tag, keys string
			}{
				{[]any{"func", "add", "name", "b",
					"schedule", s("b: {function: test.ping, seconds: 5}"), "persist", true},
					"add_complete", "p a old b"},
				{[]any{"func", "add", "name", "b",
					"schedule", s("b: {function: test.ping, seconds: 5}"), "persist", true},
					"add_complete", "p a old b"},
				{[]any{"func", "add", "name", "p", "schedule",
					s("p: {function: test.ping, seconds: 5}")}, "add_complete", "p a old b"},
				{[]any{"func", "list", "where", nil}, "list_complete", "p a old b"},
				{[]any{"func", "list", "where", "opts"}, "list_complete", "a old b"},
				{[]any{"func", "list", "where", "pillar"}, "list_complete", "p"},
				{[]any{"func", "enable_job", "name", "a", "persist", true}, "enabled_job_complete",
					"p a old b"},
				{[]any{"func", "disable_job", "name", "a", "persist", true}, "disabled_job_complete",
					"p a old b"},
				{[]any{"func", "disable_job", "name", "p"}, "disabled_job_complete", "p a old b"},
				{[]any{"func", "enable_job", "name", "missing"}, "enabled_job_complete", "p a old b"},
				{[]any{"func", "modify", "name", "b", "schedule", s("{function: test.fib, seconds: 7}"),
					"persist", true}, "delete_complete", "p a old b"},
				{[]any{"func", "modify", "name", "c",
					"schedule", s("{function: test.fib, seconds: 7}")}, "", ""},
				{[]any{"func", "modify", "name", "p",
					"schedule", s("{function: test.fib, seconds: 7}")}, "", ""},
				{[]any{"func", "delete", "name", "c", "persist", true}, "delete_complete", "p a old b"},
				{[]any{"func", "delete", "name", "c", "persist", true}, "delete_complete", "p a old b"},
				{[]any{"func", "delete", "name", "p"}, "delete_complete", "p a old b"},
				{[]any{"func", "disable", "persist", true}, "disabled_complete", "p a old b enabled"},
				{[]any{"func", "enable", "persist", true}, "enabled_complete", "p a old b enabled"},
				{[]any{"func", "skip_job", "name", "a", "time", "2017-11-29T16:00:00"},
					"skip_job_complete", "p a old b enabled"},
				{[]any{"func", "postpone_job", "name", "b", "time", "2017-11-29T16:00:00", "new_time",
					"2017-11-29T17:00:00"}, "postpone_job_complete", "p a old b enabled"},
				{[]any{"func", "save_schedule"}, "saved", ""},
				{[]any{"func", "reload", "schedule",
					s("schedule: {r: {function: test.ping, days: 1}}")}, "", ""},
				{[]any{"func", "reload", "schedule", s("q: {function: test.ping, days: 1}")}, "", ""},
				{[]any{"func", "get_next_fire_time", "name", "b"}, "next_fire_time_complete", ""},
				{[]any{"func", "job_status", "name", "b", "fire_event", true}, "job_status_complete", ""},
				{[]any{"func", "job_status", "name", "b"}, "", ""},
				{[]any{"func", "run_job", "name", "b"}, "", ""},
				{[]any{"func", "run_job", "name", "missing"}, "", ""},
				{[]any{"func", "list"}, "list_complete", "p a old b enabled r q"},
			} {
				tag, body := b.ask(c.request...)
				if want := "/salt/minion/minion_schedule_" + c.tag; c.tag != "" && tag != want ||
					c.tag == "" && tag != "" {
					t.Errorf("%s is answered by %q", data.Repr(c.request), tag)
				}
				if c.tag != "" && body.Value("complete") != true || keysOf(body) != c.keys {
					t.Errorf("%s is answered with %s, want %s", data.Repr(c.request), data.Repr(body), c.keys)
				}
			}
			b.expect("b 1129T15:00:00")
		})
	got, err := os.ReadFile(file)
	want := `schedule:
  a:
    enabled: false
    function: test.ping
    hours: 1
    skip_explicit:
    - {time: '2017-11-29T16:00:00', time_fmt: '%Y-%m-%dT%H:%M:%S'}
  b:
    function: test.fib
    run_explicit:
    - {time: '2017-11-29T17:00:00', time_fmt: '%Y-%m-%dT%H:%M:%S'}
    seconds: 7
    skip_explicit:
    - {time: '2017-11-29T16:00:00', time_fmt: '%Y-%m-%dT%H:%M:%S'}
  enabled: true
  old: text
`
	if err != nil || string(got) != want {
		t.Errorf("saved\n%s%v\nwant\n%s", got, err, want)
	}
	if files, _ := os.ReadDir(filepath.Dir(file)); len(files) != 1 {
		t.Errorf("%d files beside one another", len(files))
	}
}

func TestManageRefuses(t *testing.T) {
	s := newBench(t, "2017-11-29T15:00:00", "a: {function: test.ping, hours: 1}", Options{})
	for _, c := range []struct {
		request string
		want    string
	}{
		{"func: add, schedule: text", "Scheduled jobs have to be of type dict."},
		{"func: add, schedule: {a: text}", "Scheduled jobs have to be of type dict."},
		{"func: add, schedule: {a: {}, b: {}}", "You can only schedule one new job at a time."},
		{"func: add", "Scheduled jobs have to be of type dict."},
		{"func: modify, name: a, schedule: text", "Scheduled jobs have to be of type dict."},
		{"func: reload, schedule: text", "Schedule must be of type dict."},
		{"func: reload, schedule: {schedule: text}", "Schedule must be of type dict."},
		{"func: nosuch", `Function "nosuch" is unavailable in salt.utils.scheduler`},
		{"func: [a]", `Function "['a']" is unavailable in salt.utils.scheduler`},
		{"name: [a], func: list", "name ['a']"},
		{"", `Function "None" is unavailable in salt.utils.scheduler`},
		{"func: skip_job, name: a", "time None"},
		{"func: skip_job, name: a, time: soon", "time 'soon'"},
		{"func: postpone_job, name: a, time: '2017-11-29T16:00:00'", "new_time None"},
	} {
		tag, body, err := s.Manage(t.Context(), parsed(t, "{"+c.request+"}"))
		if !errors.Is(err, ErrRequest) || !strings.Contains(err.Error(), c.want) || tag != "" || body != nil {
			t.Errorf("{%s} gives %q %v %v, want %s", c.request, tag, body, err, c.want)
		}
	}
	if _, _, err := s.Manage(t.Context(),
		data.NewMap("func", "run_job", "name", "a")); !errors.Is(err, errNotRunning) {
		t.Errorf("run_job before Run gives %v", err)
	}
	if _, _, err := s.Manage(t.Context(), nil); !errors.Is(err, ErrRequest) {
		t.Errorf("no request gives %v", err)
	}
}

func TestSavingThatFailsIsTold(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newBench(t, "2017-11-29T15:00:00", "", Options{File: filepath.Join(blocked, "_schedule.conf")})
	tag, body, err := s.Manage(t.Context(), data.NewMap("func", "enable", "persist", true))
	if err == nil || !strings.HasPrefix(err.Error(), "save the schedule: ") || tag == "" || body == nil {
		t.Errorf("gives %q %v %v", tag, body, err)
	}
}

func TestSavedFileKeepsItsMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "_schedule.conf")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info, err)
	}
}

func TestStatus(t *testing.T) {
	jobs := "a: {function: test.ping, seconds: 30, splay: 10}\nb: {function: test.ping, when: 4pm, enabled: false}\nc: {function: test.ping}"
	inBubble(t, "2017-11-29T15:00:00", jobs, Options{Rand: func(n int64) int64 { return n - 1 }},
		func(b *bench) {
			b.is("a", "_next_fire_time", "2017-11-29T15:00:30")
			b.is("a", "_splay", "2017-11-29T15:00:40")
			b.is("a", "_seconds", "30")
			b.is("a", "_last_run", "missing")
			b.is("a", "maxrunning", "missing")
			b.pass(time.Minute)
			b.is("a", "_last_run", "2017-11-29T15:00:40")
			b.is("a", "_next_fire_time", "2017-11-29T15:01:10")
			b.is("a", "maxrunning", "1")
			b.is("a", "jid_include", "True")
			b.is("a", "name", "a")
			b.is("b", "_skip_reason", "disabled")
			b.is("b", "_skipped_time", "2017-11-29T15:01:00")
			b.is("b", "_next_fire_time", "2017-11-29T16:00:00")
			b.is("c", "_next_fire_time", "None")
			if _, body := b.ask("func", "get_next_fire_time", "name",
				"a"); body.Value("next_fire_time") != "2017-11-29T15:01:10" {
				t.Errorf("next fire time is %s", data.Repr(body))
			}
			for _, name := range []string{"c", "missing"} {
				if _, body := b.ask("func", "get_next_fire_time",
					"name", name); !body.Has("next_fire_time") || body.Value("next_fire_time") != nil {
					t.Errorf("next fire time of %s is %s", name, data.Repr(body))
				}
			}
			if _, body := b.ask("func", "job_status", "name", "missing",
				"fire_event", true); data.Repr(body.Value("data")) != "{}" {
				t.Errorf("status of no job is %s", data.Repr(body))
			}
		})
}

func TestDisabledIntervalGoesOnInItsPace(t *testing.T) {
	inBubble(t, "2017-11-29T16:00:00", "a: {function: test.ping, seconds: 30}", Options{}, func(b *bench) {
		b.ask("func", "disable")
		for range 29 {
			b.pass(time.Second)
			b.is("a", "_next_fire_time", "2017-11-29T16:00:30")
		}
		b.pass(time.Second)
		b.is("a", "_next_fire_time", "2017-11-29T16:01:00")
		b.pass(45 * time.Second)
		b.ask("func", "enable")
		b.pass(time.Minute)
		b.expect("a 1129T16:01:30", "a 1129T16:02:00")
	})
}

func TestWallJobDoesNotMakeUpForWhatWasDisabled(t *testing.T) {
	inBubble(t, "2017-11-29T16:00:00", "a: {cron: '0 * * * *'}", Options{}, func(b *bench) {
		b.ask("func", "disable_job", "name", "a")
		b.pass(90 * time.Minute)
		b.ask("func", "enable_job", "name", "a")
		b.pass(time.Hour)
		b.expect("a 1129T18:00:00")
	})
}

func TestPostponeAndSkip(t *testing.T) {
	inBubble(t, "2017-11-29T15:00:00",
		"a: {function: test.ping, when: 11/29/2017 4pm}\nb: {seconds: 1200}", Options{}, func(b *bench) {
			b.pass(30 * time.Minute)
			b.expect("b 1129T15:20:00")
			b.ask("func", "postpone_job", "name", "a", "time", "2017-11-29T16:00:00", "new_time",
				"2017-11-29T16:05:00")
			b.ask("func", "skip_job", "name", "b", "time", "2017-11-29T15:40:00")
			b.pass(31 * time.Minute)
			b.expect("b 1129T16:00:00")
			b.is("a", "_skip_reason", "skip_explicit")
			b.is("a", "_skipped_time", "2017-11-29T16:00:00")
			b.is("b", "_skip_count", "1")
			// both are over
			b.ask("func", "postpone_job", "name", "a", "time", "2017-11-29T12:00:00", "new_time",
				"2017-11-29T13:00:00")
			b.pass(10 * time.Minute)
			b.expect("a 1129T16:05:00")
			for range 3 * mostExplicit {
				b.ask("func", "skip_job", "name", "b", "time", "2017-11-29T15:40:00")
			}
			if list, _ := b.conf.Value("b").(*data.Map).Value("skip_explicit").([]any); len(list) != mostExplicit {
				t.Errorf("%d times are kept", len(list))
			}
		})
}

func TestMomentsThatAreOverAreNotMadeUpForLater(t *testing.T) {
	inBubble(t, "2017-11-29T15:00:00", "a: {days: 1}", Options{}, func(b *bench) {
		b.pass(5 * time.Hour)
		b.ask("func", "postpone_job", "name", "a", "time", "2017-11-30T15:00:00", "new_time",
			"2017-11-29T19:00:00")
		b.pass(18 * time.Hour)
		b.expect()
		b.ask("func", "postpone_job", "name", "a", "time", "2017-11-30T15:00:00", "new_time",
			"2017-11-30T14:30:00")
		b.pass(2 * time.Hour)
		b.expect("a 1130T14:30:00")
	})
}

func TestReloadsKeepThePace(t *testing.T) {
	pillar := parsed(t, "p: {function: test.ping, hours: 1, run_on_start: true}\nc: {cron: '0 * * * *'}")
	inBubble(t, "2017-11-29T15:00:00", "a: {function: test.ping, hours: 1}",
		Options{Pillar: pillar}, func(b *bench) {
			for range 9 {
				b.pass(10 * time.Minute)
				b.SetPillar(pillar)
				b.SetConfig(parsed(t, "a: {function: test.ping, hours: 1}"), nil)
			}
			b.sortFired()
			b.expect("p 1129T15:00:00", "a 1129T16:00:00", "c 1129T16:00:00", "p 1129T16:00:00")
			b.SetConfig(parsed(t, "a: {function: test.ping, hours: 2}"), nil)
			b.SetPillar(nil)
			b.pass(2 * time.Hour)
			b.expect("a 1129T18:30:00")
		})
}

func TestConfigurationGoesBeforePillar(t *testing.T) {
	inBubble(t, "2017-11-29T15:00:00", "a: {function: test.ping, hours: 1}",
		Options{Pillar: parsed(t, "a: {function: test.fib, minutes: 1}\nenabled: false")}, func(b *bench) {
			b.pass(time.Hour)
			b.expect()
			b.SetPillar(parsed(t, "a: {function: test.fib, minutes: 1}"))
			b.pass(time.Hour)
			b.expect("a 1129T17:00:00")
		})
}

func TestRunJob(t *testing.T) {
	inBubble(t, "2017-11-29T15:00:00",
		"a: {function: test.ping, hours: 1, range: {start: 1am, end: 2am}}\nb: {function: test.fib, enabled: false}", Options{}, func(b *bench) {
			b.last(time.Minute)
			b.ask("func", "run_job", "name", "a")
			b.ask("func", "run_job", "name", "a") // one may run at a time
			b.ask("func", "run_job", "name", "b")
			b.expect("a 1129T15:00:00", "b 1129T15:00:00")
			if b.is("a", "_skip_reason", "maxrunning"); !b.called()[0].Due.IsZero() {
				t.Errorf("a job run by hand was due at %v", b.called()[0].Due)
			}
		})
}

func TestTasks(t *testing.T) {
	inBubble(t, "2017-11-29T15:00:00",
		"__mine: {function: mine.update, seconds: 1}\na: {function: test.ping}",
		Options{Rand: func(n int64) int64 { return n - 1 }}, func(b *bench) {
			var runs atomic.Int64
			ends := make(chan struct{})
			task := Task{Name: "__mine", Fun: "mine.update", Every: time.Minute, Splay: 5 * time.Second,
				RunOnStart: true, Do: func(context.Context) error {
					if runs.Add(1) == 3 {
						<-ends
					}
					return errors.New("no master")
				}}
			if err := b.Add(task); err != nil {
				t.Fatal(err)
			}
			b.ask("func", "disable")
			b.pass(66 * time.Second)
			if runs.Load() != 2 {
				t.Errorf("ran %d times", runs.Load())
			}
			b.pass(5 * time.Minute)
			if runs.Load() != 3 {
				t.Errorf("ran %d times, the third of which has not ended", runs.Load())
			}
			close(ends)
			if _, body := b.ask("func", "list"); keysOf(body) != "__mine a enabled" {
				t.Errorf("list shows %s", data.Repr(body))
			}
			b.is("__mine", "seconds", "60")
			b.is("__mine", "_skip_count", "3")
			b.expect() // the job of that name does not run beside it
			task.Every, task.RunOnStart = time.Hour, false
			runs.Store(10)
			if err := b.Add(task); err != nil {
				t.Fatal(err)
			}
			b.pass(time.Hour + 5*time.Second)
			if runs.Load() != 11 {
				t.Errorf("the new task ran %d times", runs.Load()-10)
			}
			b.Remove("__mine")
			b.Remove("__mine")
			b.pass(2 * time.Hour)
			if runs.Load() != 11 || !strings.Contains(b.log.String(), "run scheduled job __mine: no master") {
				t.Errorf("ran %d times, log\n%s", runs.Load(), b.log.String())
			}
			for _, bad := range []Task{{}, {Name: "a", Every: time.Second}, {Name: "a", Do: task.Do}} {
				if err := b.Add(bad); !errors.Is(err, ErrTask) {
					t.Errorf("Add(%+v) gives %v", bad, err)
				}
			}
		})
}

func TestRunWaitsForWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		s, err := New(Options{Jobs: parsed(t, "a: {seconds: 1}"),
			Run: func(ctx context.Context, _ Call) error {
				<-ctx.Done()
				time.Sleep(time.Minute)
				ended = true
				return ctx.Err()
			}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		if err := s.Run(ctx); err != nil || !ended {
			t.Errorf("Run gives %v, the job has ended: %v", err, ended)
		}
	})
	if _, err := New(Options{}); !errors.Is(err, ErrNoRun) {
		t.Errorf("New without Run gives %v", err)
	}
}

func FuzzJobs(f *testing.F) {
	for _, s := range []string{"a: {seconds: 1, splay: {start: 1, end: 5}}",
		"a: {when: [5pm, 4pm], range: {start: 1am, end: 2am}}",
		"splay: x\na: {cron: '* * * * *', until: 5pm}",
		"a: {once: x, once_fmt: '%Y'}\nb: [1]\nenabled: 0",
		"a: {hours: 1, skip_explicit: [1, {time: 3}], run_explicit: {a: b}, metadata: 3, returner: {a: 1}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := New(Options{Run: func(context.Context, Call) error { return nil },
			Location: time.UTC, Jobs: fuzzed(text)})
		if err != nil {
			t.Fatal(err)
		}
		s.ctx = t.Context()
		if d, ok := s.step(); ok && d < 0 {
			t.Errorf("sleeps %v", d)
		}
		for _, request := range []string{"{func: list}",
			"{func: job_status, name: a, fire_event: true}", "{func: disable}", "{func: enable}",
			"{func: disable_job, name: a}"} {
			if _, _, err := s.Manage(t.Context(), fuzzed(request)); err != nil {
				t.Errorf("%s: %v", request, err)
			}
		}
		s.wg.Wait()
	})
}
