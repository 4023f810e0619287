package iptables_test

import (
	"slices"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/process"
)

// A comment stays one word of the rule, whatever it contains.
func TestCommentEndsWhereItEnds(t *testing.T) {
	programs(t)
	r := registry(t, data.NewMap())
	for comment, want := range map[string]string{
		"plain":                 "plain",
		`say "hi" x`:            "say hi x", // as in Salt
		`a" --jump ACCEPT "`:    `a" --jump ACCEPT "`,
		`a" "b`:                 `a" "b`,
		`back\`:                 `back\`,
		`a\" --jump ACCEPT "\"`: `a\" --jump ACCEPT "\"`,
		`"`:                     `"`,
	} {
		v, err := r.Invoke(t.Context(), "iptables.build_rule", nil,
			data.NewMap("comment", comment, "jump", "DROP"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := process.Words(data.Str(v))
		if err != nil || !slices.Equal(got, []string{"-m", "comment", "--comment", want, "--jump", "DROP"}) {
			t.Errorf("%s becomes %q, %v", comment, got, err)
		}
	}
}
