package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// A Connection is the NATS server that this member uses. It is zero while there is none.
type Connection struct {
	Address string // without a password
	Server  string // the name of the server
	Version string
}

// Connection returns the present connection. It does not wait for NATS.
func (c *Cluster) Connection() Connection {
	if !c.connected.Load() {
		return Connection{}
	}
	return *c.link.Load()
}

// connectionOf returns what is known about a connection.
func connectionOf(nc *nats.Conn) *Connection {
	return &Connection{Address: shown(nc.ConnectedUrl()), Server: nc.ConnectedServerName(),
		Version: nc.ConnectedServerVersion()}
}

// quietReplica is how long the leader of a stream may not hear of a replica that is up; NATS itself
// calls a lost one current until something is written.
const quietReplica = 5 * time.Second

// A Replica is a NATS server that keeps the stream of publications.
type Replica struct {
	Server  string // its name
	Leader  bool
	Offline bool   // the leader does not reach it
	Behind  uint64 // how many entries it lacks
}

// Replicas returns the servers that keep the stream of publications, the leader first. Other streams
// may be on other servers. The error wraps ErrUnavailable if nobody answers before ctx ends.
func (c *Cluster) Replicas(ctx context.Context) ([]Replica, error) {
	var all []Replica
	err := c.patiently(ctx, func(ctx context.Context) error {
		s, err := c.handle(ctx, c.name(forPublications))
		if err != nil {
			return err
		}
		info, err := s.Info(ctx)
		if err != nil {
			return err
		}
		all = nil
		if info.Cluster == nil {
			all = []Replica{{Server: c.Connection().Server, Leader: true}}
			return nil
		}
		if info.Cluster.Leader != "" {
			all = append(all, Replica{Server: info.Cluster.Leader, Leader: true})
		}
		for _, r := range info.Cluster.Replicas {
			all = append(all, Replica{Server: r.Name, Offline: r.Offline || r.Active > quietReplica, Behind: r.Lag})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for the replicas of stream %s: %w", c.name(forPublications), err)
	}
	return all, nil
}

// Since returns since when Quorum has said what it says: nil, or an error.
func (c *Cluster) Since() time.Time {
	c.pulse.mu.Lock()
	defer c.pulse.mu.Unlock()
	return c.pulse.since
}

// Wanted returns how many replicas each stream is to have.
func (c *Cluster) Wanted() int { return c.o.Replicas }

// Name returns the name of the cluster.
func (c *Cluster) Name() string { return c.o.Name }

// Holder returns the id of the member that holds a lease, or "". A member that has crashed may be
// named until its lease expires.
func (l *Leases) Holder(ctx context.Context, name string) (string, error) {
	v, err := l.b.get(ctx, name)
	if err != nil || v.revision == 0 {
		return "", err
	}
	r, err := readLease(v)
	if err != nil {
		return "", fmt.Errorf("read lease %s: %w", name, err)
	}
	return r.Member, nil
}
