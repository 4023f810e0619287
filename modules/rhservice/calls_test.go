package rhservice

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/replay"
)

// testdata/calls.json holds the commands and results of Salt 3006.0 on the system below
// testdata/root.
func TestCalls(t *testing.T) { replay.Service(t, "testdata/calls.json", Plugin(), isRunlevel) }

// isRunlevel accepts the command that Salt runs several times and this module once.
func isRunlevel(line []string) bool { return line[0] == "runlevel" }

func FuzzListed(f *testing.F) {
	f.Add("cron 0:off 1:off 2:on 3:on\n", "cron", "3")
	f.Add("rsync: on", "rsync:", "3")
	f.Fuzz(func(t *testing.T, out, name, level string) {
		if listedOn(out, name, level) && !strings.Contains(out, name) {
			t.Errorf("%q is on in %q", name, out)
		}
	})
}
