// Package swarm runs a swarm of simulated minions in one process, for sizing a master and for
// tests.
//
// Each minion follows the protocol fully: it has its own key and its own connections to both ports,
// signs in, verifies and decrypts publications, answers jobs and waits for the master's
// acknowledgement. It has no system to manage: it implements a few functions, which do nothing. The
// master may be a Brine or a Salt master.
//
// Besides answering jobs a swarm can generate load: a given number of events, returns and clear
// pings per minion.
package swarm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/transport"
)

// Ports opens the network sides of minions. Packages transport/zeromq and transport/tcp implement
// it.
type Ports struct {
	Request   func(d transport.Dialer) transport.Requester
	Subscribe func(d transport.Dialer, topics ...string) transport.Subscriber
}

// Options configure the size and the load of a swarm.
type Options struct {
	Count   int    // minions
	Prefix  string // of their ids, before a number of five digits
	Master  string // HOST:PORT of the request port
	Keys    Keys
	Ports   Ports
	Like    Like // the implementation that they imitate at sign-in
	Joining int  // concurrent sign-ins; 0 means 64
	Filter  bool // subscribe to topics (zmq_filtering)
	// connect for each request, with this number at once; 0 keeps a connection for each minion
	Short int

	Events  int // number of events that each minion fires
	Returns int // number of unsolicited returns that each minion sends
	Pings   int // number of clear pings that each minion sends
	Size    int // bytes of text in each of the returns; 0 returns True
	// path in the saltenv base of a file that each minion downloads once, piece by piece; or ""
	Fetch string
	Load  int // concurrent requests of this load; 0 means 16

	Log logrus.FieldLogger // nil logs nothing
}

// Stats counts a swarm's activity so far.
type Stats struct {
	SignedIn  atomic.Int64
	Listening atomic.Int64 // minions with a connection to the publish port
	Jobs      atomic.Int64 // publications that matched a minion
	Returned  atomic.Int64 // returns that the master acknowledged
	Requests  atomic.Int64 // of the load
	Fetched   atomic.Int64 // bytes of files
	Failures  atomic.Int64 // failed requests and publications
}

// A Swarm is a group of simulated minions.
type Swarm struct {
	Stats          Stats
	opts           Options
	simulated      []*minion
	begun          atomic.Int64 // minions that have announced their start
	ready          chan struct{}
	idle           chan struct{}
	shortRequester *semaphore.Weighted
}

// New creates a swarm, with a key for each minion.
func New(o Options) (*Swarm, error) {
	if _, _, err := net.SplitHostPort(o.Master); err != nil {
		return nil, fmt.Errorf("master: %w", err)
	}
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	s := &Swarm{opts: o, ready: make(chan struct{}), idle: make(chan struct{}),
		shortRequester: semaphore.NewWeighted(int64(o.Short))}
	for i := range o.Count {
		key, err := o.Keys.Key(i)
		if err != nil {
			return nil, err
		}
		s.simulated = append(s.simulated,
			&minion{swarm: s, id: o.Prefix + fmt.Sprintf("%05d", i), key: key})
	}
	return s, nil
}

// Ready is closed when all minions are connected to the publish port and have announced their
// start.
func (s *Swarm) Ready() <-chan struct{} { return s.ready }

// Loaded is closed when all requests of the load have been answered.
func (s *Swarm) Loaded() <-chan struct{} { return s.idle }

// Run runs the swarm until ctx ends.
func (s *Swarm) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	joining := semaphore.NewWeighted(int64(orDefault(s.opts.Joining, 64)))
	for _, m := range s.simulated {
		group.Go(func() error { return m.run(ctx, joining) })
	}
	group.Go(func() error { return s.load(ctx) })
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// listens counts a minion that connects to the publish port or loses the connection.
func (s *Swarm) listens(up bool) {
	if up {
		s.Stats.Listening.Add(1)
	} else {
		s.Stats.Listening.Add(-1)
	}
}

// started counts a minion that has announced its start.
func (s *Swarm) started() {
	if s.begun.Add(1) == int64(len(s.simulated)) {
		close(s.ready)
	}
}

// load generates the load of Events, Returns, Pings and Fetch once all minions are connected.
func (s *Swarm) load(ctx context.Context) error {
	defer close(s.idle)
	select {
	case <-s.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	files := 0
	if s.opts.Fetch != "" {
		files = 1
	}
	for _, kind := range []struct {
		count int
		send  func(*minion, context.Context, int) error
	}{{s.opts.Events, (*minion).event}, {s.opts.Returns, (*minion).freeReturn},
		{s.opts.Pings, (*minion).ping}, {files, (*minion).fetch}} {
		if err := s.spread(ctx, kind.count, kind.send); err != nil {
			return err
		}
	}
	return nil
}

// spread makes every minion send count requests, Load of them concurrently.
func (s *Swarm) spread(
	ctx context.Context, count int, send func(*minion, context.Context, int) error,
) error {
	var work errgroup.Group
	work.SetLimit(orDefault(s.opts.Load, 16))
	for i := range count {
		for _, m := range s.simulated {
			if ctx.Err() != nil {
				break
			}
			work.Go(func() error {
				if err := send(m, ctx, i); err != nil {
					s.Stats.Failures.Add(1)
					s.opts.Log.WithError(err).Warn(m.id)
					return nil
				}
				s.Stats.Requests.Add(1)
				return nil
			})
		}
	}
	return errors.Join(work.Wait(), ctx.Err())
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// requester returns a minion's connection to the request port.
func (s *Swarm) requester() transport.Requester {
	if s.opts.Like != Ours {
		return newSalted(s.opts.Like, s.connection)
	}
	return s.connection()
}

func (s *Swarm) connection() transport.Requester {
	if s.opts.Short > 0 {
		return &shortRequester{s.opts.Ports, s.dialer(0), s.shortRequester}
	}
	return s.opts.Ports.Request(s.dialer(0))
}

// dialer returns how to reach a port of the master.
func (s *Swarm) dialer(port int) transport.Dialer {
	host, ret, _ := net.SplitHostPort(s.opts.Master) // New has checked it
	text := ret
	if port > 0 {
		text = strconv.Itoa(port)
	}
	return transport.Dialer{Addr: "tcp://" + net.JoinHostPort(host, text),
		BackoffMin: 200 * time.Millisecond, BackoffMax: 10 * time.Second, Jitter: true}
}
