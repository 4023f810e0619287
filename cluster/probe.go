package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/brineproject/brine/internal/clock"
)

// probePause is how long a member that has joined waits before it looks at the other servers, and before it looks
// again at those that do not answer: all hosts may be starting.
const probePause = 15 * time.Second

// errNobody is the reason of a refused connection, which the client of NATS does not tell.
var errNobody = errors.New("connection refused")

// unreachable returns the error of each server that admits no client, by its address.
func (c *Cluster) unreachable(servers []string) map[string]error {
	errs := make([]error, len(servers))
	var work sync.WaitGroup
	for i, s := range servers {
		work.Go(func() { errs[i] = c.probe(s) })
	}
	work.Wait()
	found := map[string]error{}
	for i, err := range errs {
		if err != nil {
			found[servers[i]] = err
		}
	}
	return found
}

// probe connects to a server as the member does, and disconnects. It takes as long as an attempt of the member.
func (c *Cluster) probe(server string) error {
	o, err := c.dialing()
	if err != nil {
		return err
	}
	o.Servers = []string{server}
	o.AllowReconnect = false
	o.IgnoreDiscoveredServers = true // else another server, of which this one tells, stands in for it
	o.DisconnectedErrCB, o.ReconnectedCB, o.AsyncErrorCB = nil, nil, nil
	nc, err := o.Connect()
	if errors.Is(err, nats.ErrNoServers) {
		return errNobody
	}
	if err != nil {
		return err
	}
	nc.Close()
	return nil
}

// warnOfUnreachable logs once which servers of the option admit no client though another one does: they are
// down, or their addresses are wrong, which would show only when the others fail.
func (c *Cluster) warnOfUnreachable(ctx context.Context, pause time.Duration) {
	servers := c.o.Servers
	if len(servers) < 2 {
		return
	}
	var found map[string]error
	for range 2 {
		if clock.Sleep(ctx, pause) != nil {
			return
		}
		found = c.unreachable(servers)
		servers = nil
		for s := range found {
			servers = append(servers, s)
		}
	}
	for s, err := range found {
		c.o.Log.WithError(err).Warnf("NATS server %s of the option cluster cannot be used; is it up, and its address right?",
			shown(s))
	}
}

// explainConnect adds the reason of each server to the error of a connection to all of them.
func (c *Cluster) explainConnect(err error) error {
	reasons := c.unreachable(c.o.Servers)
	var all []string
	for _, s := range c.o.Servers {
		if why := reasons[s]; why != nil {
			all = append(all, fmt.Sprintf("%s: %v", shown(s), why))
		} else {
			all = append(all, shown(s)+": answers now")
		}
	}
	return fmt.Errorf("connect to NATS: %w: %s", err, strings.Join(all, "; "))
}
