//go:build linux

package testcluster

import (
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/testcluster/faults"
	"github.com/brineproject/brine/internal/test/testnats"
)

// Targets returns the masters by their names, for faults.
func (c *Cluster) Targets() map[string]faults.Target {
	all := map[string]faults.Target{}
	for _, m := range c.Masters {
		all[m.Name] = m
	}
	return all
}

// Servers returns the servers of NATS by their names, for faults. What goes wrong fails the test.
func Servers(t testing.TB, c *testnats.Cluster) map[string]faults.Target {
	all := map[string]faults.Target{}
	for _, n := range c.Nodes {
		all[n.Name] = &server{t, n}
	}
	return all
}

// A server is a server of NATS for faults. Only one goroutine may use it.
type server struct {
	t testing.TB
	n *testnats.Node
}

func (s *server) Start() error {
	s.n.Restart(s.t)
	return nil
}

func (s *server) Kill() error {
	s.n.Kill(s.t)
	return nil
}

// End kills the server: an orderly end takes it half a minute, for its clients.
func (s *server) End() error { return s.Kill() }

func (s *server) Stop() error {
	s.n.Stop(s.t)
	return nil
}

func (s *server) Continue() error {
	s.n.Continue(s.t)
	return nil
}

func (s *server) SetClock(off time.Duration) error {
	s.n.SetClock(s.t, off)
	return nil
}
