package swarm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/transport"
)

// A link connects a minion to a master: to the same one for good, or to one of several at a time.
type link struct {
	m      *minion
	out    carrier
	client *channel.Client // nil before run
	gate   gate            // open while the master has accepted the minion and publications arrive
	doubt  chan struct{}   // signaled when the master may be away
	first  sync.Once       // announcement of the minion's start

	mu     sync.Mutex
	master string // HOST:PORT of the request port
}

func newLink(m *minion, master string) *link {
	return &link{m: m, master: master, doubt: make(chan struct{}, 1)}
}

// address returns the address of the present master.
func (l *link) address() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.master
}

// connect opens a connection to a master in place of the one before. onState may be nil.
func (l *link) connect(master string, onState func(up bool, err error)) {
	l.mu.Lock()
	l.master = master
	l.mu.Unlock()
	l.out.use(l.requester(master, onState))
}

// ask makes a minion with several masters ask whether the present one answers.
func (l *link) ask() {
	select {
	case l.doubt <- struct{}{}:
	default:
	}
}

// roams reports whether the link moves between masters.
func (l *link) roams() bool { return !l.m.swarm.opts.HotHot && len(l.m.swarm.opts.Masters) > 1 }

// run signs in and takes publications until ctx ends.
func (l *link) run(ctx context.Context, joining *semaphore.Weighted) error {
	defer l.out.Close()
	var err error
	if l.client, err = channel.NewClient(l.m.key, &l.m.trust, &l.out, l.options()); err != nil {
		return err
	}
	if l.roams() {
		return l.roam(ctx, joining)
	}
	l.connect(l.address(), nil)
	if err := l.signIn(ctx, joining); err != nil {
		return err
	}
	return l.listen(ctx, joining)
}

// options returns the protocol and the patience of the minion.
func (l *link) options() channel.ClientOptions {
	opts := &l.m.swarm.opts
	o := channel.ClientOptions{ID: l.m.id, Timeout: time.Minute, Tries: 3,
		AuthTimeout: 5 * time.Second, AuthTries: 7, Log: opts.Log}
	if len(opts.Masters) > 1 {
		o.Timeout, o.Tries = opts.Patience, 1
	}
	if l.roams() {
		o.AuthTimeout, o.AuthTries = opts.Patience, 1
	}
	if opts.Like != Ours { // the requester tries again
		o.AuthTimeout, o.AuthTries, o.Newest = 0, 1, opts.Like.newest()
	}
	if i := l.m.number; (i+1)*opts.Old/100 > i*opts.Old/100 {
		o.Newest = 2
	}
	return o
}

// signIn signs in to the master, however long that takes.
func (l *link) signIn(ctx context.Context, joining *semaphore.Weighted) error {
	for {
		err := l.signInOnce(ctx, ctx, joining)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, channel.ErrRejected):
			return fmt.Errorf("%s: %w", l.m.id, err)
		}
		l.m.swarm.opts.Log.WithError(err).Warn(l.m.id)
		wait := time.Second + rand.N(time.Second)
		if l.m.swarm.opts.Like != Ours {
			wait = saltWait
		}
		if err := clock.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// signInOnce waits for its turn, until ctx ends, and then signs in and fetches the pillar, until
// trying ends.
func (l *link) signInOnce(ctx, trying context.Context, joining *semaphore.Weighted) error {
	if err := joining.Acquire(ctx, 1); err != nil {
		return err
	}
	defer joining.Release(1)
	if _, err := l.client.SignIn(trying); err != nil {
		return err
	}
	m := l.m
	_, err := l.client.Pillar(trying, data.NewMap("id", m.id, "grains", m.grains(),
		"saltenv", nil, "pillarenv", nil, "pillar_override", data.NewMap(),
		"extra_minion_data", data.NewMap(), "ver", "2", "cmd", "_pillar"))
	if err == nil {
		m.swarm.Stats.SignedIn.Add(1)
	}
	return err
}

// listen takes publications until ctx ends, over as many connections as it takes.
func (l *link) listen(ctx context.Context, joining *semaphore.Weighted) error {
	var hellos atomic.Int64
	up, again := make(chan struct{}), make(chan struct{}, 1)
	first := sync.OnceFunc(func() { close(up) })
	before := false
	d := l.publications(func(is bool) {
		switch {
		case !is:
		case before && hellos.Load() == 0:
			select {
			case again <- struct{}{}:
			default:
			}
		default:
			before = true
			first()
		}
	})
	d.Hello = l.hello(&hellos)
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { l.start(ctx, up) })
	others.Go(func() { l.returns(ctx, again, joining) })
	return l.subscribe(ctx, ctx, d)
}

// reauthDelay is the longest pause before a minion whose connection was lost signs in again
// (random_reauth_delay, with a shorter default).
const reauthDelay = 2 * time.Second

// returns signs in again after each lost connection, as a master that was restarted knows nobody.
func (l *link) returns(ctx context.Context, again <-chan struct{}, joining *semaphore.Weighted) {
	for {
		select {
		case <-again:
		case <-ctx.Done():
			return
		}
		if clock.Sleep(ctx, rand.N(reauthDelay)) != nil || joining.Acquire(ctx, 1) != nil {
			return
		}
		_, err := l.client.SignIn(ctx)
		joining.Release(1)
		if err != nil {
			l.m.failed(ctx, err)
		}
	}
}

// publications returns how to reach the master's publish port. onState is told of each change.
func (l *link) publications(onState func(up bool)) transport.Dialer {
	d := l.dialer(l.address(), l.client.Credentials().PublishPort)
	d.Identity = []byte(l.m.id)
	listening := false // a first connection that fails is reported too
	d.OnState = func(is bool, _ error) {
		if is != listening {
			l.m.swarm.listens(is)
			l.gate.set(is)
		}
		listening = is
		onState(is)
	}
	return d
}

// subscribe takes publications until ctx ends. Their jobs go on until work ends.
func (l *link) subscribe(ctx, work context.Context, d transport.Dialer) error {
	var topics []string
	if l.m.swarm.opts.Filter {
		topics = []string{channel.TopicBroadcast, channel.Topic(l.m.id)}
	}
	return l.m.swarm.opts.Ports.Subscribe(d, topics...).Run(ctx,
		func(_, body []byte) { l.m.take(ctx, work, l, body) })
}

// start announces the minion's start once it is connected to the publish port. When the master has
// replied, publications reach the minion, as far as it can know: over tcp nothing else shows it.
func (l *link) start(ctx context.Context, up <-chan struct{}) {
	select {
	case <-up:
	case <-ctx.Done():
		return
	}
	m := l.m
	for {
		_, err := l.client.Do(ctx, data.NewMap("id", m.id, "cmd", "_minion_event", "pretag", nil, "tag",
			"salt/minion/"+m.id+"/start", "data", "Minion "+m.id+" started at "+
				time.Now().Format(time.ANSIC)))
		if err == nil {
			break
		}
		m.failed(ctx, err)
		if !l.roams() {
			break
		}
		l.ask() // if the master does not answer, the minion begins anew
		if clock.Sleep(ctx, time.Second) != nil {
			return
		}
	}
	l.first.Do(m.swarm.started)
}

// hello returns the minion's first message on the publish port of transport tcp. From the second
// connection on it signs in for it. It counts the messages.
func (l *link) hello(count *atomic.Int64) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		if count.Add(1) > 1 {
			l.client.Forget()
		}
		return l.client.Hello(ctx)
	}
}

// requester returns a connection to the request port of a master.
func (l *link) requester(master string, onState func(up bool, err error)) transport.Requester {
	s := l.m.swarm
	d := l.dialer(master, 0)
	if s.opts.Short > 0 {
		return l.salted(func() transport.Requester {
			return &shortRequester{s.opts.Ports, d, s.shortRequester}
		})
	}
	if s.opts.Like == Ours {
		d.OnState = onState
	}
	return l.salted(func() transport.Requester { return s.opts.Ports.Request(d) })
}

// salted returns a connection that behaves as that of the minions that the swarm imitates.
func (l *link) salted(open func() transport.Requester) transport.Requester {
	if like := l.m.swarm.opts.Like; like != Ours {
		return newSalted(like, open)
	}
	return open()
}

// dialer returns how to reach a port of a master; 0 means the request port.
func (l *link) dialer(master string, port int) transport.Dialer {
	host, text, _ := net.SplitHostPort(master) // New has checked it
	if port > 0 {
		text = strconv.Itoa(port)
	}
	d := transport.Dialer{Addr: "tcp://" + net.JoinHostPort(host, text),
		BackoffMin: 200 * time.Millisecond, BackoffMax: 10 * time.Second, Jitter: true}
	if from := l.m.swarm.opts.Sources; len(from) > 0 {
		d.Local = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from[l.m.number%len(from)], 0))
	}
	return d
}
