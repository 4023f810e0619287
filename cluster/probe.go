package cluster

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"
)

// probeTime is how long a server may take to accept a connection before it counts as silent.
const probeTime = 2 * time.Second

// silent returns an error for each of the servers that accepts no connection, in the order of the option.
func (o Options) silent(ctx context.Context) []error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	found := make([]error, len(o.Servers))
	var work sync.WaitGroup
	for i, s := range o.Servers {
		work.Go(func() {
			u, err := url.Parse(s)
			if err != nil { // it can quote a password
				found[i] = fmt.Errorf("entry %d is no address of a server", i+1)
			} else if err := probe(ctx, u); err != nil {
				found[i] = fmt.Errorf("%s: %w", u.Redacted(), err)
			}
		})
	}
	work.Wait()
	var all []error
	for _, err := range found {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// probe makes a connection to an address of a server, and closes it.
func probe(ctx context.Context, u *url.URL) error {
	port := u.Port()
	if port == "" {
		port = map[string]string{"ws": "80", "wss": "443"}[u.Scheme]
	}
	if port == "" {
		port = "4222"
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	return conn.Close()
}

// warnOfSilent logs once which servers of the option accept no connection though another one does: they are
// down, or their addresses are wrong, which would show only when the others fail.
func (c *Cluster) warnOfSilent(ctx context.Context) {
	if len(c.o.Servers) < 2 {
		return
	}
	silent := c.o.silent(ctx)
	if ctx.Err() != nil {
		return
	}
	for _, err := range silent {
		c.o.Log.WithError(err).Warn("a NATS server of the option cluster accepts no connection; is it up, and its address right?")
	}
}

// unreachable adds the reason of each server to the error of a connection to all of them.
func (c *Cluster) unreachable(ctx context.Context, err error) error {
	silent := c.o.silent(ctx)
	if len(silent) == 0 || ctx.Err() != nil {
		return fmt.Errorf("connect to NATS at %s: %w", c.o.addresses(), err)
	}
	var why []string
	for _, err := range silent {
		why = append(why, err.Error())
	}
	return fmt.Errorf("connect to NATS: %w: %s", err, strings.Join(why, "; "))
}
