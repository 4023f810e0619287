package process_test

import (
	"slices"
	"testing"

	"github.com/brineproject/brine/process"
)

func TestEnvironment(t *testing.T) {
	all := []string{"A=1", "NOTIFY_SOCKET=/s", "BRINE_X=y", "LISTEN_FDS=3", "BRINES=2",
		"B=NOTIFY_SOCKET"}
	before := slices.Clone(all)
	got, want := process.Environment(all), []string{"A=1", "BRINES=2", "B=NOTIFY_SOCKET"}
	if !slices.Equal(got, want) || !slices.Equal(all, before) {
		t.Errorf("Environment(%q) = %q, want %q", before, got, want)
	}
}
