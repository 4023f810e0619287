package testnats

import (
	"testing"
	"time"
)

// SetClock sets how far the clock of the node is off that of the machine, in whole seconds, from now
// on. A node that was started without this is killed and started again, once; then its clock is
// stepped. It needs that [wrongclock.Allowed] returns nil.
func (n *Node) SetClock(t testing.TB, off time.Duration) {
	t.Helper()
	n.setsClock, n.off = true, off
	switch {
	case n.cmd == nil:
	case n.clock == nil:
		n.Restart(t)
	default:
		if err := n.clock.Set(off); err != nil {
			t.Fatalf("set the clock of %s: %v", n.Name, err)
		}
	}
}

// Now returns the time of the day as the node sees it.
func (n *Node) Now(t testing.TB) time.Time {
	t.Helper()
	var about struct {
		Now time.Time `json:"now"`
	}
	var last error
	Eventually(t, func() bool {
		last = n.ask("varz", &about)
		return last == nil
	}, func() string { return "ask " + n.Name + " for the time: " + last.Error() })
	return about.Now
}
