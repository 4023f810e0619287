package minion

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Caller runs functions of a minion for a program that is not a daemon. It uses the minion's id,
// keys, grains and pillar but does not listen to a master (salt/minion.py, SMinion). It may run
// beside the daemon.
type Caller struct {
	// only the parts that calls of functions need: bus, jobs and scheduler are nil
	m         *Minion
	addresses []masterAddress // of the configured masters; nil before Join
	link      *link           // nil without a master
	connected atomic.Bool     // a connection to the current master was established
	lastError atomic.Value    // error: why the last connection failed or was lost
}

// NewCaller collects the grains and returns a Caller. opts are the effective options as functions
// see them. The caller must call Close.
func NewCaller(
	ctx context.Context, cfg *config.Minion, opts *data.Map, o Options,
) (*Caller, error) {
	c := &Caller{m: newMinion(cfg, opts, o)}
	var err error
	if c.m.facts, err = newFacts(ctx, o.Grains); err != nil {
		return nil, err
	}
	return c, c.openRegistries(loader.Host{})
}

// openRegistries creates the registries of functions, returners and states.
func (c *Caller) openRegistries(host loader.Host) error {
	m := c.m
	host.Order, host.CompilePillar = m.opts.Order, m.compilePillar
	host.RefreshGrains = m.refreshGrains
	m.env = loader.Env{Opts: m.settings.saltOptions(), Grains: m.Grains, Pillar: m.Pillar,
		Log: m.log, Host: host}
	return m.fillRegistries()
}

// Compile compiles the pillar if the minion compiles its own; otherwise Join fetches it from a
// master. Errors in pillar files are listed under _errors in the pillar.
func (c *Caller) Compile(ctx context.Context) error {
	if !c.m.compilesPillar() {
		return nil
	}
	return c.m.recompilePillar(ctx)
}

// Join signs in to the first master that answers and accepts the minion, in the order in which a
// minion with master_type failover tries them, and fetches the pillar. That master becomes the option
// master. The error is that of the last master tried; it wraps channel.ErrPending and the like.
func (c *Caller) Join(ctx context.Context) error {
	m := c.m
	err := m.openKeys()
	if err != nil {
		return err
	}
	if c.addresses, err = c.evaluateMasters(ctx); err != nil {
		return err
	}
	if c.link, err = c.firstMaster(ctx); err != nil {
		return err
	}
	m.links = []*link{c.link}
	c.nameMaster()
	if err := c.gatherPillar(ctx); err != nil {
		return err
	}
	return c.openRegistries(loader.Host{Masters: &callerMasters{linkedMasters{m}, c},
		FireMaster: m.FireMaster})
}

// evaluateMasters returns the masters. With master_type func it opens the execution modules for it.
func (c *Caller) evaluateMasters(ctx context.Context) ([]masterAddress, error) {
	if c.m.cfg.MasterType == typeFunc {
		if err := c.openRegistries(loader.Host{}); err != nil {
			return nil, err
		}
	}
	return evaluateMasters(ctx, c.m.cfg, c.m.funcs)
}

// nameMaster makes the master that was found among several the option master.
func (c *Caller) nameMaster() {
	if len(c.addresses) < 2 && c.m.cfg.MasterType != typeFunc {
		return
	}
	opts, _ := data.Clone(c.m.settings.saltOptions()).(*data.Map)
	opts.Set("master", c.link.address.text)
	c.m.settings.set(c.m.cfg, opts)
}

// gatherPillar fetches the pillar from the master, or compiles it if the minion compiles its own.
func (c *Caller) gatherPillar(ctx context.Context) error {
	if c.m.compilesPillar() {
		return c.Compile(ctx)
	}
	if err := c.link.fetchPillar(ctx, false); err != nil {
		return fmt.Errorf("fetch the pillar: %w", err)
	}
	return c.m.cachePillar()
}

// firstMaster signs in to one master after another until one accepts the minion.
func (c *Caller) firstMaster(ctx context.Context) (*link, error) {
	err := errors.New("there is no master in the configuration")
	order := ordered(c.m.cfg, c.addresses)
	for i, address := range order {
		var l *link
		if l, err = c.tryMaster(ctx, address, i < len(order)-1); err == nil {
			return l, nil
		}
		if ctx.Err() != nil || errors.Is(err, channel.ErrFingerprint) {
			break
		}
	}
	return nil, err
}

// tryMaster signs in to a master. If there are others to try, it fails as soon as no connection can
// be made.
func (c *Caller) tryMaster(ctx context.Context, address masterAddress, others bool) (*link, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	fail := func(error) {}
	if others {
		fail = cancel
	}
	l, err := c.dial(address, fail)
	if err != nil {
		return nil, err
	}
	if err := c.signIn(ctx, l); err != nil {
		return nil, errors.Join(err, l.close())
	}
	l.gate.set(true)
	return l, nil
}

// requestTo signs in to a master without a link and sends it one encrypted request.
func (c *Caller) requestTo(
	ctx context.Context, address masterAddress, load *data.Map,
) (reply any, err error) {
	l, err := c.dial(address, func(error) {})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := c.signIn(ctx, l); err != nil {
		return nil, err
	}
	l.gate.set(true)
	return l.call(ctx, load)
}

// signIn asks a master to accept the minion. It retries up to auth_tries times after a timeout, but
// not if the master cannot be reached at all.
func (c *Caller) signIn(ctx context.Context, l *link) error {
	var err error
	for range max(c.m.cfg.AuthTries, 1) {
		_, err = l.client.SignIn(ctx)
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) ||
			!c.connected.Load() {
			return c.m.withStoredKey(err)
		}
	}
	return err
}

// dial prepares a link for requests to a master. fail is called when no connection can be made.
func (c *Caller) dial(address masterAddress, fail func(error)) (*link, error) {
	l := &link{m: c.m, address: address, log: c.m.log.WithField("master", address.text),
		gate: newGate()}
	dialer, err := l.dialer(address.port, c.m.cfg.SourceRetPort)
	if err != nil {
		return nil, err
	}
	c.connected.Store(false)
	dialer.OnState = func(up bool, err error) {
		switch {
		case up:
			c.connected.Store(true)
		case err != nil && !c.connected.Load():
			fail(err)
		}
		c.recordError(address.uri(), err)
	}
	l.out = c.m.opts.Ports.Request(dialer)
	o := l.clientOptions()
	o.OnSignIn, o.AuthTries = nil, 1 // signIn retries itself
	l.client, err = channel.NewClient(c.m.key, c.m.trusted(), l.out, o)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// recordError records the last connection error.
func (c *Caller) recordError(uri string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		c.lastError.Store(fmt.Errorf("%s: %w", uri, err))
	}
}

// Trouble returns the error of the last failed or lost connection to a master, with its address, or
// nil if there was none.
func (c *Caller) Trouble() error {
	err, _ := c.lastError.Load().(error)
	return err
}

// Functions returns the execution modules.
func (c *Caller) Functions() *loader.Registry { return c.m.funcs }

// Returners returns the returners.
func (c *Caller) Returners() *loader.Registry { return c.m.returners }

// Plugins returns the plug-ins of another kind, such as executors or output; nil for none.
func (c *Caller) Plugins(kind string) *loader.Registry { return c.m.env.Registries[kind] }

// Grains returns the grains of this host. Do not modify them.
func (c *Caller) Grains() *data.Map { return c.m.Grains() }

// Return sends the master the result of a call that it did not publish. ret has Salt's form; its
// jid is set to `req`.
func (c *Caller) Return(ctx context.Context, ret *data.Map) error {
	if c.link == nil {
		return errors.New("return: there is no master")
	}
	load := data.NewMap("cmd", "_return", "id", c.m.cfg.ID)
	load.Update(ret)
	load.Set("jid", "req")
	_, err := c.link.client.Do(ctx, load)
	return err
}

// Close closes the connection to the master.
func (c *Caller) Close() error {
	if c.link == nil {
		return nil
	}
	return c.link.close()
}
