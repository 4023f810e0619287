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
		"Exception occurred in runner queue.list: disk I/O error":                                false,
	} {
		if got := lacksFunction(text, "queue.list"); got != want {
			t.Errorf("%q: %v", text, got)
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
