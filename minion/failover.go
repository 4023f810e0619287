package minion

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
)

// A failover keeps a minion connected to one master of several (master_type failover and
// distributed; salt/minion.py, eval_master and handle_event).
//
// If a master is away, its connection is closed at once, and the returns that it has not acknowledged
// go to the next master. If the minion goes back to the first master of the list, the previous one
// still gets the returns of the jobs that it has ordered.
type failover struct {
	m     *Minion
	log   logrus.FieldLogger
	links []*link // as configured

	current atomic.Pointer[link]
	worked  *link         // the one that was used last; nil at first
	check   chan struct{} // signaled to look after the current master now
	back    chan struct{} // signaled to try the first master now
}

// Kinds of failover, which are values of master_type.
const (
	typeFailover    = "failover"
	typeDistributed = "distributed"
)

func isFailover(masterType string) bool {
	return masterType == typeFailover || masterType == typeDistributed
}

func newFailover(m *Minion, links []*link) *failover {
	f := &failover{m: m, log: m.log, check: make(chan struct{}, 1),
		back: make(chan struct{}, 1)}
	f.links = ordered(m.cfg, links)
	if m.cfg.MasterType == typeDistributed && len(links) > 1 {
		f.log.Infof("Distributed to the master at '%s'.", f.links[0].address.text)
	}
	f.current.Store(f.links[0])
	return f
}

// ordered returns masters in the order in which they are tried at first (salt/minion.py,
// eval_master). With distributed, the id of the minion decides which one is the first.
func ordered[T any](cfg *config.Minion, masters []T) []T {
	masters = slices.Clone(masters)
	if cfg.MasterType == typeDistributed && len(masters) > 1 {
		masters = moved(masters, int(crc32.ChecksumIEEE([]byte(cfg.ID))%uint32(len(masters))), 0)
	}
	if cfg.RandomMaster || cfg.MasterShuffle {
		rest := masters
		if cfg.MasterFailback && isFailover(cfg.MasterType) { // the first is the one to return to
			rest = masters[min(1, len(masters)):]
		}
		rand.Shuffle(len(rest), func(i, k int) { rest[i], rest[k] = rest[k], rest[i] })
	}
	return masters
}

// moved returns a copy of the list in which the element at index i is moved to index to.
func moved[T any](list []T, i, to int) []T {
	one := list[i]
	return slices.Insert(slices.Delete(slices.Clone(list), i, i+1), to, one)
}

// run keeps a connection to one master until ctx ends. Any other error is fatal to the minion.
func (f *failover) run(ctx, work context.Context) error {
	order := f.links
	next, err := f.connect(ctx, order)
	for err == nil {
		l := next.link
		f.use(ctx, l)
		next, err = f.stay(ctx, work, next)
		switch {
		case err != nil:
		case next.link != nil: // the first master is back
			order = f.links
			f.fire("__master_failback", next.link)
		default:
			f.log.Infof("Connection to master %s lost", l.address.text)
			f.fire("__master_disconnected", l)
			f.rest(l)
			f.log.Info("Trying to tune in to next master from master-list")
			order = moved(order, slices.Index(order, l), len(order)-1)
			next, err = f.connect(ctx, order)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// A signedIn is a link whose master has accepted the minion.
type signedIn struct {
	link  *link
	creds *channel.Credentials
}

// connect signs in to the first master that accepts the minion. After each round without success it
// waits for acceptance_wait_time. An error means that the minion must end: ctx has ended, or all
// masters have refused the minion for good.
func (f *failover) connect(ctx context.Context, order []*link) (signedIn, error) {
	for tries := 1; ; tries++ {
		var fatal []error
		for _, l := range order {
			creds, err := f.signIn(ctx, l)
			switch {
			case err == nil:
				return signedIn{l, creds}, nil
			case ctx.Err() != nil:
				return signedIn{}, ctx.Err()
			case f.isFatal(err):
				fatal = append(fatal, fmt.Errorf("master %s: %w", l.address.text, err))
			}
			l.auth.logFailure(err)
			if tries == 1 { // further rounds say nothing new
				f.log.Infof("Master %s could not be reached, trying next master (if any)", l.address.text)
			}
		}
		if len(fatal) == len(order) {
			return signedIn{}, errors.Join(fatal...)
		}
		if tries == f.m.settings.config().MasterTries {
			f.log.Error("No master could be reached or all masters denied the minion's connection attempt.")
		}
		if err := clock.Sleep(ctx, f.m.settings.config().AcceptanceWaitTime); err != nil {
			return signedIn{}, err
		}
	}
}

// isFatal reports whether a master's refusal is for good.
func (f *failover) isFatal(err error) bool {
	if errors.Is(err, channel.ErrUnproved) { // such a refusal can be forged
		return false
	}
	return errors.Is(err, channel.ErrFingerprint) ||
		errors.Is(err, channel.ErrRejected) && !f.m.settings.config().RejectedRetry
}

// signIn signs in to a master once. It fails when no connection can be made, or after auth_timeout;
// then it closes the connection.
func (f *failover) signIn(ctx context.Context, l *link) (*channel.Credentials, error) {
	trying, cancel := context.WithTimeoutCause(ctx, max(f.m.cfg.AuthTimeout, time.Second), errNoReply)
	defer cancel()
	trying, fail := context.WithCancelCause(trying)
	defer fail(nil)
	l.unreachable.Store(&fail)
	defer l.unreachable.Store(nil)
	l.standby.wake()
	creds, err := l.auth.signInOnce(trying)
	if err == nil {
		l.auth.clearRequest()
		l.auth.lastLogged = "" // the next failure is logged again
		l.log.Info("Authentication with master successful")
		return creds, nil
	}
	if cause := context.Cause(trying); cause != nil && ctx.Err() == nil {
		err = withCause(cause, err)
	}
	l.contacted.reach()
	f.rest(l)
	return nil, err
}

// withCause returns the error of a sign-in that cause has ended. That it was canceled says nothing
// more.
func withCause(cause, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("sign in: %w", cause)
	}
	return fmt.Errorf("%w: %w", cause, err)
}

var errNoReply = errors.New("the master does not answer")

// rest closes the connection to a master.
func (f *failover) rest(l *link) {
	l.gate.set(false)
	l.publishing.Store(publishNew)
	if err := l.standby.Close(); err != nil {
		l.log.WithError(err).Debug("close the connection to a master that is left")
	}
}

// use makes l the current link, and sets its master in the grains and options of the plug-ins.
func (f *failover) use(ctx context.Context, l *link) {
	before := f.current.Swap(l)
	f.m.useMaster(l.address.text)
	if f.worked != nil && f.worked != l {
		f.log.Warnf("Master changed from %s to %s", f.worked.address.text, l.address.text)
	}
	f.worked = l
	if before != l {
		f.log.Infof("Re-initialising subsystems for new master %s", l.address.text)
		if err := f.m.refreshGrains(ctx); err != nil && ctx.Err() == nil {
			f.log.WithError(err).Error("collect the grains for the new master")
		}
		f.m.reload()
	}
}

func (f *failover) fire(tag string, l *link) {
	if err := f.m.bus.Fire(tag, data.NewMap("master", l.address.text)); err != nil {
		f.log.WithError(err).Errorf("fire event %s", tag)
	}
}

// stay serves a master until it is away or the first master of the list is back. In the latter case
// next is the first master, which the minion has signed in to.
func (f *failover) stay(ctx, work context.Context, on signedIn) (next signedIn, err error) {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	group, serving := errgroup.WithContext(serving)
	group.Go(func() error { return on.link.serve(serving, work, on.creds) })
	group.Go(func() error {
		defer stop()
		next = f.watch(serving, on.link)
		return nil
	})
	err = group.Wait()
	switch {
	case ctx.Err() != nil:
		return signedIn{}, ctx.Err()
	case errors.Is(err, context.Canceled), refused(err):
		err = nil
	}
	return next, err
}

// watch looks after a master every master_alive_interval, until it is away, the first master of the
// list is back, or ctx ends.
func (f *failover) watch(ctx context.Context, l *link) signedIn {
	cfg := f.m.settings.config()
	alive := newTicker(checkPause(cfg.MasterAliveInterval))
	defer alive.stop()
	back := newTicker(f.failbackPause(cfg, l))
	defer back.stop()
	for {
		select {
		case <-ctx.Done():
			return signedIn{}
		case <-alive.c:
			if !f.isAlive(ctx, l, checkPatience(cfg.MasterAliveInterval)) {
				return signedIn{}
			}
		case <-f.check:
			// a signal from before the connection was made is about an earlier connection
			if l.publishing.Load() != publishNew && !f.isAlive(ctx, l, maxPatience) {
				return signedIn{}
			}
		case <-back.c:
			if first, ok := f.tryFirst(ctx, l); ok {
				return first
			}
		case <-f.back:
			if first, ok := f.tryFirst(ctx, l); ok {
				return first
			}
		}
	}
}

// The minion leaves a master that does not answer within master_alive_interval plus two seconds. If a
// check may take longer than two seconds, it begins earlier by the difference.
const (
	minPatience = 2 * time.Second
	maxPatience = 5 * time.Second
)

func checkPatience(interval time.Duration) time.Duration {
	return minPatience + min(interval/2, maxPatience-minPatience)
}

// checkPause returns the time between checks, or 0 for none.
func checkPause(interval time.Duration) time.Duration {
	if interval <= 0 {
		return 0
	}
	return interval + minPatience - checkPatience(interval)
}

// failbackPause returns the time between attempts to return to the first master, or 0 for none.
func (f *failover) failbackPause(cfg *config.Minion, l *link) time.Duration {
	switch {
	case !cfg.MasterFailback || l == f.links[0]:
		return 0
	case cfg.MasterFailbackInterval > 0:
		return cfg.MasterFailbackInterval
	}
	return cfg.MasterAliveInterval
}

// isAlive reports whether the publish connection to a master is up and its request port answers.
func (f *failover) isAlive(ctx context.Context, l *link, patience time.Duration) bool {
	if l.publishing.Load() != publishUp {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := l.client.Do(ctx, data.NewMap("cmd", "_master_opts", "env_only", true))
	if err != nil && !refused(err) {
		l.log.WithError(err).Debug("check whether the master answers")
		return false
	}
	return true
}

// tryFirst signs in to the first master of the list. It reports false if that is the current one or
// does not accept the minion.
func (f *failover) tryFirst(ctx context.Context, current *link) (signedIn, bool) {
	first := f.links[0]
	if first == current {
		return signedIn{}, false
	}
	creds, err := f.signIn(ctx, first)
	if err != nil {
		first.log.WithError(err).Debug("the first master is not back yet")
		return signedIn{}, false
	}
	f.log.Infof("Master %s is back", first.address.text)
	return signedIn{first, creds}, true
}

// handOverPause is the time between two runs of handOver through the masters.
const handOverPause = time.Second

// handOver moves returns for masters that are away to the current one until ctx ends, and closes
// connections that were kept for the last returns.
func (f *failover) handOver(ctx context.Context) error {
	for {
		if err := clock.Sleep(ctx, handOverPause); err != nil {
			return err
		}
		current := f.current.Load()
		for _, l := range f.links {
			switch {
			case l == current || l.unreachable.Load() != nil:
			case l.gate.isOpen(): // left for the first master
				if l.courier.isFailing() || l.courier.spool.len() == 0 && !f.m.jobs.hasOf(l) {
					f.rest(l)
				}
			case current.gate.isOpen():
				l.courier.moveTo(current.courier)
			}
		}
	}
}

// A ticker sends the time again and again, or never if it was made without a pause.
type ticker struct {
	c    <-chan time.Time
	stop func()
}

func newTicker(pause time.Duration) ticker {
	if pause <= 0 {
		return ticker{stop: func() {}}
	}
	t := time.NewTicker(pause)
	return ticker{t.C, t.Stop}
}
