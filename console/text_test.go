package console

import (
	"slices"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestLacksFunction(t *testing.T) {
	for text, want := range map[string]bool{
		"Exception occurred in runner queue.list: Traceback (most recent call last):\n" +
			"salt.exceptions.CommandExecutionError: 'queue.list' is not available.\n": true,
		"Exception occurred in runner queue.list: 'queue' __virtual__ returned False: no SQLite": true,
		"KeyError: \"'queue.list' is not available.\"":                                           true,
		"'queue.list' is not available.":                                                         true,
		"Exception occurred in runner queue.list: disk I/O error":                                false,
		"unknown node group \"'queue.list' is not available.\"":                                  false,
		"CommandExecutionError: unknown node group 'queue.list'":                                 false,
	} {
		if got := lacksFunction(text, "queue.list"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// What is written for a minion, or for the minions of a job, matches no other minion.
func TestWritableTarget(t *testing.T) {
	for _, tt := range []struct {
		sent any
		want target
		ok   bool
	}{
		{data.Values([]string{"a", "b"}), target{"a,b", "list"}, true},
		{data.Values([]string{"a,b"}), target{"a,b", "glob"}, true},
		{data.Values([]string{"a,b*"}), target{"a,b[*]", "glob"}, true},
		{data.Values([]string{"a,b", "c"}), target{}, false},
		{data.Values([]string{" a", "c"}), target{}, false},
		{"web*", target{"web*", "glob"}, true},
	} {
		if got, err := writable(tt.sent, "glob"); got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%v: %v, %v", tt.sent, got, err)
		}
	}
}

// A return without an exit code, or whose exit code is None, has not failed, as for the program salt.
func TestReturnWithoutExitCode(t *testing.T) {
	for _, tt := range []struct {
		ret  *data.Map
		want string
	}{
		{data.NewMap("return", true), "returned"},
		{data.NewMap("return", true, "retcode", nil), "returned"},
		{data.NewMap("return", true, "retcode", int64(0)), "returned"},
		{data.NewMap("return", true, "retcode", int64(2)), "failed"},
		{data.NewMap("return", true, "retcode", data.NewMap("test.ping", int64(0), "test.arg", int64(0))), "returned"},
		{data.NewMap("return", true, "retcode", data.NewMap("test.ping", int64(0), "test.arg", int64(1))), "failed"},
		{data.NewMap("return", true, "success", false), "failed"},
	} {
		if got, _ := eventNote("salt/job/20260101000000000000/ret/m1", tt.ret); got != tt.want {
			t.Errorf("%s: %s, want %s", data.Repr(tt.ret), got, tt.want)
		}
		if got := failed(tt.ret); got != (tt.want == "failed") {
			t.Errorf("%s has failed: %v", data.Repr(tt.ret), got)
		}
	}
}

// The reason of a master's refusal is its last line, without the name of a class.
func TestReasonIn(t *testing.T) {
	for text, want := range map[string]string{
		"Exception occurred in runner a.b: Traceback (most recent call last):\n  File x\n" +
			"salt.exceptions.SaltInvocationError: no such thing": "no such thing",
		"\nPassed invalid arguments: f() takes 1 argument\n\nUsage:\n\n  long": "f() takes 1 argument",
		"plain": "plain",
	} {
		if got := reasonIn(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestPageAfter(t *testing.T) {
	list := []string{"a", "b", "d"}
	for after, want := range map[string][]string{"": {"a", "b"}, "a": {"b", "d"}, "c": {"d"}, "d": {}} {
		got, more := pageAfter(list, after, 2)
		if !slices.Equal(got, want) || more != (after == "") {
			t.Errorf("after %q: %v, more %v", after, got, more)
		}
	}
}

func TestRhythm(t *testing.T) {
	for _, tt := range []struct {
		job  *data.Map
		want string
	}{
		{data.NewMap("seconds", int64(30), "splay", int64(5)), "every 30 seconds, splay 5"},
		{data.NewMap("hours", int64(1), "run_on_start", true), "every 1 hour, at the start"},
		{data.NewMap("cron", "*/5 * * * *"), "cron */5 * * * *"},
		{data.NewMap("when", []any{"Monday 5:00pm", "Friday 4:00pm"}), "when Monday 5:00pm, Friday 4:00pm"},
		{data.NewMap("seconds", int64(9), "range",
			data.NewMap("start", "8:00am", "end", "9:00am")), "every 9 seconds, range start 8:00am end 9:00am"},
		{data.NewMap(), ""},
	} {
		if got := rhythm(tt.job); got != tt.want {
			t.Errorf("%s: %q, want %q", data.Repr(tt.job), got, tt.want)
		}
	}
}

func TestEventTime(t *testing.T) {
	for stamp, want := range map[string]string{"2026-01-02T03:04:05.678901": "03:04:05.678",
		"2026-01-01T03:04:05": "2026-01-01 03:04:05", "": "", "x": ""} {
		if _, got := eventTime(stamp, "2026-01-02"); got != want {
			t.Errorf("%q: %q, want %q", stamp, got, want)
		}
	}
}

func TestIsOrchestration(t *testing.T) {
	for fun, want := range map[string]bool{"runner.state.orchestrate": true, "runner.state.orch": true, "runner.state.orch_show_sls": false,
		"runner.state.event": false, "state.sls": false, "runner.state.sls": true} {
		if got := isOrchestration(fun); got != want {
			t.Errorf("%s: %v", fun, got)
		}
	}
}
