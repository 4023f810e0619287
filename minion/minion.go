// Package minion implements Salt's minion. It signs in to its masters, receives their publications,
// runs the jobs that target it and sends their returns.
//
// [New] opens keys, caches and sockets. [Minion.Run] works until its context ends or an error
// requires the minion to end. A link is the connection to one master: its authenticator signs in,
// its courier delivers returns. jobs.go accepts publications and execute.go runs them. spool.go
// keeps returns until the master has acknowledged them. proc.go and seen.go record jobs across
// restarts, and programs.go the programs that they start. local.go handles requests from programs
// on this host on the event bus. Several masters are all active and share everything but the link.
//
// When the context ends, the minion accepts no more publications and gives running jobs two seconds
// to finish. Then it cancels them and tries briefly to deliver their returns. The rest stays in the
// spool for the next run. Programs of canceled jobs keep running, since one of them may be
// installing or restarting this minion and waiting for its end. A job that was running when the
// minion was killed is reported as failed by the next run.
//
// The next run also ends programs left by earlier jobs, however the minion ended, unless they are
// working on the minion itself. Two minions never run with the same cachedir: the second waits for
// the first to end.
package minion

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/loader/matchers"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/schedule"
	"github.com/brineproject/brine/serializers"
	"github.com/brineproject/brine/transport"
)

// Ports create the network connections of a minion. Packages transport/zeromq and transport/tcp
// implement them.
type Ports struct {
	Request   func(d transport.Dialer) transport.Requester
	Subscribe func(d transport.Dialer, topics ...string) transport.Subscriber
}

// Options are the dependencies of a minion besides its configuration.
type Options struct {
	Ports     Ports
	Plugins   []loader.Plugin // the execution modules
	Returners []loader.Plugin // returners other than the master
	States    []loader.Plugin // state functions
	Beacons   []loader.Plugin
	SDB       []loader.Plugin         // drivers of sdb
	Engines   map[string]engines.Make // by their names in the option engines
	// the groups of execution modules and of states, for the errors about those that are left out
	Groups, StateGroups []loader.Group
	// the outputters, which users' own plug-ins may call; only used with Own
	Outputters []loader.Plugin
	// Own returns the source of users' own plug-ins of a kind; listed are the plug-ins of that kind
	// above. nil means that there are none.
	Own func(kind string, env *loader.Env, listed []loader.Plugin) loader.Source
	// renderers for modules and for a pillar that the minion compiles itself
	Render  render.Brought
	Sources []pillar.Source // external pillars, if the minion compiles its own pillar
	Grains  func(context.Context) (*data.Map, error)
	// Resolve looks up the name of a master; nil means the system's resolver
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Log     logrus.FieldLogger
	Now     func() time.Time // nil means time.Now
	// Order publishes jobs through a master on this host, as in loader.Host. It is nil if that is
	// not possible.
	Order func(ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool) error
}

// A Minion is a running minion. Create it with New.
type Minion struct {
	cfg            *config.Minion // as at the start
	settings       *settings
	group          *daemon.Group
	opts           Options
	log            logrus.FieldLogger
	keys           *pki.Keys
	key            *crypto.PrivateKey
	bus            *eventbus.Bus
	facts          *facts
	pillarRequests requestCounter // numbers pillar requests
	jobs           *jobs
	scheduler      *schedule.Scheduler
	beacons        *beacons.Engine
	engines        []daemon.Part
	links          []*link
	failover       *failover  // nil unless one of several masters is in use
	env            loader.Env // environment of the plug-ins
	funcs          *loader.Registry
	returners      *loader.Registry
	// state functions as sys shows them; state runs have their own registry
	states      *loader.Registry
	unlock      func() error // unlocks the cachedir
	startupDone atomic.Bool  // startup_states was run
	givenUp     atomic.Int32 // masters whose names cannot be looked up
}

// New opens keys, caches and the lock of a minion, but does not contact a master yet. The caller
// must call Run, which releases them.
func New(ctx context.Context, cfg *config.Minion, o Options) (*Minion, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := CheckMasters(cfg); err != nil {
		return nil, err
	}
	m := newMinion(cfg, cfg.Map(), o)
	if err := m.open(ctx); err != nil {
		return nil, errors.Join(err, m.close())
	}
	if err := m.openLinks(ctx); err != nil {
		return nil, errors.Join(err, m.close())
	}
	m.jobs.report()
	if m.compilesPillar() {
		if err := m.recompilePillar(ctx); err != nil {
			m.log.WithError(err).Error("compile the pillar of this minion")
		}
	}
	var err error
	if m.scheduler, err = newScheduler(m); err != nil {
		return nil, errors.Join(err, m.close())
	}
	m.openBeacons()
	if err := m.openEngines(); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// openLinks prepares the connections to the masters.
func (m *Minion) openLinks(ctx context.Context) error {
	addresses, err := evaluateMasters(ctx, m.cfg, m.funcs)
	if err != nil {
		return err
	}
	m.jobs = newJobs(m, len(addresses) > 1)
	for _, a := range addresses {
		l, err := newLink(m, a)
		if err != nil {
			return err
		}
		m.links = append(m.links, l)
	}
	if isFailover(m.cfg.MasterType) {
		m.failover = newFailover(m, m.links)
	}
	if len(m.links) > 1 || len(m.links) == 1 && m.cfg.MasterType == typeFunc {
		m.useMaster(m.active()[0].address.text)
	}
	return nil
}

// active returns the links to the masters that are in use: all, or the current one of a failover,
// whose master may be away.
func (m *Minion) active() []*link {
	if m.failover == nil {
		return m.links
	}
	return []*link{m.failover.current.Load()}
}

// useMaster makes an address the option and the grain master, which are one text also if several
// masters are configured (salt/minion.py, eval_master): that of the current master of a failover,
// and otherwise of the first master, since all links share the functions and their options.
func (m *Minion) useMaster(address string) {
	m.facts.setMaster(address)
	m.setOptions(m.settings.config())
}

// setOptions makes a configuration the current one, also for plug-ins.
func (m *Minion) setOptions(cfg *config.Minion) {
	opts := cfg.Map()
	if address := m.facts.master(); address != "" {
		opts.Set("master", address)
	}
	m.settings.set(cfg, opts)
	m.funcs.SetOptions(opts)
	for _, r := range m.env.Registries {
		r.SetOptions(opts)
	}
}

func newMinion(cfg *config.Minion, opts *data.Map, o Options) *Minion {
	m := &Minion{cfg: cfg, settings: &settings{}, opts: o, log: o.Log}
	m.settings.set(cfg, opts)
	m.group = daemon.NewGroup(daemon.GroupOptions{Name: "the minion", Stop: stopLimit, Log: o.Log})
	return m
}

// open locks the cachedir, opens keys and the event bus, and collects the grains.
func (m *Minion) open(ctx context.Context) error {
	for _, dir := range []string{m.cfg.CacheDir, m.cfg.SockDir,
		filepath.Join(m.cfg.CacheDir, "proc")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	err := m.lockCacheDir(ctx)
	if err != nil {
		return err
	}
	if err := m.openKeys(); err != nil {
		return err
	}
	m.bus = eventbus.New(eventbus.Options{MaxEventSize: m.cfg.MaxEventSize,
		Now: m.opts.Now, Log: m.log})
	if m.facts, err = newFacts(ctx, m.opts.Grains); err != nil {
		return err
	}
	return m.openRegistries()
}

// openKeys opens pki_dir and loads the key of the minion, or makes one.
func (m *Minion) openKeys() (err error) {
	if m.keys, err = pki.OpenKeys(m.cfg.PKIDir,
		pki.Options{Permissive: m.cfg.PermissivePKIAccess}); err != nil {
		return err
	}
	m.key, err = m.keys.LoadOrCreate("minion", m.cfg.KeySize, "")
	return err
}

// openRegistries creates the registries of functions, returners and states.
func (m *Minion) openRegistries() error {
	m.env = loader.Env{
		Opts: m.settings.saltOptions(), Grains: m.Grains, Pillar: m.Pillar, Log: m.log,
		Host: loader.Host{
			Jobs: m, Bus: &ownBus{m.bus}, Masters: linkedMasters{m},
			FireMaster: m.FireMaster, Order: m.opts.Order, CompilePillar: m.compilePillar,
			RefreshGrains: m.refreshGrains,
		},
	}
	return m.fillRegistries()
}

// fillRegistries creates the registries from m.env.
func (m *Minion) fillRegistries() (err error) {
	if m.returners, err = loader.NewRegistry(&m.env, m.opts.Returners); err != nil {
		return err
	}
	m.env.Registries = map[string]*loader.Registry{"returners": m.returners}
	if m.funcs, err = loader.NewRegistry(&m.env, m.opts.Plugins); err != nil {
		return err
	}
	if m.states, err = loader.NewRegistry(m.funcs.Env(), m.opts.States); err != nil {
		return err
	}
	m.funcs.LeftOut(m.opts.Groups)
	m.states.LeftOut(m.opts.StateGroups)
	m.env.Registries["states"] = m.states
	if m.env.Registries["beacons"], err = loader.NewRegistry(m.funcs.Env(), m.opts.Beacons); err != nil {
		return err
	}
	if m.env.Registries["sdb"], err = loader.NewRegistry(m.funcs.Env(), m.opts.SDB); err != nil {
		return err
	}
	if own := m.opts.Own; own != nil {
		m.returners.Extend(own("returners", m.funcs.Env(), m.opts.Returners))
		m.funcs.Extend(own("modules", m.funcs.Env(), m.opts.Plugins))
		m.states.Extend(own("states", m.funcs.Env(), m.opts.States))
		m.env.Registries["beacons"].Extend(own("beacons", m.funcs.Env(), m.opts.Beacons))
		return m.fillOwn()
	}
	return nil
}

// fillOwn creates the registries of the kinds of plug-ins that have one only for users' own. Their
// built-in plug-ins are those that users' own may call.
func (m *Minion) fillOwn() error {
	for kind, builtin := range map[string][]loader.Plugin{
		"engines": nil, "executors": nil, "matchers": matchers.Plugins(), "output": m.opts.Outputters,
		"pillar": nil, "renderers": nil, "sdb": m.opts.SDB, "serializers": serializers.Plugins(),
	} {
		r, err := loader.NewRegistry(m.funcs.Env(), builtin)
		if err != nil {
			return err
		}
		r.Extend(m.opts.Own(kind, m.funcs.Env(), builtin))
		m.env.Registries[kind] = r
	}
	return nil
}

// close releases what New has opened.
func (m *Minion) close() error {
	var errs []error
	if m.jobs != nil {
		errs = append(errs, m.jobs.seen.close())
	}
	for _, l := range m.links {
		errs = append(errs, l.close())
	}
	if m.unlock != nil {
		errs = append(errs, m.unlock())
	}
	return errors.Join(errs...)
}

// reload makes the registries build their modules again, with the current grains and pillar.
func (m *Minion) reload() {
	m.funcs.Reload()
	for _, r := range m.env.Registries {
		r.Reload()
	}
	if m.beacons != nil { // nil in a Caller
		m.beacons.Refresh()
	}
}

// Grains returns the grains of this host. Do not modify them.
func (m *Minion) Grains() *data.Map { return m.facts.grains() }

// refreshGrains collects the grains of this host again.
func (m *Minion) refreshGrains(ctx context.Context) error {
	_, err := m.facts.refresh(ctx)
	return err
}

// Pillar returns the pillar last received from a master or compiled here. Do not modify it.
func (m *Minion) Pillar() *data.Map { return m.facts.pillar() }

// FireMaster sends an event to every master that is in use.
func (m *Minion) FireMaster(ctx context.Context, tag string, body *data.Map) error {
	return m.each(func(l *link) error { return l.fire(ctx, tag, body) })
}

// each calls do for all links in use in parallel and joins the errors.
func (m *Minion) each(do func(l *link) error) error {
	links := m.active()
	errs := make([]error, len(links))
	var all sync.WaitGroup
	for i, l := range links {
		all.Go(func() { errs[i] = do(l) })
	}
	all.Wait()
	return errors.Join(errs...)
}
