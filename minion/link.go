package minion

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader/matchers"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/transport"
)

// A link is the connection to one master.
type link struct {
	m       *Minion
	address masterAddress
	log     logrus.FieldLogger
	out     transport.Requester
	standby *standby // the same as out with a failover, which uses one master of several; else nil
	client  *channel.Client
	courier *courier
	gate    *gate
	auth    *authenticator
	acks    *acks

	connected *milestone // the request connection was established
	up        *milestone // the publish connection was established
	contacted *milestone // the master knows of the start, or that will take a while
	announced *milestone // the start events were sent
	// publications are accepted: the pillar is there or could not be fetched
	ready *milestone

	publishing atomic.Int32 // state of the publish connection
	// ends the sign-in that is being tried when no connection can be made, or nil
	unreachable atomic.Pointer[context.CancelCauseFunc]

	greeted atomic.Bool   // the identity was sent, or is being sent, to the publisher
	port    atomic.Int64  // publish port, as reported by the master at sign-in
	resume  chan struct{} // signaled when the publish port has changed
}

// States of the publish connection.
const (
	publishNew  = iota // not made yet
	publishUp          // made
	publishLost        // made and lost, or not made at the first attempt
)

// newLink prepares the connection to a master. It begins to connect at once, except with a failover,
// which connects to one master of several. The caller must call close.
func newLink(m *Minion, address masterAddress) (*link, error) {
	l := &link{m: m, address: address, log: m.log.WithField("master", address.text),
		gate: newGate(), connected: newMilestone(), up: newMilestone(), contacted: newMilestone(),
		announced: newMilestone(), ready: newMilestone(), resume: make(chan struct{}, 1)}
	dialer, err := l.dialer(address.port, m.cfg.SourceRetPort)
	if err != nil {
		return nil, err
	}
	l.auth = newAuthenticator(l, l.signIn)
	if isFailover(m.cfg.MasterType) {
		dialer.OnState = l.standbyState
		l.standby = &standby{open: func() transport.Requester { return m.opts.Ports.Request(dialer) }}
		l.out = l.standby
	} else {
		dialer.OnState = l.requestState()
		l.out = m.opts.Ports.Request(dialer)
	}
	l.client, err = channel.NewClient(m.key, m.trusted(), l.out, l.clientOptions())
	if err != nil {
		return nil, errors.Join(err, l.out.Close())
	}
	l.courier = newCourier(m, l)
	l.acks = newAcks(m.cfg.ID, l.log, func(jids []job.ID) error { return m.jobs.sync(jids) },
		func(ctx context.Context, events []any) error {
			return l.send(ctx, masterEvent{several: events})
		})
	return l, nil
}

func (l *link) close() error { return l.out.Close() }

// dialer returns a dialer for a port of the master.
func (l *link) dialer(port, sourcePort int) (transport.Dialer, error) {
	cfg := l.m.cfg
	source, err := transport.Source(cfg.SourceInterfaceName, cfg.SourceAddress, sourcePort)
	if err != nil {
		return transport.Dialer{}, err
	}
	return transport.Dialer{
		Addr: "tcp://" + net.JoinHostPort(l.address.host, strconv.Itoa(port)), Local: source,
		KeepAlive: transport.SaltKeepAlive(cfg.TCPKeepalive, cfg.TCPKeepaliveIdle,
			cfg.TCPKeepaliveCnt, cfg.TCPKeepaliveIntvl),
		BackoffMin: cfg.ReconDefault, BackoffMax: cfg.ReconMax,
		Jitter: cfg.ReconRandomize, Resolve: l.m.opts.Resolve, Log: l.log,
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

// autosignGrains returns the grains for autosigning (autosign_grains), or nil.
func (l *link) autosignGrains() *data.Map {
	if len(l.m.settings.config().AutosignGrains) == 0 {
		return nil
	}
	chosen, grains := data.NewMap(), l.m.Grains()
	for _, name := range l.m.settings.config().AutosignGrains {
		chosen.Set(name, grains.Value(name))
	}
	return chosen
}

// run signs in and listens until ctx ends or an error requires the minion to end. Jobs run under
// the context work. It may be called again after it has ended.
func (l *link) run(ctx, work context.Context) error {
	err := l.awaitName(ctx)
	if errors.Is(err, errNoName) {
		return l.giveUp(ctx, err)
	}
	if err != nil {
		return err
	}
	creds, err := l.auth.authenticate(ctx)
	if err != nil {
		return err
	}
	return l.serve(ctx, work, creds)
}

// serve listens to a master that the minion has signed in to, until ctx ends or an error requires
// the minion to end. Jobs run under the context work. It may be called again after it has ended.
func (l *link) serve(ctx, work context.Context, creds *channel.Credentials) error {
	l.port.Store(int64(creds.PublishPort))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.listen(ctx, work) })
	group.Go(func() error { return l.auth.keepSignedIn(ctx) })
	group.Go(func() error { return l.greet(ctx) })
	group.Go(func() error { return l.acks.run(ctx) })
	return group.Wait()
}

// listen handles publications until ctx ends. It reconnects when the master's publish port changes.
func (l *link) listen(ctx, work context.Context) error {
	state := l.publishState(ctx)
	for ctx.Err() == nil {
		if err := l.subscribe(ctx, work, state); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// subscribe handles publications until ctx ends, the connection fails for good or the publish port
// changes; then it returns nil unless the connection has failed. It connects to publish_port or, if
// that is not configured, to the port that the master reported at the sign-in. state is called when
// the connection is established and when it is lost.
func (l *link) subscribe(ctx, work context.Context, state func(bool, error)) error {
	cfg := l.m.cfg
	port := cfg.PublishPort
	if port == 0 || port == 4506 { // as in Salt, 4506 means that no port is configured
		port = int(l.port.Load())
	}
	dialer, err := l.dialer(port, cfg.SourcePublishPort)
	if err != nil {
		return err
	}
	dialer.Identity, dialer.OnState, dialer.Hello = []byte(cfg.ID), state, l.hello
	// the first identifies the connection to a Brine master
	topics := []string{channel.Topic(cfg.ID), ""}
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
		return l.m.opts.Ports.Subscribe(dialer, topics...).Run(run,
			func(topic, body []byte) { l.handlePublication(run, work, topic, body) })
	})
	if err := group.Wait(); ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// hello returns the message that identifies the minion to the publisher, on transports that have
// one. After a reconnect the master may have restarted with other keys, so the minion signs in
// first (salt/channel/client.py, send_id).
func (l *link) hello(ctx context.Context) ([]byte, error) {
	for first := l.greeted.CompareAndSwap(false, true); !first; {
		if _, err := l.auth.signInOnce(ctx); err == nil {
			break
		}
		most := l.m.settings.config().AcceptanceWaitTime + time.Second
		if err := clock.Sleep(ctx, time.Second+rand.N(most)); err != nil {
			return nil, err
		}
	}
	return l.client.Hello(ctx)
}

// setPublishPort stores the publish port from credentials and makes listen reconnect if it has
// changed.
func (l *link) setPublishPort(creds *channel.Credentials) {
	if l.port.Swap(int64(creds.PublishPort)) == int64(creds.PublishPort) {
		return
	}
	select {
	case l.resume <- struct{}{}:
	default:
	}
}

// requestState returns a callback that logs the first connection error. Later errors are logged by
// the callback of publishState, and by awaitName if the name of the master is not found.
func (l *link) requestState() func(up bool, err error) {
	first := true
	return func(up bool, err error) {
		switch {
		case up:
			first = false
			l.connected.reach()
		case l.m.cfg.RetryDNS > 0 && isLookUp(err):
		case first && err != nil && !errors.Is(err, transport.ErrClosed):
			l.log.WithError(err).Error("The Salt Master cannot be reached; the minion goes on trying")
			first = false
			l.contacted.reach()
		}
	}
}

// standbyState is the callback for a master of a failover, which uses one master of several and logs
// itself how it handles errors.
func (l *link) standbyState(up bool, err error) {
	if up || err == nil || errors.Is(err, transport.ErrClosed) {
		return
	}
	l.contacted.reach()
	if fail := l.unreachable.Load(); fail != nil {
		(*fail)(err)
	}
}

// publishState returns the callback for changes of the publish connection. Each reconnect triggers
// a new sign-in. If the publish port answers, so does the request port, so pending requests are
// retried at once.
func (l *link) publishState(ctx context.Context) func(up bool, err error) {
	first := true
	return func(up bool, err error) {
		if h, ok := l.out.(transport.Hurrier); ok && up {
			h.Hurry()
		}
		if up {
			l.publishing.Store(publishUp)
		} else {
			l.publishing.Store(publishLost)
		}
		switch {
		case !up && (errors.Is(err, transport.ErrClosed) || ctx.Err() != nil):
		case !up:
			l.tell("__master_disconnected")
			l.log.WithError(err).Warn("The connection to the master is lost; trying to connect again")
		case first:
			first = false
			l.up.reach()
		default:
			l.tell("__master_connected")
			l.log.Info("The connection to the master is back")
			l.auth.request()
		}
	}
}

// tell fires an event about the connection on the bus of the minion, if master_alive_interval is
// set. The failover fires its own.
func (l *link) tell(tag string) {
	if l.standby != nil || l.m.settings.config().MasterAliveInterval <= 0 {
		return
	}
	if err := l.m.bus.Fire(tag, data.NewMap("master", l.address.text)); err != nil {
		l.log.WithError(err).Errorf("fire event %s", tag)
	}
}

// handlePublication decodes one publication and starts its job if it targets this minion.
func (l *link) handlePublication(ctx, work context.Context, topic, body []byte) {
	if topic != nil && !l.hasTopic(string(topic)) {
		return
	}
	select {
	case <-l.ready.done:
	case <-ctx.Done():
		return
	}
	if !l.gate.isOpen() {
		// a client may publish as soon as it sees the minion accepted, before the minion has read
		// the reply
		l.auth.awaitSignIn(ctx)
	}
	if !l.gate.isOpen() {
		l.log.Debug("publication dropped: the master does not accept this minion")
		return
	}
	pub, err := l.client.OpenPublication(ctx, body)
	switch {
	case errors.Is(err, channel.ErrStale), refused(err):
		l.log.WithError(err).Debug("publication dropped")
		return
	case err != nil:
		if ctx.Err() == nil {
			l.log.WithError(err).Warn("publication dropped")
		}
		return
	}
	if l.isTarget(ctx, pub) {
		l.m.jobs.start(work, pub, l, len(body))
	}
}

func (l *link) hasTopic(topic string) bool {
	return topic == channel.TopicBroadcast || topic == channel.Topic(l.m.cfg.ID)
}

// ownMatchLimit is how long users' own matchers may take. No other job is received meanwhile.
const ownMatchLimit = 10 * time.Second

// isTarget reports whether the target of a publication includes this minion.
func (l *link) isTarget(ctx context.Context, pub *job.Publication) bool {
	kind := pub.TargetType
	if kind == "" {
		kind = "glob"
	}
	ctx, cancel := context.WithTimeout(ctx, ownMatchLimit)
	defer cancel()
	target, err := match.Compile(pub.Target, kind, match.PublicationDelimiter(kind, pub.Delimiter),
		match.Options{Own: matchers.Of(ctx, l.m.funcs.Env())})
	if err != nil {
		l.log.WithError(err).Debugf("target of job %s", pub.JID)
		return false
	}
	named, err := target.Check(&match.Minion{ID: l.m.cfg.ID, Grains: l.m.Grains(),
		Pillar: l.m.Pillar()})
	if err != nil {
		l.log.WithError(err).Errorf("match the target of job %s", pub.JID)
	}
	return named && err == nil
}

// firstRequestTimeout is the timeout of the first request after a sign-in.
const firstRequestTimeout = 5 * time.Second

// signIn signs in and sends one small request under the new key. A Brine master accepts long
// messages only from minions that have proved their identity in this way since it started.
func (l *link) signIn(ctx context.Context) (*channel.Credentials, error) {
	creds, err := l.client.SignIn(ctx)
	if err != nil {
		return nil, err
	}
	switch err := l.sendFirstRequest(ctx); {
	case refused(err): // the key was removed meanwhile
		return nil, err
	case err != nil:
		l.log.WithError(err).Debug("the sign-in is not confirmed")
	}
	return creds, nil
}

// sendFirstRequest sends the first request after a sign-in. It also tells a Brine master that this
// minion never runs a job twice, so the master resends jobs that the minion may have missed.
func (l *link) sendFirstRequest(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, firstRequestTimeout)
	defer cancel()
	reply, err := l.client.Do(ctx,
		data.NewMap("cmd", "_master_opts", "env_only", true, acksField, true))
	if err != nil {
		return fmt.Errorf("first request after the sign-in: %w", err)
	}
	l.acks.readReply(reply)
	return nil
}

// signedIn is called after every sign-in, also that of a request. After a refusal it closes the gate, so
// that publications and returns do not sign in again. Then only the authenticator retries, at its
// own pace.
func (l *link) signedIn(err error) {
	switch {
	case err == nil:
		l.gate.set(true)
	case refused(err):
		l.gate.set(false)
		l.auth.request()
	}
}

// refused reports whether err is a refusal by the master.
func refused(err error) bool {
	return errors.Is(err, channel.ErrPending) || errors.Is(err, channel.ErrRejected) ||
		errors.Is(err, channel.ErrFull)
}
