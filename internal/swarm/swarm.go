// Package swarm runs a swarm of simulated minions in one process, for sizing a master and for
// tests.
//
// Each minion follows the protocol fully: it has its own key and its own connections to both ports,
// signs in, verifies and decrypts publications, answers jobs and waits for the master's
// acknowledgement. It has no system to manage: it implements a few functions, which do nothing. The
// master may be a Brine or a Salt master.
//
// With several masters a minion has one of them at a time and moves on when that is lost, or it has
// all of them at once. It remembers the ids of all jobs, and runs each once, however often and from
// whichever masters it comes. It sends a return again until a master has acknowledged it.
//
// Besides answering jobs a swarm can generate load: a given number of events, returns and clear
// pings per minion.
package swarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/data"
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
	Count  int    // minions
	Prefix string // of their ids, before a number of five digits
	Master string // HOST:PORT of the request port
	// several masters, in place of Master; the i-th minion begins with the i-th of them, in turn
	Masters []string
	// connect to all masters at once; otherwise a minion moves to the next when its master is lost
	HotHot bool
	// time between questions of a minion whether its master answers, as with master_alive_interval;
	// 0 means 30 s. A minion with one master, or with all, asks nothing.
	Alive time.Duration
	// how long one of several masters may take for a request before the minion tries another; 0
	// means 10 s
	Patience time.Duration
	Sources  []netip.Addr // local addresses, in turn; none leaves the choice to the system
	Keys     Keys
	Ports    Ports
	Like     Like // the implementation that they imitate at sign-in
	Old      int  // of a hundred minions, how many speak protocol version 2; the others speak 3
	Joining  int  // concurrent sign-ins; 0 means 64
	Filter   bool // subscribe to topics (zmq_filtering)
	// connect for each request, with this number at once; 0 keeps a connection for each minion
	Short int

	Events  int // number of events that each minion fires
	Returns int // number of unsolicited returns that each minion sends
	Pings   int // number of clear pings that each minion sends
	Size    int // bytes of text in each of these returns; 0 returns True
	// bytes of the results of state.apply, state.sls and state.highstate; 0 means 20,000
	StateSize int
	// path in the saltenv base of a file that each minion downloads once, piece by piece; or ""
	Fetch string
	Load  int // concurrent requests of this load; 0 means 16

	Observer Observer           // nil means none
	Log      logrus.FieldLogger // nil logs nothing
}

// An Observer learns what the minions do with jobs. Many goroutines call it at once.
type Observer interface {
	// Ran is called when a minion runs a job.
	Ran(minion, jid string)
	// Acknowledged is called when a master has acknowledged a minion's return.
	Acknowledged(minion, jid, master string)
}

// Stats counts a swarm's activity so far.
type Stats struct {
	SignedIn  atomic.Int64 // successful sign-ins, without those after a lost connection to the only master
	Listening atomic.Int64 // connections to publish ports: one a minion and master
	Jobs      atomic.Int64 // publications that matched a minion
	Ran       atomic.Int64 // of these, jobs that the minion did not know
	Repeated  atomic.Int64 // of these, jobs that the minion knew, and did not run again
	Returned  atomic.Int64 // returns that a master acknowledged
	Resent    atomic.Int64 // attempts to send a return again
	Moves     atomic.Int64 // sign-ins of minions at another master than before
	Stale     atomic.Int64 // publications whose serial number was not higher than one before
	Requests  atomic.Int64 // of the load
	Fetched   atomic.Int64 // bytes of files
	Failures  atomic.Int64 // failed requests and publications
}

// A Swarm is a group of simulated minions.
type Swarm struct {
	Stats          Stats
	opts           Options
	simulated      []*minion
	jobs           register
	state          func() data.Raw // result of a state run
	work           sync.WaitGroup  // answers to jobs
	links          int64
	begun          atomic.Int64 // links that have announced the start of their minions
	ready          chan struct{}
	idle           chan struct{}
	shortRequester *semaphore.Weighted
}

// New creates a swarm, with a key for each minion.
func New(o Options) (*Swarm, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	s := &Swarm{opts: o, ready: make(chan struct{}), idle: make(chan struct{}),
		state:          sync.OnceValue(func() data.Raw { return stateRun(o.StateSize) }),
		shortRequester: semaphore.NewWeighted(int64(o.Short))}
	for i := range o.Count {
		key, err := o.Keys.Key(i)
		if err != nil {
			return nil, err
		}
		m := &minion{swarm: s, number: i, id: o.Prefix + fmt.Sprintf("%05d", i), key: key}
		s.simulated = append(s.simulated, m)
		m.addLinks()
		s.links += int64(len(m.links))
	}
	return s, nil
}

// complete returns the options with their defaults, or the error of options that cannot be met.
func (o Options) complete() (Options, error) {
	if len(o.Masters) == 0 {
		o.Masters = []string{o.Master}
	}
	for _, address := range o.Masters {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return o, fmt.Errorf("master: %w", err)
		}
	}
	if o.Old < 0 || o.Old > 100 {
		return o, fmt.Errorf("%d of a hundred minions with protocol version 2", o.Old)
	}
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	o.StateSize = cmp.Or(o.StateSize, 20_000)
	if o.Alive <= 0 {
		o.Alive = 30 * time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 10 * time.Second
	}
	return o, nil
}

// PublicKeys returns the PEM texts of the minions' public keys by id, for a master that is to accept
// them before they sign in.
func (s *Swarm) PublicKeys() map[string]string {
	keys := make(map[string]string, len(s.simulated))
	for _, m := range s.simulated {
		keys[m.id] = m.key.Public().PEM()
	}
	return keys
}

// Ready is closed when all minions are connected to the publish port of a master, or of all masters
// with HotHot, and have announced their start there.
func (s *Swarm) Ready() <-chan struct{} { return s.ready }

// Loaded is closed when all requests of the load have been answered.
func (s *Swarm) Loaded() <-chan struct{} { return s.idle }

// Run runs the swarm until ctx ends.
func (s *Swarm) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	joining := semaphore.NewWeighted(int64(cmp.Or(s.opts.Joining, 64)))
	for _, m := range s.simulated {
		group.Go(func() error { return m.run(ctx, joining) })
	}
	group.Go(func() error { return s.load(ctx) })
	err := group.Wait()
	s.work.Wait()
	if !errors.Is(err, context.Canceled) {
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

// started counts a link whose minion has announced its start.
func (s *Swarm) started() {
	if s.begun.Add(1) == s.links {
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
	work.SetLimit(cmp.Or(s.opts.Load, 16))
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
