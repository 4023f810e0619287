//go:build linux

package testcluster

import (
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/testcluster/faults"
	"github.com/brineproject/brine/internal/test/testnats"
)

// TestServersAreTargets plays faults on a server of NATS.
func TestServersAreTargets(t *testing.T) {
	c := testnats.Start(t, testnats.Options{})
	n := c.Nodes[0]
	s := faults.Schedule{Faults: []faults.Fault{
		{Kind: faults.Stop, Target: "n1", For: time.Millisecond},
		{Kind: faults.Kill, Target: "n1", For: time.Millisecond},
		{Kind: faults.Restart, Target: "n1", For: time.Millisecond},
	}}
	first, seen := n.Pid(), 0
	must(t, s.Play(t.Context(), Servers(t, c), func(f faults.Fault, undone bool) {
		seen++
		switch {
		case f.Kind == faults.Stop && testnats.Stopped(n.Pid()) == undone:
			t.Errorf("the server is stopped, or not: %v, undone: %t", f, undone)
		case f.Kind != faults.Stop && (n.Pid() != 0) != undone:
			t.Errorf("the server has pid %d: %v, undone: %t", n.Pid(), f, undone)
		}
	}))
	if c.Wait(t); seen != 6 || n.Pid() == first {
		t.Errorf("%d actions; the server has pid %d as before", seen, n.Pid())
	}
}
