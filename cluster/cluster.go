// Package cluster lets several masters act as one on NATS JetStream, without a shared disk.
//
//	c, err := cluster.Open(ctx, options)   // connect, check the server, make the streams, join
//	c.Keys(ctx)                            // the minions' keys, the same on every member
//	c.Publications()                       // jobs in one order; their sequence is the serial
//	c.Returns()                            // returns, acknowledged when a quorum has them
//	c.Leases()                             // what one member at a time may do
//	c.Values(cluster.Data)                 // small values, such as what is known of minions
//	c.Bus()                                // events that may be lost
//
// # What JetStream holds
//
// Names begin with the name of the cluster, here NAME. Every stream has Options.Replicas replicas.
//
//	stream NAME_publications   jobs for minions, an hour of them.
//	stream NAME_returns        returns, a day of them.
//	stream NAME_chunks         parts of returns that exceed the server's limit of a message.
//	bucket NAME_keys           one record an id, with its keys by state.
//	bucket NAME_leases         one record a lease, with its holder.
//	bucket NAME_fences         one record a lease, with the last token and the last step.
//	bucket NAME_members        one record a member, renewed every second.
//	bucket NAME_secrets        values of the shelf Secrets, see [Values].
//	bucket NAME_data           the same for Data.
//	bucket NAME_batches        the same for Batches.
//	bucket NAME_tokens         the same for Tokens.
//	bucket NAME_roster         the same for Roster.
//	subject NAME.bus           events, core NATS.
//
// A bucket is a stream in the layout of NATS' key-value stores, so that `nats kv` lists it.
//
// # Trust
//
// NATS is trusted to keep and to order, not to read or to write. Every value is sealed with a key
// that only the members have ([NewKey]), for its purpose and its place: a value that is moved to
// another key or stream does not open. NATS can withhold messages, and it can repeat them. A repeated
// key record is recognized by its generation, a repeated value by the revision that it replaced, and a
// repeated event by its number. Callers recognize repeated returns, by job and minion, and repeated
// publications, by a number of their own in the body. The names of streams and the ids of minions are visible to NATS, as part
// of a key of the bucket.
//
// # Faults
//
// A write counts when a majority of its stream's replicas has it. Without a majority writes fail
// with [ErrUnavailable] and [Cluster.Quorum] reports it within three seconds; what was read before
// stays readable. Without a quorum for five seconds a member connects to another server, since its own
// may be cut off from the others. After the loss of a server, nats-server 2.9 takes 4 to 9 s to elect a
// new leader of a stream. Publish methods repeat a write under one message id until their context ends, so a
// lost acknowledgement causes no second message. Returns are the exception: see [Returns.Add].
//
// Several replicas need nats-server 2.10.29 or later: with 2.9.10 tests find acknowledged messages
// lost, and replicas with different messages under one sequence, after a leader stood still for
// seconds. One replica works with 2.9.10, too.
//
// nats-server 2.9 flushes files every two minutes. A killed process loses nothing, but a power
// failure of most servers within that time can lose acknowledged messages. Servers from 2.10 on
// have the option sync_interval.
package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/logging"
)

var (
	// ErrUnavailable is wrapped if JetStream did not acknowledge in time: there is no connection,
	// no majority of the replicas, or the server is too slow. A write may have been stored.
	ErrUnavailable = errors.New("JetStream does not answer")
	// ErrBusy is wrapped if too many writes of this member wait for JetStream. Nothing was sent.
	ErrBusy = errors.New("too many writes wait for JetStream")
	// ErrFull is wrapped if a limit of the stream or of the server is reached. Nothing was stored.
	ErrFull = errors.New("JetStream is full")
	// ErrTooLarge is wrapped if a value exceeds what a message may have. Nothing was stored.
	ErrTooLarge = errors.New("too large for the cluster")
	// ErrConflict is wrapped if a compare-and-set lost against another writer. Nothing was stored.
	ErrConflict = errors.New("changed by another member")
	// ErrServer is wrapped by Open if the server lacks what a cluster needs.
	ErrServer = errors.New("unsuitable NATS server")
	// ErrMember is wrapped if another process is a member under the same id.
	ErrMember = errors.New("another process has the same member id")
	// ErrGap is wrapped, in a Gap, if messages after the caller's position are gone from the stream.
	ErrGap = errors.New("messages are missing")
	// ErrRestarted is wrapped if the stream ends before the caller's position: it is a new one.
	ErrRestarted = errors.New("the stream is younger than the position")
	// ErrClosed is wrapped after Close.
	ErrClosed = errors.New("the cluster is closed")
)

// A Gap is the error that a range of messages is gone from a stream. It wraps ErrGap.
type Gap struct {
	First, Last uint64 // the sequences that are missing
}

func (g *Gap) Error() string { return fmt.Sprintf("%v: from %d to %d", ErrGap, g.First, g.Last) }

// Unwrap returns ErrGap.
func (g *Gap) Unwrap() error { return ErrGap }

const (
	answerTime   = time.Second // how long one attempt waits for JetStream
	maxInFlight  = 64 << 20    // bytes of unacknowledged writes
	perWrite     = 16 << 10    // what a write counts at least, for its goroutine and buffers
	pause        = 100 * time.Millisecond
	longestPause = time.Second
)

// A Cluster is the membership of one master. It is safe for concurrent use.
type Cluster struct {
	o        Options
	instance string // of this process, so that a restart under the same id differs
	secret   *Secret
	nc       *nats.Conn
	js       jetstream.JetStream
	room     *semaphore.Weighted
	pulse    *pulse
	cancel   context.CancelFunc
	work     sync.WaitGroup
	closing  sync.Once

	// what the client of NATS tells only when it is not connecting
	connected  atomic.Bool
	maxPayload atomic.Int64
	link       atomic.Pointer[Connection]
	linked     atomic.Pointer[time.Time] // when the connection was made
	moves      atomic.Int64              // to another server, since there is no quorum

	sending sync.Mutex // of events on the bus
	sent    uint64     // their number
	heard   heardSenders

	unknown   unknownKeys
	forgeries forgeries

	mu      sync.Mutex
	handles map[string]jetstream.Stream
}

// Open connects to the servers, checks them, makes missing streams and joins the cluster. It waits
// until a majority of the replicas has acknowledged the join, or ctx ends. Errors wrap ErrServer,
// ErrMember, ErrUnavailable or those of the key file. A fault of an option is a *config.Finding, or
// several that are joined.
func Open(ctx context.Context, o Options) (*Cluster, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := o.CheckFiles(present()); err != nil {
		return nil, err
	}
	secret, err := LoadSecret(o.KeyFile)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	c := &Cluster{o: o, instance: rand.Text(), secret: secret,
		room: semaphore.NewWeighted(maxInFlight), handles: map[string]jetstream.Stream{}}
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	waits := time.AfterFunc(joinPatience, func() {
		o.Log.Warnf("JetStream at %s does not answer yet; are most of the NATS servers up? "+
			"The first start of a cluster needs all of them.", c.link.Load().Address)
	})
	defer waits.Stop()
	if err := c.prepare(ctx); err != nil {
		c.nc.Close()
		if errors.Is(err, ErrUnavailable) {
			err = fmt.Errorf("NATS at %s: %w; are most of the NATS servers up?", c.link.Load().Address, err)
		}
		return nil, err
	}
	return c, nil
}

// joinPatience is how long Open waits before it logs that it does.
const joinPatience = 5 * time.Second

// prepare checks the server, makes the streams and joins.
func (c *Cluster) prepare(ctx context.Context) error {
	if err := c.checkServer(ctx); err != nil {
		return err
	}
	for _, s := range c.streams() {
		if err := c.ensure(ctx, s); err != nil {
			return err
		}
	}
	pulse, err := join(ctx, c)
	if err != nil {
		return err
	}
	c.pulse = pulse
	running, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.work.Go(func() { pulse.run(running) })
	c.work.Go(func() { c.warnOfUnreachable(running, probePause) })
	return nil
}

// Close leaves the cluster and closes the connection. It takes at most a few seconds; the error
// says that the others have to notice the departure by themselves. Callers end their leases and
// subscriptions first.
func (c *Cluster) Close() (err error) {
	c.closing.Do(func() {
		c.cancel()
		c.work.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 2*answerTime)
		defer cancel()
		err = c.pulse.leave(ctx)
		c.nc.Close()
	})
	return err
}

// connect dials the servers.
func (c *Cluster) connect(ctx context.Context) error {
	options, err := c.dialing()
	if err != nil {
		return err
	}
	if end, ok := ctx.Deadline(); ok {
		options.Timeout = max(min(options.Timeout, time.Until(end)), time.Millisecond)
	}
	if c.nc, err = options.Connect(); err != nil {
		if refused := c.o.refusal(err); refused != err { //nolint:errorlint // the error itself
			return refused
		}
		return c.explainConnect(err)
	}
	c.learn(c.nc)
	if c.o.Domain == "" {
		c.js, err = jetstream.New(c.nc)
	} else {
		c.js, err = jetstream.NewWithDomain(c.nc, c.o.Domain)
	}
	if err != nil {
		c.nc.Close()
		return fmt.Errorf("use JetStream: %w", err)
	}
	return nil
}

// dialing returns the options of the connection. A dead server is noticed after two seconds;
// nothing is buffered while there is no connection.
func (c *Cluster) dialing() (nats.Options, error) {
	o := nats.GetDefaultOptions()
	o.Servers, o.Name = c.o.Servers, c.o.Name+"/"+c.o.Member
	o.MaxReconnect, o.ReconnectWait = -1, 200*time.Millisecond
	o.Timeout = 2 * time.Second
	o.PingInterval, o.MaxPingsOut = time.Second, 1
	o.ReconnectBufSize = -1
	o.NoEcho = true
	o.FlusherTimeout = 2 * time.Second
	log := c.o.Log
	o.DisconnectedErrCB = func(nc *nats.Conn, err error) {
		c.connected.Store(false)
		if nc.IsClosed() || err == nil { // nil: this member moves
			return
		}
		log.WithError(err).Warn("the connection to NATS is lost")
	}
	o.ReconnectedCB = func(nc *nats.Conn) {
		c.learn(nc)
		c.tellMove("connected to NATS at %s again", shown(nc.ConnectedUrl()))
	}
	o.AsyncErrorCB = func(_ *nats.Conn, sub *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrSlowConsumer) {
			return // the bus counts its losses
		}
		entry := log.WithError(err)
		if sub != nil {
			entry = entry.WithField("subject", sub.Subject)
		}
		entry.Warn("NATS reports an error")
	}
	for _, set := range c.o.proofs() {
		if err := set(&o); err != nil {
			return o, fmt.Errorf("credentials of NATS: %w", err)
		}
	}
	return o, nil
}

// learn keeps what is true of the present connection.
func (c *Cluster) learn(nc *nats.Conn) {
	c.maxPayload.Store(nc.MaxPayload())
	c.link.Store(connectionOf(nc))
	now := time.Now()
	c.linked.Store(&now)
	c.connected.Store(true)
}

// move connects to another server, if there is one. The present one may be cut off from the others: it
// answers, and nothing has a majority there.
func (c *Cluster) move() {
	if !c.connected.Load() || len(c.o.Servers) < 2 || time.Since(*c.linked.Load()) < moveAfter {
		return
	}
	c.moves.Add(1)
	c.tellMove("NATS at %s has no quorum for this member; trying the servers in turn", c.link.Load().Address)
	if err := c.nc.ForceReconnect(); err != nil && !c.nc.IsClosed() {
		c.o.Log.WithError(err).Error("connect to another NATS server")
	}
}

// tellMove logs a change of the server. After the first one without a quorum they are no news.
func (c *Cluster) tellMove(format string, args ...any) {
	if c.moves.Load() > 1 {
		c.o.Log.Debugf(format, args...)
		return
	}
	c.o.Log.Warnf(format, args...)
}

// name returns the name of a stream or bucket of this cluster.
func (c *Cluster) name(what string) string { return c.o.Name + "_" + what }

// subject returns a subject of this cluster.
func (c *Cluster) subject(what string) string { return c.o.Name + "." + what }
