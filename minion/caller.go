package minion

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
)

// A Caller runs functions of a minion for a program that is no daemon: with the minion's id, keys, grains and pillar,
// but without listening to a master (salt/minion.py, SMinion). It may run beside the daemon.
type Caller struct {
	m    *Minion
	link *link        // nil without a master
	up   atomic.Bool  // there was a connection to the master that is tried
	lost atomic.Value // error: why there is none now
}

// NewCaller collects the grains. opts are the effective options as functions see them. Close the Caller.
func NewCaller(ctx context.Context, cfg *config.Minion, opts *data.Map, o Options) (*Caller, error) {
	c := &Caller{m: newMinion(cfg, opts, o)}
	var err error
	if c.m.facts, err = newFacts(ctx, o.Grains); err != nil {
		return nil, err
	}
	return c, c.openShelves(loader.Host{})
}

// openShelves makes the registries of what can be called.
func (c *Caller) openShelves(host loader.Host) error {
	m := c.m
	host.Order, host.CompilePillar = m.opts.Order, m.compilePillar
	m.lent = loader.Env{Opts: m.settings.all(), Grains: m.Grains, Pillar: m.Pillar, Log: m.log, Host: host}
	return m.fillShelves()
}

// Compile compiles the pillar, where the minion does that itself, as Join fetches it from a master. What is wrong in its files stands
// in its list _errors.
func (c *Caller) Compile(ctx context.Context) error {
	if !c.m.ownPillar() {
		return nil
	}
	return c.m.renewOwnPillar(ctx)
}

// Join signs in to the first master that answers and lets the minion in, and fetches the pillar. The error is that of
// the last master: it wraps channel.ErrPending and the like.
func (c *Caller) Join(ctx context.Context) error {
	m := c.m
	var err error
	if m.keys, err = pki.OpenKeys(m.cfg.PKIDir, pki.Options{Permissive: m.cfg.PermissivePKIAccess}); err != nil {
		return err
	}
	if m.key, err = m.keys.LoadOrCreate("minion", m.cfg.KeySize, ""); err != nil {
		return err
	}
	if c.link, err = c.firstMaster(ctx); err != nil {
		return err
	}
	m.links = []*link{c.link}
	if err := c.gatherPillar(ctx); err != nil {
		return err
	}
	return c.openShelves(loader.Host{Fire: c.fire, FireMaster: m.FireMaster, Request: m.request, RequestRaw: m.requestRaw, RequestAll: m.requestAll,
		Masters: c.masterURIs, RequestTo: c.requestTo})
}

// gatherPillar fetches the pillar, unless the minion compiles it itself in spite of its master.
func (c *Caller) gatherPillar(ctx context.Context) error {
	if c.m.ownPillar() {
		return c.Compile(ctx)
	}
	if err := c.link.fetchPillar(ctx, false); err != nil {
		return fmt.Errorf("fetch the pillar: %w", err)
	}
	return c.m.cachePillar()
}

// firstMaster signs in to one master after another until one lets the minion in.
func (c *Caller) firstMaster(ctx context.Context) (*link, error) {
	addresses, err := masters(c.m.cfg)
	if err != nil {
		return nil, err
	}
	err = errors.New("there is no master in the configuration")
	for _, address := range addresses {
		var l *link
		if l, err = c.dial(address); err != nil {
			continue
		}
		if err = c.signIn(ctx, l); err == nil {
			l.gate.set(true)
			return l, nil
		}
		err = errors.Join(err, l.close())
		if ctx.Err() != nil || errors.Is(err, channel.ErrFingerprint) {
			break
		}
	}
	return nil, err
}

// masterURIs returns the addresses of all masters of the configuration, of which one is used.
func (c *Caller) masterURIs() []string {
	addresses, err := masters(c.m.cfg)
	if err != nil {
		return nil
	}
	all := make([]string, len(addresses))
	for i, a := range addresses {
		all[i] = a.uri()
	}
	return all
}

// requestTo sends an encrypted request to the master with an address, to which it signs in where that is not the one in use.
func (c *Caller) requestTo(ctx context.Context, uri string, load *data.Map) (reply any, err error) {
	addresses, err := masters(c.m.cfg)
	if err != nil || c.link.address.uri() == uri {
		return c.m.request(ctx, load)
	}
	for _, a := range addresses {
		if a.uri() != uri {
			continue
		}
		l, err := c.dial(a)
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
	return nil, fmt.Errorf("%s is none of this minion's masters", uri)
}

// signIn asks a master to let the minion in, auth_tries times unless it cannot be reached at all.
func (c *Caller) signIn(ctx context.Context, l *link) error {
	var err error
	for range max(c.m.cfg.AuthTries, 1) {
		_, err = l.client.SignIn(ctx)
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) || !c.up.Load() {
			return c.m.withStoredKey(err)
		}
	}
	return err
}

// dial prepares requests to a master.
func (c *Caller) dial(address masterAddress) (*link, error) {
	l := &link{m: c.m, address: address, log: c.m.log.WithField("master", address.text), gate: newGate()}
	dialer, err := l.dialer(address.port, c.m.cfg.SourceRetPort)
	if err != nil {
		return nil, err
	}
	c.up.Store(false)
	dialer.OnState = func(up bool, err error) {
		if up {
			c.up.Store(true)
		}
		c.note(address.uri(), err)
	}
	l.out = c.m.opts.Ports.Request(dialer)
	o := l.clientOptions()
	o.OnSignIn, o.AuthTries = nil, 1 // see signIn
	l.client, err = channel.NewClient(c.m.key, c.m.trusted(), l.out, o)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// note keeps why there is no connection to a master.
func (c *Caller) note(uri string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		c.lost.Store(fmt.Errorf("%s: %w", uri, err))
	}
}

// Trouble returns why the last connection to a master was not made, or lost, with its address; nil where none was.
func (c *Caller) Trouble() error {
	err, _ := c.lost.Load().(error)
	return err
}

// fire sends an event to the bus of the minion's daemon, which must run.
func (c *Caller) fire(ctx context.Context, tag string, body *data.Map) error {
	sockets, err := eventbus.MinionSockets(c.m.cfg.SockDir, c.m.cfg.ID, c.m.cfg.HashType)
	if err != nil {
		return err
	}
	bus, err := eventbus.Dial(ctx, sockets, eventbus.ClientOptions{FireOnly: true, MaxEventSize: c.m.cfg.MaxEventSize})
	if err != nil {
		return err
	}
	defer bus.Close()
	return bus.Fire(ctx, tag, body)
}

// Functions returns what can be called.
func (c *Caller) Functions() *loader.Registry { return c.m.funcs }

// Returners returns where results can be put beside the master.
func (c *Caller) Returners() *loader.Registry { return c.m.returners }

// Grains returns the facts of this host. They must not be changed.
func (c *Caller) Grains() *data.Map { return c.m.Grains() }

// Return gives the master the result of a call that it did not order: ret in Salt's form, with jid `req`.
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

// Close ends the connection to the master.
func (c *Caller) Close() error {
	if c.link == nil {
		return nil
	}
	return c.link.close()
}
