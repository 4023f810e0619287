package services

import (
	"context"
	"errors"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func TestStatus(t *testing.T) {
	broken := errors.New("no list")
	all := func() ([]string, error) { return []string{"cron", "ssh", "sshd"}, nil }
	one := func(name string) (bool, error) { return name == "sshd", nil }
	for pattern, want := range map[string]any{
		"ssh": false, "sshd": true, "ssh*": data.NewMap("ssh", false, "sshd", true),
		"c?on": data.NewMap("cron", false), "[x]": data.NewMap(), "s[": false,
	} {
		if got, err := Status(pattern, all, one); err != nil || !data.Equal(got, want) {
			t.Errorf("%s: %s, %v, want %s", pattern, data.Repr(got), err, data.Repr(want))
		}
	}
	if _, err := Status("*", func() ([]string, error) { return nil, broken }, one); !errors.Is(err, broken) {
		t.Errorf("without a list: %v", err)
	}
	if _, err := Status("*", all, func(string) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("without a status: %v", err)
	}
}

func TestRuns(t *testing.T) {
	for answer, want := range map[string]bool{"411\n412": true, "": false} {
		env := &loader.Env{Call: func(_ context.Context, fun string, args []any, _ *data.Map) (any, error) {
			if fun != "status.pid" || data.Repr(args) != "['cron']" {
				t.Errorf("called %s %s", fun, data.Repr(args))
			}
			return answer, nil
		}}
		if got, err := Runs(t.Context(), env, "cron"); got != want || err != nil {
			t.Errorf("%q: %v, %v", answer, got, err)
		}
	}
}

func TestSorted(t *testing.T) {
	if got := data.Repr(Sorted(map[string]bool{"b": true, "a": true})); got != "['a', 'b']" {
		t.Errorf("got %s", got)
	}
	if got := Sorted(nil); got == nil || len(got) != 0 {
		t.Errorf("of nothing it is %v", got)
	}
}
