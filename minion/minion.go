// Package minion is Salt's minion: it signs in to its masters, listens to their publications, runs the jobs that are
// for it and returns what came out.
//
// [New] opens keys, caches and sockets; [Minion.Run] works until its context ends or the minion has no reason to go on.
// A link is the conversation with one master: its welcome asks to be let in, at first and again, and its courier delivers
// returns. jobs.go takes what links bring, execute.go runs it; spool.go keeps returns until the master has them; proc.go
// and seen.go remember jobs over a restart, and programs.go what they have started; local.go does what programs on this host
// ask by the event bus. Several masters are all active and share everything but the link.
//
// When the context ends the minion takes no more publications, lets the jobs that run end for two seconds, ends them, and
// gives their returns a moment to be delivered; what is left lies in the spool and is delivered by the next run. Programs
// that such a job runs are left running, since one of them may be what installs or restarts this minion and waits for its
// end. A job that was running when the minion was killed is reported by the next run as failed.
//
// The next run also ends the programs that are left, however the minion ended, but for those that are at work on the
// minion itself. Two minions never run with one cachedir at once: the second waits for the end of the first.
package minion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/schedule"
	"github.com/brineproject/brine/transport"
)

// Ports open the network sides of a minion. Packages transport/zeromq and transport/tcp have them.
type Ports struct {
	Request   func(d transport.Dialer) transport.Requester
	Subscribe func(d transport.Dialer, topics ...string) transport.Subscriber
}

// Options are what a minion needs besides its configuration.
type Options struct {
	Ports     Ports
	Plugins   []loader.Plugin // the execution modules
	Returners []loader.Plugin // for returns that do not go to the master
	States    []loader.Plugin // state functions
	Render    render.Brought  // what modules and the minion's own pillar render with
	Sources   []pillar.Source // the external pillars of a minion that compiles its own pillar
	Grains    func(context.Context) (*data.Map, error)
	Log       logrus.FieldLogger
	Now       func() time.Time // nil means time.Now
	// Order gives orders to a master on this host, as in loader.Host; nil where that cannot be.
	Order func(ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool) error
}

// A Minion is one minion.
type Minion struct {
	cfg       *config.Minion // as it was at the start
	settings  *settings
	group     *daemon.Group
	opts      Options
	log       logrus.FieldLogger
	keys      *pki.Keys
	key       *crypto.PrivateKey
	bus       *eventbus.Bus
	facts     *facts
	turns     turns // of requests for the pillar
	jobs      *jobs
	scheduler *schedule.Scheduler
	links     []*link
	lent      loader.Env // what plug-ins are lent
	funcs     *loader.Registry
	returners *loader.Registry
	states    *loader.Registry // state functions, as sys shows them; runs have their own
	free      func() error     // gives the cachedir back
	begun     atomic.Bool      // startup_states was carried out
}

// New opens what a minion has on disk. It does not speak to a master yet. Run it, since only Run gives back what New took.
func New(ctx context.Context, cfg *config.Minion, o Options) (*Minion, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	addresses, err := masters(cfg)
	if err != nil {
		return nil, err
	}
	m := newMinion(cfg, cfg.Map(), o)
	if err := m.open(ctx); err != nil {
		return nil, errors.Join(err, m.close())
	}
	m.jobs = newJobs(m, len(addresses) > 1)
	for _, a := range addresses {
		l, err := newLink(m, a)
		if err != nil {
			return nil, errors.Join(err, m.close())
		}
		m.links = append(m.links, l)
	}
	m.jobs.report()
	if m.ownPillar() {
		if err := m.renewOwnPillar(ctx); err != nil {
			m.log.WithError(err).Error("the pillar of this minion cannot be compiled")
		}
	}
	if m.scheduler, err = newScheduler(m); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// open opens keys and the bus, and collects what the minion knows of itself.
func (m *Minion) open(ctx context.Context) error {
	for _, dir := range []string{m.cfg.CacheDir, m.cfg.SockDir, filepath.Join(m.cfg.CacheDir, "proc")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	err := m.occupy(ctx)
	if err != nil {
		return err
	}
	if m.keys, err = pki.OpenKeys(m.cfg.PKIDir, pki.Options{Permissive: m.cfg.PermissivePKIAccess}); err != nil {
		return err
	}
	if m.key, err = m.keys.LoadOrCreate("minion", m.cfg.KeySize, ""); err != nil {
		return err
	}
	m.bus = eventbus.New(eventbus.Options{MaxEventSize: m.cfg.MaxEventSize, Now: m.opts.Now, Log: m.log})
	if m.facts, err = newFacts(ctx, m.opts.Grains); err != nil {
		return err
	}
	return m.openShelves()
}

// openShelves makes the registries of what this minion can do.
func (m *Minion) openShelves() error {
	m.lent = loader.Env{
		Opts: m.settings.all(), Grains: m.Grains, Pillar: m.Pillar, Log: m.log,
		Host: loader.Host{
			Running: m.Running, Signal: m.Signal, FireMaster: m.FireMaster, Request: m.request, RequestRaw: m.requestRaw, RequestAll: m.requestAll,
			Masters: m.masterURIs, RequestTo: m.requestTo, Await: m.await, Order: m.opts.Order, CompilePillar: m.compilePillar,
			Fire: func(_ context.Context, tag string, body *data.Map) error { return m.bus.Fire(tag, body) },
		},
	}
	return m.fillShelves()
}

// fillShelves makes the registries of what plug-ins are lent.
func (m *Minion) fillShelves() (err error) {
	if m.returners, err = loader.NewRegistry(&m.lent, m.opts.Returners); err != nil {
		return err
	}
	m.lent.Shelves = map[string]*loader.Registry{"returners": m.returners}
	if m.funcs, err = loader.NewRegistry(&m.lent, m.opts.Plugins); err != nil {
		return err
	}
	m.states, err = loader.NewRegistry(m.funcs.Env(), m.opts.States)
	m.lent.Shelves["states"] = m.states
	return err
}

// close gives back what New took.
func (m *Minion) close() error {
	var errs []error
	if m.jobs != nil {
		errs = append(errs, m.jobs.seen.close())
	}
	for _, l := range m.links {
		errs = append(errs, l.close())
	}
	if m.free != nil {
		errs = append(errs, m.free())
	}
	return errors.Join(errs...)
}

// reload makes functions be built anew, with the grains and the pillar of now.
func (m *Minion) reload() {
	m.funcs.Reload()
	m.returners.Reload()
	m.states.Reload()
}

// request sends an encrypted request to the first master.
func (m *Minion) request(ctx context.Context, load *data.Map) (any, error) {
	if len(m.links) == 0 {
		return nil, errors.New("this minion has no master")
	}
	return m.links[0].call(ctx, load)
}

// requestRaw is request with a reply that is not decoded.
func (m *Minion) requestRaw(ctx context.Context, load *data.Map) (data.Raw, error) {
	if len(m.links) == 0 {
		return nil, errors.New("this minion has no master")
	}
	return m.links[0].callRaw(ctx, load)
}

// masterURIs returns the addresses of the masters.
func (m *Minion) masterURIs() []string {
	all := make([]string, len(m.links))
	for i, l := range m.links {
		all[i] = l.address.uri()
	}
	return all
}

// requestTo sends an encrypted request to the master with an address.
func (m *Minion) requestTo(ctx context.Context, uri string, load *data.Map) (any, error) {
	for _, l := range m.links {
		if l.address.uri() == uri {
			return l.call(ctx, load)
		}
	}
	return nil, fmt.Errorf("%s is none of this minion's masters", uri)
}

// requestAll sends an encrypted request to every master.
func (m *Minion) requestAll(ctx context.Context, load *data.Map) error {
	return m.each(func(l *link) error { _, err := l.call(ctx, load); return err })
}

// await calls act and returns the body of the first event on the minion's bus, from then on, whose tag begins so.
func (m *Minion) await(ctx context.Context, tag string, act func() error) (*data.Map, error) {
	events := m.bus.Subscribe(eventbus.SubscribeOptions{Name: "await " + tag, Prefixes: []string{tag}})
	defer events.Close()
	if err := act(); err != nil {
		return nil, err
	}
	event, err := events.Next(ctx)
	if err != nil {
		return nil, err
	}
	return event.Map()
}

// Grains returns the facts of this host. They must not be changed.
func (m *Minion) Grains() *data.Map { return m.facts.grains() }

// Pillar returns the pillar that a master gave last, or that was compiled here. It must not be changed.
func (m *Minion) Pillar() *data.Map { return m.facts.pillar() }

// FireMaster sends an event to every master.
func (m *Minion) FireMaster(ctx context.Context, tag string, body *data.Map) error {
	return m.each(func(l *link) error { return l.fire(ctx, tag, body, nil, nil) })
}

// each does something with all masters at once.
func (m *Minion) each(do func(l *link) error) error {
	errs := make([]error, len(m.links))
	var all sync.WaitGroup
	for i, l := range m.links {
		all.Go(func() { errs[i] = do(l) })
	}
	all.Wait()
	return errors.Join(errs...)
}
