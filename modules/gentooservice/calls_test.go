package gentooservice

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/replay"
)

// testdata/calls.json has the commands and results of Salt 3006.0 on the system below
// testdata/root.
func TestCalls(t *testing.T) { replay.Service(t, "testdata/calls.json", Plugin(), nil) }

func FuzzShow(f *testing.F) {
	f.Add("       acpid | default\n  crond |\n")
	f.Fuzz(func(t *testing.T, text string) {
		enabled, disabled := parseShow(text)
		if n := strings.Count(text, "\n") + 1; enabled.Len()+len(disabled) > n {
			t.Errorf("%d lines give %d services", n, enabled.Len()+len(disabled))
		}
	})
}
