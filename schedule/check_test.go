package schedule

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

func TestCheck(t *testing.T) {
	known := func(fun string) bool { return fun == "test.ping" }
	for _, tt := range []struct{ jobs, want string }{
		{"a: {function: test.ping, seconds: 5}", ""},
		{"a: {func: test.ping, cron: '*/5 * * * *', _seconds: 3, returner: x, maxrunning: 1}\nenabled: true\nsplay: 3", ""},
		{"a: {function: test.ping, run_explicit: [{time: '2026-01-01', time_fmt: '%Y-%m-%d'}]}", ""},
		{"a: {function: test.pong, seconds: 5}", "a: function: there is no function test.pong here"},
		{"a: {fun: test.pong, seconds: 5}", "a: fun: there is no function test.pong here"},
		{"a: {seconds: 5}", "a: no function is given; write function: test.ping"},
		{"a: {function: test.ping}", "a: no time is given, so that the job never runs"},
		{"a: {function: test.ping, second: 5, minutes: 1}",
			"a: second: a job has no such key, which is passed over; is seconds meant?"},
		{"a: {function: test.ping, when: nonsense}", "a: Invalid date string nonsense. Ignoring job a."},
		{"a: {function: test.ping, seconds: 5, splay: x}", "a: schedule.handle_func: Invalid Splay"},
		{"a: 5\nb: []", "a: expected a mapping, the job, got the number 5; write function: test.ping and seconds: 60 below the name of the job\nb: expected"},
	} {
		v, err := yaml.Load([]byte(tt.jobs), yaml.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := Check(v.(*data.Map), known); err != nil {
			got = err.Error()
		}
		if got != tt.want && (tt.want == "" || !strings.Contains(got, tt.want)) {
			t.Errorf("Check(%s) = %s\nwant %s", tt.jobs, got, tt.want)
		}
	}
	if err := Check(nil, nil); err != nil {
		t.Errorf("Check(nil) = %v", err)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"a: {function: x, seconds: 5}",
		"a: {when: [1, x], range: {start: 8am}}", "a: {cron: 5, once: x}\n1: {2: 3}",
		"skip_during_range: {start: 1}\na: {after: x, until: 5}"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, jobs string) {
		v, err := yaml.Load([]byte(jobs), yaml.Options{})
		if m, ok := v.(*data.Map); ok && err == nil {
			_ = Check(m, nil) // whatever it says
		}
	})
}
