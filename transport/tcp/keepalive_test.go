package tcp

import (
	"testing"
	"time"

	"github.com/brineproject/brine/transport"
)

// TestKeepAlive checks that only Salt's defaults are replaced.
func TestKeepAlive(t *testing.T) {
	if got := lively(transport.SaltKeepAlive(true, 300, -1, -1)).Config(); !got.Enable ||
		got.Idle+time.Duration(got.Count)*got.Interval != time.Minute {
		t.Errorf("Salt's defaults became %+v, want a minute in all", got)
	}
	for _, k := range []transport.KeepAlive{
		{}, transport.SaltKeepAlive(true, 301, -1, -1), transport.SaltKeepAlive(true, 300, 9, -1),
		transport.SaltKeepAlive(true, 300, -1, 75),
		transport.SaltKeepAlive(false, 300, -1, -1),
	} {
		if lively(k) != k {
			t.Errorf("%+v became %+v", k, lively(k))
		}
	}
}
