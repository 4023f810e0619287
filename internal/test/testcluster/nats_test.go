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

// TestAKeptMaster starts a master without a quorum of NATS: the start ends by itself, and the service
// manager begins another one until there is a quorum.
func TestAKeptMaster(t *testing.T) {
	if !long() {
		t.Skipf("a start waits for 30 s; %s asks for the long form", stormVar)
	}
	servers := testnats.Start(t, testnats.Options{Nodes: 3})
	c := New(t, Options{Masters: 1, Cluster: Option("test", 3, servers.URLs()...)})
	m := c.Masters[0]
	m.Keep()
	must(t, m.Start())
	must(t, m.Wait(t.Context()))
	servers.Nodes[0].Kill(t)
	servers.Nodes[1].Kill(t)
	must(t, m.Kill())
	if ends := m.Ends(); len(ends) > 0 || m.Pid() != 0 {
		t.Errorf("ends %q of a master that was killed, pid %d", ends, m.Pid())
	}
	must(t, m.Start())
	testnats.Eventually(t, func() bool { return len(m.Ends()) > 0 },
		func() string { return "the master has not been started again" })
	servers.Nodes[0].Restart(t)
	must(t, m.Wait(t.Context()))
}
