package syndic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/pki/trusted"
	"github.com/brineproject/brine/transport"
)

// An upper is the link to one upper master.
type upper struct {
	s       *Syndic
	address address
	log     logrus.FieldLogger
	out     transport.Requester
	client  *channel.Client
	queue   *queue
	loads   *memory // jobs whose loads the master has

	port     atomic.Int64  // publish port, as reported at the sign-in
	moved    chan struct{} // signaled when it has changed
	again    chan struct{} // signaled when a sign-in is needed
	announce chan struct{} // signaled when the inventory is to be sent
	unknown  atomic.Bool   // before that, the start event is to be sent
	reached  chan struct{} // closed when the publish connection was made for the first time
	reach    func()        // closes it
	ready    func()        // logs that the syndic is ready, once
	greeted  atomic.Bool   // the first message was sent to the publisher

	mu        sync.Mutex
	connected bool
	announced bool          // it has an inventory since the last sign-in
	has       int           // version of that inventory
	wanted    int           // version that it is to have before anything else is sent
	waits     bool          // the time for that runs
	away      time.Time     // since when it is not announced, if it is not
	changed   chan struct{} // closed when one of these changes
	reason    string        // logged reason for waiting
	barred    string        // why the master takes nothing of minions behind the syndic, "" if it may
	logged    string        // barred, as logged last
}

// inventoryWait is how long returns and events wait at most for a new inventory.
const inventoryWait = 5 * time.Second

// newUpper prepares the link to an upper master. The caller must close it.
func newUpper(s *Syndic, a address) (*upper, error) {
	u := &upper{s: s, address: a, log: s.log.WithField("master", a.text),
		queue: newQueue(queueLimit, s.opts.Now),
		loads: newMemory(s.settings.loads), moved: make(chan struct{}, 1), again: make(chan struct{}, 1),
		announce: make(chan struct{}, 1), reached: make(chan struct{}), changed: make(chan struct{})}
	u.away = s.opts.Now()
	u.ready = sync.OnceFunc(func() { u.log.Info("Syndic is ready to receive requests") })
	u.reach = sync.OnceFunc(func() { close(u.reached) })
	dialer, err := u.dialer(a.port, s.minion.SourceRetPort)
	if err != nil {
		return nil, err
	}
	dialer.OnState = u.requestState()
	u.out = s.opts.Ports.Request(dialer)
	keys := trusted.Keys{Dir: s.keys, File: trusted.SyndicFile, Sign: s.minion.MasterSignKeyName, Log: u.log,
		Now: s.opts.Now}
	u.client, err = channel.NewClient(s.key, keys, u.out, u.clientOptions())
	if err != nil {
		return nil, errors.Join(err, u.out.Close())
	}
	return u, nil
}

func (u *upper) close() error { return u.out.Close() }

// requestState returns a callback that logs the first error of a connection. Later ones are logged by
// the callback of publishState.
func (u *upper) requestState() func(up bool, err error) {
	first := true
	return func(up bool, err error) {
		if !up && first && err != nil && !errors.Is(err, transport.ErrClosed) {
			u.log.WithError(err).Error("The master cannot be reached; the syndic goes on trying: see syndic_master")
		}
		first = false
	}
}

// dialer returns a dialer for a port of the master.
func (u *upper) dialer(port, sourcePort int) (transport.Dialer, error) {
	cfg := u.s.minion
	source, err := transport.Source(cfg.SourceInterfaceName, cfg.SourceAddress, sourcePort)
	if err != nil {
		return transport.Dialer{}, err
	}
	return transport.Dialer{
		Addr: "tcp://" + net.JoinHostPort(u.address.host, strconv.Itoa(port)), Local: source,
		KeepAlive: transport.SaltKeepAlive(cfg.TCPKeepalive, cfg.TCPKeepaliveIdle, cfg.TCPKeepaliveCnt,
			cfg.TCPKeepaliveIntvl),
		BackoffMin: cfg.ReconDefault, BackoffMax: cfg.ReconMax, Jitter: cfg.ReconRandomize, Log: u.log,
	}, nil
}

// clientOptions returns the options of a minion's client. A request is tried once: the queue tries again.
func (u *upper) clientOptions() channel.ClientOptions {
	cfg := u.s.minion
	return channel.ClientOptions{
		ID: cfg.ID, EncAlgo: cfg.EncryptionAlgorithm, SigAlgo: cfg.SigningAlgorithm,
		Timeout: cfg.RequestChannelTimeout, Tries: 1, AuthTimeout: cfg.AuthTimeout, AuthTries: cfg.AuthTries,
		Fingerprint: u.s.finger, FingerOption: u.s.fingerOption(), HashType: cfg.HashType, OpenMode: cfg.OpenMode,
		VerifySigned: cfg.VerifyMasterPubkeySign, AlwaysVerify: cfg.AlwaysVerifySignature,
		RequireSigned: cfg.SignPubMessages, AllowUnsigned: cfg.MinimumAuthVersion < 2,
		OnSignIn: u.signedIn, Log: u.log,
	}
}

// signedIn is called after every sign-in, also that of a request: a request signs in if the master has
// restarted, and then the master may have forgotten what the syndic has announced.
func (u *upper) signedIn(err error) {
	switch {
	case err == nil:
		u.introduce()
	case isRefusal(err):
		u.disconnect()
	}
}

// isRefusal reports whether err is the master's refusal of a sign-in.
func isRefusal(err error) bool {
	return errors.Is(err, channel.ErrPending) || errors.Is(err, channel.ErrRejected) ||
		errors.Is(err, channel.ErrFull)
}

// signal signals a channel of capacity one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (u *upper) announceAgain() { signal(u.announce) }

// introduce makes the syndic announce itself and its inventory to a master that may have forgotten it.
// Until that is done, nothing else is sent. A master that barred the syndic may have restarted since.
func (u *upper) introduce() {
	u.unknown.Store(true)
	u.unbar()
	u.setForgotten()
	u.announceAgain()
}

// setConnected records whether the master accepts requests.
func (u *upper) setConnected(is bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if is == u.connected {
		return
	}
	u.connected = is
	u.retract()
	u.change()
}

// setAnnounced records that the master has a version of the inventory, and so takes the returns of its
// minions.
func (u *upper) setAnnounced(version int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.connected {
		u.announced, u.has = true, version
		u.change()
	}
}

// setBarred records why the master takes nothing of minions behind the syndic, or with "" that it does.
func (u *upper) setBarred(why string) {
	u.mu.Lock()
	old := u.logged
	u.barred, u.logged = why, why
	u.mu.Unlock()
	switch {
	case why == old:
	case why == "":
		u.log.Info("The master takes returns of the minions behind this syndic now")
	default:
		u.log.Errorf("The master takes no returns of minions behind this syndic, so that its jobs are not "+
			"ordered below: %.200s", why)
	}
}

// unbar forgets why the master takes nothing, until it says so again.
func (u *upper) unbar() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.barred = ""
}

func (u *upper) barredBy() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.barred
}

// setForgotten records that the master may not have the inventory.
func (u *upper) setForgotten() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.announced {
		u.retract()
		u.change()
	}
}

// retract records that the master has no inventory. The caller holds mu.
func (u *upper) retract() {
	if u.announced {
		u.away = u.queue.now()
	}
	u.announced, u.has = false, 0
}

// expectInventory makes delivery wait until the master has a version of the inventory, but at most
// inventoryWait.
func (u *upper) expectInventory(version int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.wanted = version
	if u.waits {
		return
	}
	u.waits = true
	time.AfterFunc(inventoryWait, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.waits = false
		if u.wanted > u.has {
			u.wanted = u.has
			u.change()
		}
	})
}

// absent returns how long the master has not been announced.
func (u *upper) absent() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.announced {
		return 0
	}
	return u.queue.now().Sub(u.away)
}

// takes reports whether the master accepts requests and knows the minions behind the syndic. The caller
// holds mu.
func (u *upper) takes() bool { return u.connected && u.announced && u.has >= u.wanted }

func (u *upper) isTaking() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.takes()
}

// change wakes the goroutines that wait for a change of the state. The caller holds mu.
func (u *upper) change() {
	close(u.changed)
	u.changed = make(chan struct{})
}

// disconnect records that the master is away, and requests a sign-in.
func (u *upper) disconnect() {
	u.unbar()
	u.setConnected(false)
	signal(u.again)
}

func (u *upper) isConnected() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.connected
}

// awaitConnected waits until the master accepts requests.
func (u *upper) awaitConnected(ctx context.Context) error {
	return u.await(ctx, func() bool { return u.connected }, time.Hour, func() {})
}

// awaitAnnounced waits until the master knows which minions are behind the syndic. Each time that
// patience has passed it calls late.
func (u *upper) awaitAnnounced(ctx context.Context, patience time.Duration, late func()) error {
	return u.await(ctx, u.takes, patience, late)
}

func (u *upper) await(
	ctx context.Context, state func() bool, patience time.Duration, late func(),
) error {
	timer := time.NewTimer(patience) // changes in between do not prolong it
	defer timer.Stop()
	for {
		u.mu.Lock()
		is, changed := state(), u.changed
		u.mu.Unlock()
		if is {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-timer.C:
			late()
			timer.Reset(patience)
		}
	}
}

// run keeps the link until ctx ends.
func (u *upper) run(ctx context.Context) error {
	defer u.setConnected(false)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return u.keepSignedIn(ctx) })
	group.Go(func() error { return u.listen(ctx) })
	group.Go(func() error { return u.greet(ctx) })
	group.Go(func() error { return u.deliver(ctx) })
	return group.Wait()
}

// keepSignedIn signs in, and again when that is needed, until ctx ends. The pause before a renewed
// sign-in is random, so that all syndics of a restarted master do not sign in at once.
func (u *upper) keepSignedIn(ctx context.Context) error {
	for {
		if err := u.authenticate(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-u.again:
		}
		delay := rand.N(max(u.s.minion.RandomReauthDelay, time.Millisecond))
		if err := clock.Sleep(ctx, delay); err != nil {
			return err
		}
	}
}

// authenticate signs in until the master accepts the syndic, with Salt's pauses (salt/minion.py,
// SyndicManager._connect_syndic). As with auth_safemode, no refusal ends the syndic. A master whose key is
// not that of syndic_finger does, as it ends a minion.
func (u *upper) authenticate(ctx context.Context) error {
	step := max(u.s.minion.AcceptanceWaitTime, 100*time.Millisecond)
	for wait := step; ; {
		err := u.signIn(ctx)
		if err == nil {
			u.reason = ""
			select {
			case <-u.again: // requested by a refusal meanwhile
			default:
			}
			u.setConnected(true)
			u.s.replay.kick()
			u.log.Info("Syndic successfully connected")
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, channel.ErrFingerprint):
			return daemon.Fatal(fmt.Errorf("sign in to master %s: %w", u.address.text, err))
		}
		u.logWaiting(err, wait)
		if err := clock.Sleep(ctx, wait); err != nil {
			return err
		}
		if wait < u.s.minion.AcceptanceWaitTimeMax {
			wait = min(wait+step, u.s.minion.AcceptanceWaitTimeMax)
		}
	}
}

// firstRequestTimeout is the timeout of the first request after a sign-in.
const firstRequestTimeout = 5 * time.Second

// signIn signs in and sends one small request. A Brine master accepts long messages only from senders
// that have proved their identity in this way since it started.
func (u *upper) signIn(ctx context.Context) error {
	creds, err := u.client.SignIn(ctx)
	if err != nil {
		return err
	}
	if u.port.Swap(int64(creds.PublishPort)) != int64(creds.PublishPort) {
		signal(u.moved)
	}
	ctx, cancel := context.WithTimeout(ctx, firstRequestTimeout)
	defer cancel()
	if _, err := u.client.Do(ctx, data.NewMap("cmd", "_master_opts", "env_only", true)); isRefusal(err) {
		return err
	}
	return nil
}

// logWaiting logs why the syndic waits, once per reason in a row.
func (u *upper) logWaiting(err error, wait time.Duration) {
	kind, text := u.explain(err)
	text = fmt.Sprintf("%s (tried again every %s)", text, wait)
	if kind == u.reason {
		u.log.Debug(text)
		return
	}
	u.reason = kind
	u.log.Error(text)
}

// explain returns the kind of a failed sign-in and the text for it.
func (u *upper) explain(err error) (kind, text string) {
	id := u.s.minion.ID
	switch {
	case errors.Is(err, channel.ErrPending):
		return "pending", "The master has stored the key of this syndic, but not accepted it; " +
			"accept it there with: salt-key -a " + id
	case errors.Is(err, channel.ErrDenied):
		return "denied", "The master knows another key for the id " + id + "; give this host its own id, or " +
			"compare the keys there with: salt-key -f " + id
	case errors.Is(err, channel.ErrRejected):
		return "rejected", "The master has rejected the key of this syndic; to accept it there after all: " +
			"salt-key -d " + id + ", and then salt-key -a " + id
	case errors.Is(err, channel.ErrFull):
		return "full", "The master is full: max_minions are connected"
	case isAboutMasterKey(err) && !u.s.minion.VerifyMasterPubkeySign:
		return "key", fmt.Sprintf("%v. The stored key is in %s, in %s", err, trusted.SyndicFile,
			u.s.minion.PKIDir)
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout", fmt.Sprintf("The master does not answer: %v", err)
	}
	return err.Error(), err.Error()
}

func isAboutMasterKey(err error) bool {
	return errors.Is(err, channel.ErrMasterKey) || errors.Is(err, channel.ErrOtherMaster)
}

// listen handles publications from the first sign-in on, until ctx ends. It connects anew when the publish
// port changes.
func (u *upper) listen(ctx context.Context) error {
	if err := u.awaitConnected(ctx); err != nil { // the publish port is known then
		return err
	}
	state := u.publishState(ctx)
	for ctx.Err() == nil {
		if err := u.subscribe(ctx, state); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// subscribe handles publications until ctx ends, the connection fails for good or the publish port
// changes; then it returns nil unless the connection has failed.
func (u *upper) subscribe(ctx context.Context, state func(bool, error)) error {
	cfg := u.s.minion
	port := cfg.PublishPort
	if port == 0 || port == 4506 { // as in Salt, 4506 means that no port is configured
		port = int(u.port.Load())
	}
	dialer, err := u.dialer(port, cfg.SourcePublishPort)
	if err != nil {
		return err
	}
	dialer.Identity, dialer.OnState, dialer.Hello = []byte(cfg.ID), state, u.hello
	run, stop := context.WithCancel(ctx)
	group, run := errgroup.WithContext(run)
	group.Go(func() error {
		defer stop()
		select {
		case <-run.Done():
		case <-u.moved:
		}
		return nil
	})
	group.Go(func() error {
		defer stop()
		return u.s.opts.Ports.Subscribe(dialer, u.topics()...).Run(run,
			func(topic, body []byte) { u.receive(run, topic, body) })
	})
	if err := group.Wait(); ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// topics returns the topics that a syndic subscribes to (salt/transport/zeromq.py,
// PublishClient.__init__). The first identifies the connection to a Brine master.
func (u *upper) topics() []string {
	if u.s.minion.ZMQFiltering {
		return []string{channel.Topic(u.s.minion.ID), channel.TopicBroadcast, channel.TopicSyndic}
	}
	return []string{channel.Topic(u.s.minion.ID), channel.TopicSyndic, ""}
}

// hello returns the message that identifies the syndic to the publisher, on transports that have one.
// After a reconnect the master may have restarted with other keys, so the syndic signs in first.
func (u *upper) hello(ctx context.Context) ([]byte, error) {
	if u.greeted.Swap(true) {
		u.client.Forget()
	}
	return u.client.Hello(ctx)
}

// publishState returns the callback for changes of the publish connection. Each reconnect triggers a
// new sign-in, since a restarted master has a new session key.
func (u *upper) publishState(ctx context.Context) func(up bool, err error) {
	first := true
	return func(up bool, err error) {
		if h, ok := u.out.(transport.Hurrier); ok && up {
			h.Hurry()
		}
		switch {
		case !up && (errors.Is(err, transport.ErrClosed) || ctx.Err() != nil):
		case !up:
			u.disconnect()
			u.log.WithError(err).Warn("The connection to the master is lost; trying to connect again")
		case first:
			first = false
			u.reach()
		default:
			u.log.Info("The connection to the master is back")
			signal(u.again)
		}
	}
}

// receive decodes one publication and orders it below.
func (u *upper) receive(ctx context.Context, topic, body []byte) {
	if topic != nil && !u.hasTopic(string(topic)) {
		return
	}
	pub, err := u.client.OpenPublication(ctx, body)
	switch {
	case errors.Is(err, channel.ErrStale), isRefusal(err):
		u.log.WithError(err).Debug("open publication of the master: it is dropped")
	case err != nil:
		if ctx.Err() == nil {
			u.log.WithError(err).Warn("open publication of the master: it is dropped")
		}
	default:
		u.s.orders.accept(order{from: u, pub: pub, size: len(body)})
	}
}

func (u *upper) hasTopic(topic string) bool {
	return topic == channel.TopicBroadcast || topic == channel.TopicSyndic ||
		topic == channel.Topic(u.s.minion.ID)
}
