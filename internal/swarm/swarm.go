// Package swarm runs a crowd of simulated minions in one process, for sizing a master and for tests.
//
// Each minion of the crowd is true to the protocol: it has its own key, its own connections to both ports, signs in,
// checks and opens publications, answers jobs and waits for the master's acknowledgement. What it does not have is a
// system below it: it knows a handful of functions, which do nothing. The master may be ours or Salt's.
//
// Besides answering jobs a crowd can make load of its own: events, returns and clear pings, a given number of each.
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

// Ports open the network sides of minions. Packages transport/zeromq and transport/tcp have them.
type Ports struct {
	Request   func(d transport.Dialer) transport.Requester
	Subscribe func(d transport.Dialer, topics ...string) transport.Subscriber
}

// Options say how large a crowd is and what it does.
type Options struct {
	Count   int    // minions
	Prefix  string // of their ids, before a number of five digits
	Master  string // HOST:PORT of the request port
	Keys    Keys
	Ports   Ports
	Like    Like // whose minions they sign in as
	Joining int  // sign-ins under way at once; 0 means 64
	Filter  bool // subscribe to topics (zmq_filtering)
	Short   int  // connect for each request, so many at once at most; 0 keeps a connection for each minion

	Events  int    // each minion fires so many
	Returns int    // each minion sends so many returns that no job asked for
	Pings   int    // each minion sends so many clear pings
	Size    int    // bytes of text in each of the returns; 0 returns True
	Fetch   string // path in the saltenv base of a file that each minion pulls once, piece after piece; "" is none
	Load    int    // requests of this load under way at once; 0 means 16

	Log logrus.FieldLogger // nil logs nothing
}

// Stats counts what a crowd has done so far.
type Stats struct {
	SignedIn  atomic.Int64
	Listening atomic.Int64 // minions with a connection to the publish port
	Jobs      atomic.Int64 // publications that were for a minion
	Returned  atomic.Int64 // returns that the master acknowledged
	Requests  atomic.Int64 // of the load
	Fetched   atomic.Int64 // bytes of files
	Failures  atomic.Int64 // requests and publications that went wrong
}

// A Swarm is a crowd of minions.
type Swarm struct {
	Stats Stats
	opts  Options
	crowd []*minion
	begun atomic.Int64 // minions that have announced their start
	ready chan struct{}
	idle  chan struct{}
	short *semaphore.Weighted
}

// New makes a crowd, with a key for each minion.
func New(o Options) (*Swarm, error) {
	if _, _, err := net.SplitHostPort(o.Master); err != nil {
		return nil, fmt.Errorf("master: %w", err)
	}
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	s := &Swarm{opts: o, ready: make(chan struct{}), idle: make(chan struct{}), short: semaphore.NewWeighted(int64(o.Short))}
	for i := range o.Count {
		key, err := o.Keys.Key(i)
		if err != nil {
			return nil, err
		}
		s.crowd = append(s.crowd, &minion{swarm: s, id: o.Prefix + fmt.Sprintf("%05d", i), key: key})
	}
	return s, nil
}

// Ready is closed when all minions have begun to listen and have announced their start.
func (s *Swarm) Ready() <-chan struct{} { return s.ready }

// Loaded is closed when all requests of the load have been answered.
func (s *Swarm) Loaded() <-chan struct{} { return s.idle }

// Run lets the crowd live until ctx ends.
func (s *Swarm) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	joining := semaphore.NewWeighted(int64(orDefault(s.opts.Joining, 64)))
	for _, m := range s.crowd {
		group.Go(func() error { return m.run(ctx, joining) })
	}
	group.Go(func() error { return s.load(ctx) })
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// listens counts a minion that listens.
func (s *Swarm) listens(up bool) {
	if up {
		s.Stats.Listening.Add(1)
	} else {
		s.Stats.Listening.Add(-1)
	}
}

// started counts a minion that has announced its start.
func (s *Swarm) started() {
	if s.begun.Add(1) == int64(len(s.crowd)) {
		close(s.ready)
	}
}

// load makes the crowd send what Events, Returns, Pings and Fetch ask for, once all listen.
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
	}{{s.opts.Events, (*minion).event}, {s.opts.Returns, (*minion).freeReturn}, {s.opts.Pings, (*minion).ping}, {files, (*minion).fetch}} {
		if err := s.spread(ctx, kind.count, kind.send); err != nil {
			return err
		}
	}
	return nil
}

// spread lets every minion send count requests, so many at once as Load says.
func (s *Swarm) spread(ctx context.Context, count int, send func(*minion, context.Context, int) error) error {
	var work errgroup.Group
	work.SetLimit(orDefault(s.opts.Load, 16))
	for i := range count {
		for _, m := range s.crowd {
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

// requester returns what a minion speaks to the request port with.
func (s *Swarm) requester() transport.Requester {
	if s.opts.Like != Ours {
		return newSalted(s.opts.Like, s.connection)
	}
	return s.connection()
}

func (s *Swarm) connection() transport.Requester {
	if s.opts.Short > 0 {
		return &short{s.opts.Ports, s.dialer(0), s.short}
	}
	return s.opts.Ports.Request(s.dialer(0))
}

// dialer says how to reach a port of the master.
func (s *Swarm) dialer(port int) transport.Dialer {
	host, ret, _ := net.SplitHostPort(s.opts.Master) // New has looked
	text := ret
	if port > 0 {
		text = strconv.Itoa(port)
	}
	return transport.Dialer{Addr: "tcp://" + net.JoinHostPort(host, text), BackoffMin: 200 * time.Millisecond, BackoffMax: 10 * time.Second, Jitter: true}
}
