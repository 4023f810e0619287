package linuxservice

import (
	"testing"

	"github.com/brineproject/brine/internal/test/replay"
)

// testdata/calls.json has the commands and results of Salt 3006.0 on the system below
// testdata/root.
func TestCalls(t *testing.T) { replay.Service(t, "testdata/calls.json", Plugin(), nil) }
