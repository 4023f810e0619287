package schedule

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The cases of these tests are those of tests/pytests/unit/utils/scheduler of Salt.

func TestTriggers(t *testing.T) {
	for _, c := range []struct {
		name, at, jobs string
		pass           time.Duration
		want           []string
	}{
		{"when", "2017-11-29T15:59:59", "a: {function: test.ping, when: 11/29/2017 4:00pm}",
			48 * time.Hour, []string{"a 1129T16:00:00"}},
		{"when at the start", "2017-11-29T16:00:00", "a: {when: 11/29/2017 4:00pm}", time.Hour,
			[]string{"a 1129T16:00:00"}},
		{"when a second ago", "2017-11-29T16:00:01", "a: {when: 11/29/2017 4:00pm}", time.Hour,
			[]string{"a 1129T16:00:01"}},
		{"when two seconds ago", "2017-11-29T16:00:02", "a: {when: 11/29/2017 4:00pm}", time.Hour, nil},
		{"several whens", "2017-11-29T15:59:59", "a: {when: [11/29/2017 5pm, 11/29/2017 4:00pm]}",
			48 * time.Hour,
			[]string{"a 1129T16:00:00", "a 1129T17:00:00"}},
		{"when every day", "2017-11-29T15:59:59", "a: {when: 4pm}", 48 * time.Hour,
			[]string{"a 1129T16:00:00", "a 1130T16:00:00"}},
		{"named time", "2017-11-29T11:59:00", "a: {when: tea time}", time.Hour, []string{"a 1129T12:00:00"}},
		{"once", "2017-12-13T12:00:00", "a: {once: '2017-12-13T13:00:00'}", 48 * time.Hour,
			[]string{"a 1213T13:00:00"}},
		{"once in another form", "2017-12-13T12:00:00",
			"a: {once: 13.12.17 1 PM, once_fmt: '%d.%m.%y %I %p'}", 48 * time.Hour,
			[]string{"a 1213T13:00:00"}},
		{"cron", "2017-11-29T15:00:00", "a: {cron: '0 16 29 11 *'}", 48 * time.Hour,
			[]string{"a 1129T16:00:00"}},
		{"seconds", "2017-11-29T14:00:00", "a: {seconds: '30'}", 100 * time.Second,
			[]string{"a 1129T14:00:30", "a 1129T14:01:00", "a 1129T14:01:30"}},
		{"minutes and seconds", "2017-11-29T14:00:00", "a: {minutes: 1, seconds: 30}",
			3 * time.Minute, []string{"a 1129T14:01:30", "a 1129T14:03:00"}},
		{"hours", "2017-11-29T14:00:00", "a: {hours: 2}", 4 * time.Hour,
			[]string{"a 1129T16:00:00", "a 1129T18:00:00"}},
		{"days", "2017-11-23T14:00:00", "a: {days: '2'}", 96 * time.Hour,
			[]string{"a 1125T14:00:00", "a 1127T14:00:00"}},
		{"no seconds", "2017-11-29T14:00:00", "a: {seconds: 0}", 2 * time.Second,
			[]string{"a 1129T14:00:01", "a 1129T14:00:02"}},
		{"interval beside cron", "2017-11-29T14:00:00", "a: {hours: 2, cron: '0 15 * * *'}",
			2 * time.Hour, []string{"a 1129T16:00:00"}},
		{"until", "2017-11-29T14:00:00", "a: {hours: '1', until: 11/29/2017 5:00pm}", 5 * time.Hour,
			[]string{"a 1129T15:00:00", "a 1129T16:00:00"}},
		{"after", "2017-11-29T14:00:00", "a: {hours: '1', after: 11/29/2017 5:00pm}", 5 * time.Hour,
			[]string{"a 1129T18:00:00", "a 1129T19:00:00"}},
		{"disabled", "2017-11-29T15:00:00", "enabled: false\na: {when: 4pm}", 5 * time.Hour, nil},
		{"disabled though the job is enabled", "2017-11-29T15:00:00",
			"enabled: false\na: {when: 4pm, enabled: true}", 5 * time.Hour, nil},
		{"enabled", "2017-11-29T15:00:00", "enabled: true\na: {when: 4pm}", 5 * time.Hour,
			[]string{"a 1129T16:00:00"}},
		{"job disabled", "2017-11-29T15:00:00", "a: {when: 4pm, enabled: false}\nb: {when: 4pm}",
			5 * time.Hour, []string{"b 1129T16:00:00"}},
		{"run_on_start", "2017-11-29T14:00:00", "a: {hours: 1, run_on_start: true}", 2 * time.Hour,
			[]string{"a 1129T14:00:00", "a 1129T15:00:00", "a 1129T16:00:00"}},
		{"run_on_start out of range", "2017-11-29T14:00:00",
			"a: {hours: 1, run_on_start: true, range: {start: 8am, end: 9am}}", time.Hour,
			[]string{"a 1129T14:00:00"}},
		{"run_on_start of a disabled job", "2017-11-29T14:00:00",
			"a: {hours: 1, run_on_start: true, enabled: false}", time.Hour, nil},
		{"splay", "2017-11-29T14:00:00", "a: {seconds: 30, splay: '10'}", 80 * time.Second,
			[]string{"a 1129T14:00:40", "a 1129T14:01:20"}},
		{"splay of start and end", "2017-11-29T14:00:00",
			"a: {seconds: 30, splay: {start: 5, end: 10}}", 40 * time.Second, []string{"a 1129T14:00:40"}},
		{"splay of all", "2017-11-29T14:00:00",
			"splay: {start: 5, end: 10}\na: {seconds: 30}\nb: {seconds: 35, splay: 0}",
			40 * time.Second, []string{"b 1129T14:00:35", "a 1129T14:00:40"}},
		{"splay the wrong way round", "2017-11-29T14:00:00",
			"a: {seconds: 30, splay: {start: 10, end: 5}}", 40 * time.Second, []string{"a 1129T14:00:30"}},
		{"splay of a when", "2017-11-29T15:00:00", "a: {when: 11/29/2017 4pm, splay: 300}",
			5 * time.Hour, []string{"a 1129T16:05:00"}},
		{"splay of a when in the past", "2017-11-29T15:00:00",
			"a: {when: [11/29/2017 6am], splay: 300}", 5 * time.Hour, nil},
		{"splay of a cron", "2017-11-29T15:00:00", "a: {cron: '*/10 * * * *', splay: 240}",
			25 * time.Minute, []string{"a 1129T15:14:00", "a 1129T15:24:00"}},
		{"splay of a once", "2017-11-29T15:00:00", "a: {once: '2017-11-29T16:00:00', splay: 30}",
			5 * time.Hour, []string{"a 1129T16:00:30"}},
		{"skip_during_range", "2017-11-29T13:30:00",
			"a: {hours: 1, skip_during_range: {start: 11/29/2017 2pm, end: 11/29/2017 3pm}}",
			2 * time.Hour, []string{"a 1129T15:30:00"}},
		{"skip_during_range of all", "2017-11-29T13:30:00",
			"skip_during_range: {start: 2pm, end: 3pm}\na: {hours: 1}", 2 * time.Hour,
			[]string{"a 1129T15:30:00"}},
		{"run_after_skip_range", "2017-11-29T14:00:00",
			"a: {when: 2:30pm, run_after_skip_range: true, skip_during_range: {start: 2pm, end: 3pm}}", 10 * time.Hour,
			[]string{"a 1129T15:00:01"}},
		{"run_after_skip_range, often due", "2017-11-29T14:00:00",
			"a: {minutes: 15, run_after_skip_range: true, skip_during_range: {start: 2:05pm, end: 3pm}}",
			75 * time.Minute, []string{"a 1129T15:00:01", "a 1129T15:15:00"}},
		{"skip_explicit", "2017-11-29T15:00:00",
			"a: {when: [4pm, 5pm], skip_explicit: ['2017-11-29T16:00:00']}", 3 * time.Hour,
			[]string{"a 1129T17:00:00"}},
		{"a later skip_explicit", "2017-11-29T15:00:00",
			"a: {when: [4pm, 5pm], skip_explicit: [{time: '2017-11-29 17', time_fmt: '%Y-%m-%d %H'}]}", 3 * time.Hour,
			[]string{"a 1129T16:00:00"}},
		{"skip_explicit of a moment with splay", "2017-11-29T15:00:00",
			"a: {minutes: 10, splay: 300, skip_explicit: ['2017-11-29T15:10:00']}", 31 * time.Minute,
			[]string{"a 1129T15:30:00"}},
		{"skip_explicit of the time of a splay", "2017-11-29T15:00:00",
			"a: {minutes: 10, splay: 300, skip_explicit: ['2017-11-29T15:15:00']}", 31 * time.Minute,
			[]string{"a 1129T15:30:00"}},
		{"run_explicit", "2017-11-29T15:00:00",
			"a: {hours: 24, run_explicit: [{time: '2017-11-29T16:00:00', time_fmt: '%Y-%m-%dT%H:%M:%S'}]}", 3 * time.Hour,
			[]string{"a 1129T16:00:00"}},
		{"range", "2017-11-29T14:00:00", "a: {cron: '0 * * * *', range: {start: 3pm, end: 4pm}}",
			5 * time.Hour, []string{"a 1129T15:00:00", "a 1129T16:00:00"}},
		{"range inverted", "2017-11-29T14:00:00",
			"a: {cron: '0 * * * *', range: {start: 3pm, end: 5pm, invert: true}}", 4 * time.Hour,
			[]string{"a 1129T15:00:00", "a 1129T17:00:00", "a 1129T18:00:00"}},
		{"range that begins when an interval is over", "2017-11-29T12:30:00",
			"a: {hours: 1, range: {start: 3pm, end: 4pm}}", 5 * time.Hour,
			[]string{"a 1129T15:00:00", "a 1129T16:00:00"}},
		{"inverted range that ends when an interval is over", "2017-11-29T12:30:00",
			"a: {hours: 2, range: {start: 2pm, end: 4pm, invert: true}}", 5 * time.Hour,
			[]string{"a 1129T16:00:00"}},
		{"range and until", "2017-11-29T12:30:00",
			"a: {minutes: 30, range: {start: 2pm, end: 3pm}, until: 2:45pm}", 5 * time.Hour,
			[]string{"a 1129T14:00:00", "a 1129T14:30:00"}},
		{"skip_function", "2017-11-29T13:30:00",
			"skip_function: test.false\na: {function: test.true, hours: 1, skip_during_range: {start: 2pm, end: 3pm}}", 2 * time.Hour,
			[]string{"a 1129T14:30:00", "a 1129T15:30:00"}},
		{"no trigger", "2017-11-29T13:30:00", "a: {function: test.ping}", 2 * time.Hour, nil},
		{"dry_run", "2017-11-29T13:30:00", "a: {function: test.ping, hours: 1, dry_run: true}",
			2 * time.Hour, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Rand: func(n int64) int64 { return n - 1 }}
			if strings.HasPrefix(c.jobs, "a: {when: tea time") {
				o.Whens = mapOf(parsed(t, "tea time: 11/29/2017 12:00pm"))
			}
			inBubble(t, c.at, c.jobs, o, func(b *bench) {
				b.pass(c.pass)
				b.sortFired()
				b.expect(c.want...)
			})
		})
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ job, want string }{
		{"cron: 0 16 29 13 *", "Invalid cron string. Ignoring job a."},
		{"when: 13/29/2017 1:00pm", "Invalid date string 13/29/2017 1:00pm. Ignoring job a."},
		{"when: [4pm, [5pm]]", "Invalid date string ['5pm']. Ignoring job a."},
		{"once: '2017-13-13T13:00:00'",
			"Date string could not be parsed: 2017-13-13T13:00:00, %Y-%m-%dT%H:%M:%S. Ignoring job a."},
		{"hours: 1, skip_during_range: {start: '1:00pm', end: '25:00pm'}",
			"Invalid date string for end in skip_during_range. Ignoring job a."},
		{"hours: 1, skip_during_range: {start: 25pm, end: 3pm}",
			"Invalid date string for start in skip_during_range. Ignoring job a."},
		{"hours: 1, skip_during_range: 1pm",
			"schedule.handle_func: Invalid, range must be specified as a dictionary. Ignoring job a."},
		{"hours: 1, range: {start: '1:00pm', end: '25:00pm'}",
			"Invalid date string for end. Ignoring job a."},
		{"hours: 1, range: {end: '2:00pm'}", "Invalid date string for start. Ignoring job a."},
		{"hours: 1, range: 1pm", "schedule.handle_func: Invalid, range must be specified as a dictionary.Ignoring job a."},
		{"hours: 1, range: {start: 3pm, end: 2pm}",
			"schedule.handle_func: Invalid range, end must be larger than start. Ignoring job a."},
		{"cron: '@hourly', skip_during_range: {start: 3pm, end: 2pm}",
			"schedule.handle_func: Invalid range, end must be larger than start. Ignoring job a."},
		{"hours: 1, until: soon", "Invalid date string for until. Ignoring job a."},
		{"hours: 1, after: soon", "Invalid date string for after. Ignoring job a."},
		{"hours: soon", "Invalid hours soon. Ignoring job a."},
		{"when: 4pm, cron: '* * * * *'", `Unable to use "when", "cron", "once" options together. Ignoring.`},
	} {
		t.Run(c.job, func(t *testing.T) {
			inBubble(t, "2017-11-29T15:00:00", "a: {function: test.ping, "+c.job+
				"}\nb: {hours: 1}\nc: text", Options{}, func(b *bench) {
				b.pass(2 * time.Hour)
				b.expect("b 1129T16:00:00", "b 1129T17:00:00")
				b.is("a", "_error", c.want)
				logged := strings.ReplaceAll(b.log.String(), `\"`, `"`)
				if n := strings.Count(logged, c.want); n != 1 {
					t.Errorf("logged %d times:\n%s", n, logged)
				}
				if want := `Scheduled job "c" should have a dict value, not <class 'str'>`; !strings.Contains(logged, want) {
					t.Errorf("log lacks %s:\n%s", want, logged)
				}
			})
		})
	}
}

func TestMaxRunning(t *testing.T) {
	jobs := "a: {seconds: 10}\nb: {seconds: 10, maxrunning: 3}\nc: {seconds: 10, jid_include: false}\nd: {cron: '* * * * * */10'}"
	inBubble(t, "2017-11-29T15:00:00", jobs, Options{}, func(b *bench) {
		b.last(45 * time.Second)
		b.pass(2*time.Minute + time.Second)
		for name, want := range map[string]int{"a": 1, "b": 3, "c": 5, "d": 1} {
			b.mu.Lock()
			if b.most[name] != want {
				t.Errorf("%d of %s ran at once, want %d", b.most[name], name, want)
			}
			b.mu.Unlock()
		}
		b.is("a", "_skip_count", "9")
		b.is("a", "_skip_reason", "maxrunning")
		b.is("c", "_skip_count", "missing")
		b.is("d", "_skip_count", "9")
		b.ask("func", "delete", "name", "a")
		b.ask("func", "add", "name", "a", "schedule", parsed(t, "a: {seconds: 1}"))
		b.pass(5 * time.Second)
		b.is("a", "_skip_count", "5") // the firing of the deleted job counts on
	})
}

func TestRunningOfOtherProcessesCounts(t *testing.T) {
	var others atomic.Int64
	others.Store(1)
	running := func(name string) int { return map[string]int{"a": int(others.Load())}[name] }
	inBubble(t, "2017-11-29T15:00:00", "a: {seconds: 10}", Options{Running: running}, func(b *bench) {
		b.pass(10 * time.Second)
		b.expect()
		others.Store(0)
		b.pass(10 * time.Second)
		b.expect("a 1129T15:00:20")
	})
}

func TestFieldsOfACall(t *testing.T) {
	jobs := `
a:
  function: state.sls
  args: [web]
  kwargs: {test: true}
  metadata: {foo: bar}
  returner: [mysql, redis]
  return_config: alternative
  return_kwargs: {db: 1}
  return_job: nocache
  maxrunning: 2
  hours: 1
b: {func: cmd.run, job_args: date, job_kwargs: {shell: sh}, returner: sqlite, return_job: false, jid_include: false, hours: 1}
c: {fun: test.ping, hours: 1}
`
	inBubble(t, "2017-11-29T15:00:00", jobs, Options{}, func(b *bench) {
		b.pass(time.Hour)
		byName := map[string]Call{}
		for _, c := range b.called() {
			byName[c.Name] = c
		}
		a, sqlite, c := byName["a"], byName["b"], byName["c"]
		if a.Fun != "state.sls" || len(a.Args) != 1 || a.Kwargs.Value("test") != true ||
			len(a.Returners) != 2 || a.ReturnConfig != "alternative" ||
			!a.ReturnJob || !a.NoCache || a.MaxRunning != 2 || !a.JIDInclude ||
			a.Due.Format("15:04:05") != "16:00:00" {
			t.Errorf("a is called with %+v", a)
		}
		if sqlite.Fun != "cmd.run" || len(sqlite.Args) != 1 ||
			sqlite.Kwargs.Text("shell") != "sh" || sqlite.ReturnJob || sqlite.JIDInclude {
			t.Errorf("b is called with %+v", sqlite)
		}
		if c.Fun != "test.ping" || c.Kwargs != nil || !c.ReturnJob || c.NoCache ||
			c.Stamp(time.Now(), "") != nil {
			t.Errorf("c is called with %+v", c)
		}
		a.Args[0] = "changed"
		a.Kwargs.Set("test", false)
		a.Raw.Set("function", "changed")
		b.pass(time.Hour)
		if last := b.called()[3]; last.Raw.Text("function") == "changed" {
			t.Error("a call shares the job with the schedule")
		}
		if got := c.ReturnID("1", false) + " " + c.ReturnID("1", true) + " " +
			sqlite.ReturnID("1", false); got != "req 1 1" {
			t.Errorf("results are returned as %s", got)
		}
		if c.NoCache = true; c.ReturnID("1", false) != "nocache" {
			t.Error("nocache is returned as another id")
		}
		at := time.Date(2017, 11, 5, 16, 4, 9, 0, time.FixedZone("", 3600))
		if m := a.Stamp(at, "+0100"); m.Text("_TS") != "Sun Nov  5 16:04:09 2017" ||
			m.Text("_TT") != "2017 November 05 Sun 15 11" || m.Text("_TOS") != "+0100" ||
			a.Metadata.Has("_TS") {
			t.Errorf("stamp is %v %v %v", m.Text("_TS"), m.Text("_TT"), m.Text("_TOS"))
		}
	})
}
