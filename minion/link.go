package minion

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/transport"
)

// A link is the conversation with one master.
type link struct {
	m       *Minion
	address masterAddress
	log     logrus.FieldLogger
	out     transport.Requester
	client  *channel.Client
	courier *courier
	gate    *gate
	welcome *welcome
	acks    *acks

	up        chan struct{} // closed when the publish connection is there for the first time
	met       chan struct{} // closed by meet
	meet      func()        // notes that the master knows of the start, or that this is going to take time
	announced chan struct{} // closed when the master was told of the start
	ready     chan struct{} // closed when publications may be taken: the pillar is there, or is known not to come
	greeted   atomic.Bool   // the publisher was told, or is being told, who listens
	port      atomic.Int64  // of the master's publisher, as it said when it let the minion in
	resume    chan struct{} // the publisher has another port now
}

// newLink prepares the conversation with a master. It begins to connect at once; close ends that.
func newLink(m *Minion, address masterAddress) (*link, error) {
	l := &link{m: m, address: address, log: m.log.WithField("master", address.text), gate: newGate(),
		up: make(chan struct{}), met: make(chan struct{}), announced: make(chan struct{}), ready: make(chan struct{}),
		resume: make(chan struct{}, 1)}
	l.meet = sync.OnceFunc(func() { close(l.met) })
	dialer, err := l.dialer(address.port, m.cfg.SourceRetPort)
	if err != nil {
		return nil, err
	}
	dialer.OnState = l.requestState()
	l.welcome = newWelcome(l, l.join)
	l.out = m.opts.Ports.Request(dialer)
	l.client, err = channel.NewClient(m.key, m.trusted(), l.out, l.clientOptions())
	if err != nil {
		return nil, errors.Join(err, l.out.Close())
	}
	l.courier = newCourier(m, l)
	l.acks = newAcks(m.cfg.ID, func(jids []job.ID) error { return m.jobs.sync(jids) }, func(ctx context.Context, events []any) error { return l.fire(ctx, "", nil, events, nil) })
	return l, nil
}

func (l *link) close() error { return l.out.Close() }

// dialer says how to reach a port of the master.
func (l *link) dialer(port, sourcePort int) (transport.Dialer, error) {
	cfg := l.m.cfg
	source, err := transport.Source(cfg.SourceInterfaceName, cfg.SourceAddress, sourcePort)
	if err != nil {
		return transport.Dialer{}, err
	}
	return transport.Dialer{
		Addr: "tcp://" + net.JoinHostPort(l.address.host, strconv.Itoa(port)), Local: source,
		KeepAlive:  transport.SaltKeepAlive(cfg.TCPKeepalive, cfg.TCPKeepaliveIdle, cfg.TCPKeepaliveCnt, cfg.TCPKeepaliveIntvl),
		BackoffMin: cfg.ReconDefault, BackoffMax: cfg.ReconMax, Jitter: cfg.ReconRandomize, Log: l.log,
	}, nil
}

func (l *link) clientOptions() channel.ClientOptions {
	cfg := l.m.cfg
	return channel.ClientOptions{
		ID: cfg.ID, EncAlgo: cfg.EncryptionAlgorithm, SigAlgo: cfg.SigningAlgorithm,
		Timeout: cfg.RequestChannelTimeout, Tries: cfg.RequestChannelTries,
		AuthTimeout: cfg.AuthTimeout, AuthTries: cfg.AuthTries,
		Fingerprint: cfg.MasterFinger, HashType: cfg.HashType, OpenMode: cfg.OpenMode,
		VerifySigned: cfg.VerifyMasterPubkeySign, AlwaysVerify: cfg.AlwaysVerifySignature,
		RequireSigned: cfg.SignPubMessages, AllowUnsigned: cfg.MinimumAuthVersion < 2,
		AutosignGrains: l.autosignGrains, OnSignIn: l.signedIn, Log: l.log,
	}
}

// autosignGrains returns the grains that the master may decide by, or nil.
func (l *link) autosignGrains() *data.Map {
	if len(l.m.settings.now().AutosignGrains) == 0 {
		return nil
	}
	chosen, grains := data.NewMap(), l.m.Grains()
	for _, name := range l.m.settings.now().AutosignGrains {
		chosen.Set(name, grains.Value(name))
	}
	return chosen
}

// run signs in and listens until ctx ends or there is a reason for the minion to end. Jobs run under work.
func (l *link) run(ctx, work context.Context) error {
	creds, err := l.welcome.enter(ctx)
	if err != nil {
		return err
	}
	l.port.Store(int64(creds.PublishPort))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.listen(ctx, work) })
	group.Go(func() error { return l.welcome.stay(ctx) })
	group.Go(func() error { return l.greet(ctx) })
	group.Go(func() error { return l.acks.run(ctx) })
	return group.Wait()
}

// listen takes publications until ctx ends. It moves on when the master's publisher gets another port.
func (l *link) listen(ctx, work context.Context) error {
	state := l.publishState(ctx)
	for ctx.Err() == nil {
		if err := l.subscribe(ctx, work, state); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (l *link) subscribe(ctx, work context.Context, state func(bool, error)) error {
	cfg := l.m.cfg
	port := cfg.PublishPort
	if port == 0 || port == 4506 { // as Salt: 4506 stands for a port that is not configured
		port = int(l.port.Load())
	}
	dialer, err := l.dialer(port, cfg.SourcePublishPort)
	if err != nil {
		return err
	}
	dialer.Identity, dialer.OnState, dialer.Hello = []byte(cfg.ID), state, l.hello
	topics := []string{channel.Topic(cfg.ID), ""} // the first tells a master of ours whose connection it is
	if cfg.ZMQFiltering {
		topics = []string{channel.Topic(cfg.ID), channel.TopicBroadcast}
	}
	run, stop := context.WithCancel(ctx)
	group, run := errgroup.WithContext(run)
	group.Go(func() error {
		defer stop()
		select {
		case <-run.Done():
		case <-l.resume:
		}
		return nil
	})
	group.Go(func() error {
		defer stop()
		return l.m.opts.Ports.Subscribe(dialer, topics...).Run(run, func(topic, body []byte) { l.take(run, work, topic, body) })
	})
	if err := group.Wait(); ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// hello returns what tells the master's publisher who listens, where the transport does that. The master behind another
// connection than the first may be another run with other keys, so the minion signs in for it at once
// (salt/channel/client.py, send_id).
func (l *link) hello(ctx context.Context) ([]byte, error) {
	for first := l.greeted.CompareAndSwap(false, true); !first; {
		if _, err := l.welcome.once(ctx); err == nil {
			break
		}
		if err := clock.Sleep(ctx, time.Second+rand.N(l.m.settings.now().AcceptanceWaitTime+time.Second)); err != nil {
			return nil, err
		}
	}
	return l.client.Hello(ctx)
}

// moved notes the port of the master's publisher.
func (l *link) moved(creds *channel.Credentials) {
	if l.port.Swap(int64(creds.PublishPort)) == int64(creds.PublishPort) {
		return
	}
	select {
	case l.resume <- struct{}{}:
	default:
	}
}

// requestState tells why there is no connection before there was one; later the publish connection tells.
func (l *link) requestState() func(up bool, err error) {
	first := true
	return func(up bool, err error) {
		switch {
		case up:
			first = false
		case first && err != nil && !errors.Is(err, transport.ErrClosed):
			l.log.WithError(err).Error("The Salt Master cannot be reached; the minion goes on trying")
			first = false
			l.meet()
		}
	}
}

// publishState returns what is told of connections: each but the first makes the minion sign in again. Where the publish
// port is there the request port is too, so that who waits for that need not wait for the end of a pause.
func (l *link) publishState(ctx context.Context) func(up bool, err error) {
	first := true
	return func(up bool, err error) {
		if h, ok := l.out.(transport.Hurrier); ok && up {
			h.Hurry()
		}
		switch {
		case !up && (errors.Is(err, transport.ErrClosed) || ctx.Err() != nil):
		case !up:
			l.log.WithError(err).Warn("The connection to the master is lost; trying to connect again")
		case first:
			first = false
			close(l.up)
		default:
			l.log.Info("The connection to the master is back")
			l.welcome.ask()
		}
	}
}

// take opens one publication and starts its job where it is for this minion.
func (l *link) take(ctx, work context.Context, topic, body []byte) {
	if topic != nil && !l.mine(string(topic)) {
		return
	}
	select {
	case <-l.ready:
	case <-ctx.Done():
		return
	}
	if !l.gate.isOpen() {
		l.welcome.answered(ctx) // who sees the minion accepted may publish before it has read so
	}
	if !l.gate.isOpen() {
		l.log.Debug("publication dropped: the master does not let this minion in")
		return
	}
	pub, err := l.client.OpenPublication(ctx, body)
	switch {
	case errors.Is(err, channel.ErrStale), refused(err):
		l.log.WithError(err).Debug("a publication is dropped")
		return
	case err != nil:
		if ctx.Err() == nil {
			l.log.WithError(err).Warn("a publication is dropped")
		}
		return
	}
	if l.named(pub) {
		l.m.jobs.start(work, pub, l, len(body))
	}
}

func (l *link) mine(topic string) bool {
	return topic == channel.TopicBroadcast || topic == channel.Topic(l.m.cfg.ID)
}

// named reports whether a publication is for this minion.
func (l *link) named(pub *job.Publication) bool {
	kind := pub.TargetType
	if kind == "" {
		kind = "glob"
	}
	target, err := match.Compile(pub.Target, kind, match.PublicationDelimiter(kind, pub.Delimiter), match.Options{})
	if err != nil {
		l.log.WithError(err).Debugf("target of job %s", pub.JID)
		return false
	}
	return target.Match(&match.Minion{ID: l.m.cfg.ID, Grains: l.m.Grains(), Pillar: l.m.Pillar()})
}

// proveTime bounds the request that follows a sign-in.
const proveTime = 5 * time.Second

// join signs in, and sends one small request under the new key. A master of ours takes long messages only from minions
// that have proved themselves so since its start.
func (l *link) join(ctx context.Context) (*channel.Credentials, error) {
	creds, err := l.client.SignIn(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.introduce(ctx); refused(err) { // the key was taken away just now
		return nil, err
	}
	return creds, nil
}

// introduce sends the request that follows a sign-in. It also tells a master of ours that this minion runs no job twice, so that the
// master sends it again what it may have missed.
func (l *link) introduce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, proveTime)
	defer cancel()
	reply, err := l.client.Do(ctx, data.NewMap("cmd", "_master_opts", "env_only", true, acksField, true))
	if err != nil {
		l.log.WithError(err).Debug("the first request after the sign-in fails")
		return err
	}
	l.acks.hear(reply)
	return nil
}
