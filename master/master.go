// Package master implements Salt's master. It knows minions by their keys, sends them jobs, stores
// what they return, and announces on its event bus what happens.
//
// [New] binds ports and opens files, so that errors show before anything runs; [Master.Run] works
// until its context ends. The type Master only wires small parts, one file for each:
//
//   - parts.go makes the parts, supervise.go runs them, requests.go lists the commands, and
//     settings.go holds the current options.
//   - publish.go publishes jobs, and republish.go sends those of the master itself and sends jobs
//     again. deliveries.go tracks jobs until they are acknowledged, offline.go queues them for
//     minions that are away, and progress.go records their state on minions.
//   - batch.go, batchhost.go and batchrecord.go run batches, and batchend.go keeps their ends;
//     senders.go checks the rights of deferred jobs.
//   - returns.go stores returns, ownjobs.go limits those that nobody ordered, and failures.go
//     announces failed states. markers.go, mirror.go and extcache.go store jobs for other programs.
//   - events.go fires minions' events, and eventreturn.go passes the events of the bus to returners.
//   - pillar.go answers pillar requests, compiling.go compiles pillars, sources.go and tops.go fetch
//     from other systems, mine.go answers for the mine, and files.go serves files.
//   - access.go decides who may give orders, claim.go reads credentials, and tokens.go handles
//     tokens. watchers.go and listeners.go decide who may read the bus, and fleet.go resolves
//     targets.
//   - peer.go and owners.go handle the orders of minions, revoke.go their requests about keys, and
//     syndics.go refuses returns of syndics. turns.go runs one request of each source at a time,
//     and minionfields.go limits the data in requests.
//   - own.go gives the parts users' own code in Python, and ownreturner.go passes jobs to a returner
//     of theirs.
//   - control.go runs runners and wheel functions, reactor.go carries out reactions, and
//     schedule.go runs scheduled jobs. engines.go and programs.go start engines and ext_processes.
//   - presence.go knows which minions are connected, maintain.go does periodic work, succession.go
//     adopts a new key, and memory.go, limits.go and stallguard.go watch resources.
//
// Package channel has verified the sender of a request before it arrives here, with one exception
// of the protocol: minions of Salt 3006.0 to 3006.11 send no proof with some of their requests. The
// content of such a request is trusted only if it comes from the host where the minion last proved
// itself.
package master

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/metrics"
	presences "github.com/brineproject/brine/master/presence"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/returners"
	stdrunners "github.com/brineproject/brine/runners/standard"
	"github.com/brineproject/brine/tops"
	"github.com/brineproject/brine/transport"
	wheels "github.com/brineproject/brine/wheel"
)

// Errors of New that callers handle differently.
var (
	// ErrPorts is wrapped when a port of the master cannot be bound, for example because it is in
	// use.
	ErrPorts = errors.New("The ports are not available to bind") //nolint:staticcheck // Salt's text
	// ErrRunning is wrapped when another master uses the same cachedir or sock_dir.
	ErrRunning = errors.New("another master is running with these directories")
)

// Ports open the network endpoints of a master. Packages transport/zeromq and transport/tcp
// implement them.
type Ports struct {
	Reply   func(ctx context.Context, endpoint string, o transport.Options) (transport.Replier, error)
	Publish func(ctx context.Context, endpoint string, o transport.Options) (PublishPort, error)
	// Submit opens the socket by which Salt's command line detects a running master.
	Submit func(ctx context.Context, endpoint string, o transport.Options) (Service, error)
}

// A PublishPort is a publisher that reports which peers are connected.
type PublishPort interface {
	transport.Publisher
	transport.PeerWatcher
}

// An Identifier is a [PublishPort] whose subscribers identify themselves.
type Identifier interface {
	// SetIdentify sets the function that returns the id of the minion that sent hello: "" for a
	// message of another kind, which is ignored, and an error to close the connection. The function
	// must be safe for concurrent use, and is set before Serve.
	SetIdentify(func(hello []byte) (id string, err error))
}

// A Service runs until its context ends.
type Service interface {
	Serve(ctx context.Context) error
	Close() error
}

// Options are what a master needs in addition to its configuration.
type Options struct {
	Ports Ports
	// Jobs opens the job cache. It is called once the ports are bound and the cachedir is locked.
	// The master closes the cache.
	Jobs func(ctx context.Context) (returners.JobCache, error)
	// Cache opens the cache of grains, pillar and mine that the options name; nil means files below
	// the cachedir. The master closes it.
	Cache func(opts *data.Map) (cache.Closer, error)
	// ExtJobs opens ext_job_cache, the job cache that minions write to; nil if there is none.
	ExtJobs func(ctx context.Context) (returners.JobCache, error)
	// JobCaches are the names of the job caches that the program has, for a returner of users' own
	// code with one of these names.
	JobCaches []string
	// EventSinks are the returners of event_return, without those of users' own code.
	EventSinks []EventSink
	// Runners makes the runners; nil means none.
	Runners func(stdrunners.Needs) []loader.Plugin
	// Wheel makes the wheel functions; nil means none.
	Wheel func(wheels.Needs) []loader.Plugin
	// Modules makes the execution functions that runners, pillars and reactions may call on the
	// master itself; nil means none.
	Modules func(render.Brought) []loader.Plugin
	// Render is what pillars, reactions and functions are rendered with; salt:// files come from
	// the master's own file server.
	Render render.Brought
	// Sources are the external pillars; nil means those of package pillar.
	Sources []pillar.Source
	// Tops are the systems that master_tops may name.
	Tops []tops.Source
	// Own are the users' own plug-ins; nil means none.
	Own Own
	// States are the state functions of orchestrations; nil means none.
	States []loader.Plugin
	// SDB are the drivers of sdb; nil means none.
	SDB []loader.Plugin
	// Order sends orders of runners to minions, through the master's own request port; see
	// loader.Host. Nil disables it.
	Order func(ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool) error
	// Engines are the engines that the option engines may name.
	Engines map[string]engines.Make
	// Backends are file server backends in addition to roots and minionfs, by name.
	Backends fileserver.Makers
	// Login makes an external_auth system from all options; nil means that there is none.
	Login func(name string, opts *data.Map) (auth.System, error)
	// RefusalTime is the approximate minimum duration of a refused login; 0 means one second.
	RefusalTime time.Duration
	// ReleaseMemory returns memory to the system after a burst of requests; nil means
	// debug.FreeOSMemory.
	ReleaseMemory func()
	// BeforeOpen is called once the ports are bound and before anything on disk is changed; nil
	// does nothing.
	BeforeOpen func() error
	Log        logrus.FieldLogger
	Now        func() time.Time // nil means time.Now
}

// A Master is one master.
type Master struct {
	cfg *config.Master
	log logrus.FieldLogger
	openPorts
	parts     *parts
	signIn    *channel.SignInServer
	server    *channel.Server
	requests  *requests
	batches   *batches
	maint     *maintenance
	schedule  *scheduled
	reactions *reactions
	group     *daemon.Group
	returners []daemon.Part // of event_return and ext_job_cache
	programs  []daemon.Part // engines and ext_processes
	closers   []func() error
	clustered bool // this master is to be in a cluster
}

// openPorts are the ports and sockets of a master.
type openPorts struct {
	reply   transport.Replier
	publish PublishPort
	submit  Service
	metrics *metrics.Server // nil if metrics_address is not set
}

// New opens the keys, caches and ports of a master. It binds the ports first, so nothing on disk
// changes if they are taken. The error wraps ErrPorts if a port cannot be bound, and ErrRunning if
// another master uses the directories.
func New(ctx context.Context, cfg *config.Master, o Options) (*Master, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	commands, err := programs(cfg.ExtProcesses)
	if err != nil {
		return nil, &config.About{Option: "ext_processes",
			Err: fmt.Errorf("ext_processes: %w", err)}
	}
	m := &Master{
		cfg: cfg,
		log: o.Log,
		group: daemon.NewGroup(daemon.GroupOptions{Name: "the master", Stop: stopLimit,
			Log: o.Log}),
	}
	for _, c := range commands {
		c.Name = "ext_processes " + c.Name
		m.programs = append(m.programs, c.Part(m.log))
	}
	if err := m.openAll(ctx, o); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// openAll opens what New opens, and assembles the parts. On error the caller closes what is open.
func (m *Master) openAll(ctx context.Context, o Options) (err error) {
	if m.clustered, err = inCluster(m.cfg, o.Log); err != nil {
		return err
	}
	if err := m.bind(ctx, o); err != nil {
		return err
	}
	if o.BeforeOpen != nil {
		if err := o.BeforeOpen(); err != nil {
			return err
		}
	}
	if err := m.lockDirs(ctx, o); err != nil {
		return err
	}
	p, err := m.open(ctx, m.cfg, o)
	if err != nil {
		return err
	}
	p.recallWatched(ctx)
	return m.assemble(ctx, p)
}

// assemble wires the parts into what Run runs.
func (m *Master) assemble(ctx context.Context, p *parts) (err error) {
	m.parts = p
	m.signIn, err = newSignIn(p.base, p.keyring, m.cfg, p.presence,
		portOf(m.publish.Addr(), m.cfg.PublishPort))
	if err != nil {
		return err
	}
	p.markers = newMarkers(m.cfg, p.jobs, p.now)
	m.setReturners(p) // control stores results in the mirror, too
	if p.control, err = newControl(p); err != nil {
		return err
	}
	list, err := newEngines(p)
	if err != nil {
		return err
	}
	m.programs = slices.Concat(list, m.programs)
	pub := newPublishing(p)
	m.requests = newRequests(p, pub)
	m.batches = newBatches(p.base, p.batches, pub)
	if err := m.assembleMember(ctx, p, pub); err != nil {
		return err
	}
	pub.taken = func(id job.ID) bool { return m.batches.has(id) || pub.offline.Has(id) }
	maps.Copy(m.requests.clear, batchCommands(m.batches))
	m.server = channel.NewServer(p.key, p.keys, p.secrets, m.signIn, m.requests,
		channel.ServerOptions{
			Admission: admission(m.cfg), OnRequest: p.presence.note, Versions: p.versions,
			Executed: p.bridge.tellRequest, Log: p.log,
		})
	if p.bridge != nil {
		p.bridge.done = m.server.Remember
	}
	if port, ok := m.publish.(Identifier); ok {
		port.SetIdentify(m.server.Identify)
	}
	m.maint = newMaintenance(p, pub)
	m.maint.succession = newSuccession(p.base, p.keyring, m.cfg, p.sender, m.server, m.signIn)
	m.reactions = newReactions(p.base, m.cfg, p.render, p.control, pub, p.files,
		p.member.reactions())
	m.schedule, err = newScheduled(p, slices.Concat(m.maint.tasks(),
		p.files.tasks(), sourceTasks(p.o.Sources, p.base)))
	return err
}

// assembleMember connects the parts with those of the other masters of a cluster, if there is one.
func (m *Master) assembleMember(ctx context.Context, p *parts, pub *publishing) error {
	if p.member == nil {
		return nil
	}
	m.batches.lead = p.member.lead
	p.batchChanged = m.batches.changed
	return p.member.openStreams(ctx, m, pub, p.returning)
}

// Renew applies a reloaded configuration. cfg is the result of config.Master.Renew, so it differs
// only in options that may change at runtime.
func (m *Master) Renew(cfg *config.Master) {
	p := m.parts
	old := p.settings.config()
	p.settings.set(cfg)
	m.signIn.SetPolicy(policy(cfg, p.keys))
	m.server.SetAdmission(admission(cfg))
	p.secrets.SetLife(cfg.PublishSession)
	if err := p.gate.SetOptions(p.access(cfg)); err != nil {
		m.log.WithError(err).Error("The rights of users stay unchanged")
	}
	m.admitListeners(cfg)
	p.control.renew(p.settings.saltOptions())
	p.own.renew(p.settings.saltOptions())
	if err := p.compiler.renew(); err != nil {
		m.log.WithError(err).Error("Pillars are compiled with the previous options")
	}
	if err := p.tops.renew(); err != nil {
		m.log.WithError(err).Error("master_tops stays unchanged")
	}
	m.schedule.renew()
	m.renewFiles(old)
	m.reactions.renew(old)
}

// maxUntrusted is the maximum size, in bytes, of a message from a minion that has not proved itself
// since the master started. It is large because the first message of a Salt minion after a restart
// may be the return of a long job.
const maxUntrusted = 8 << 20

// bind opens the publish and request ports, and the metrics address if one is configured.
func (m *Master) bind(ctx context.Context, o Options) error {
	limits := transport.Limits{QueueMessages: m.cfg.PubHWM, MaxUntrusted: maxUntrusted}
	keep := transport.SaltKeepAlive(m.cfg.TCPKeepalive, m.cfg.TCPKeepaliveIdle,
		m.cfg.TCPKeepaliveCnt,
		m.cfg.TCPKeepaliveIntvl)
	opts := transport.Options{
		Limits:    limits,
		KeepAlive: keep,
		Crowd:     crowdOf(fileLimits, o.Log),
		Workers:   16 * runtime.GOMAXPROCS(0),
		Log:       o.Log,
	}
	var err error
	if m.publish, err = o.Ports.Publish(ctx, endpoint(m.cfg.Interface, m.cfg.PublishPort),
		opts); err != nil {
		return bindError("publish_port", m.cfg.Interface, err)
	}
	m.closers = append(m.closers, m.publish.Close)
	if m.reply, err = o.Ports.Reply(ctx, endpoint(m.cfg.Interface, m.cfg.RetPort),
		opts); err != nil {
		return bindError("ret_port", m.cfg.Interface, err)
	}
	m.closers = append(m.closers, m.reply.Close)
	return m.bindMetrics(ctx, o)
}

// bindError explains why a port was not opened. If this host does not have the address, it blames
// the option interface.
func bindError(option, host string, err error) error {
	var unknown *net.DNSError
	if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.As(err, &unknown) {
		return &config.About{
			Option: "interface",
			Err: fmt.Errorf("%w: interface: %s is no address of this host: %w",
				ErrPorts, host, err),
		}
	}
	return &config.About{Option: option, Err: fmt.Errorf("%w: %s: %w", ErrPorts, option, err)}
}

// lockDirs creates the directories and locks them, so that a second master with the same ones is
// refused.
func (m *Master) lockDirs(ctx context.Context, o Options) error {
	if err := makeDirs(m.cfg); err != nil {
		return err
	}
	free, err := daemon.LockFile(filepath.Join(m.cfg.CacheDir, presences.LockName))
	switch {
	case errors.Is(err, daemon.ErrLocked):
		return fmt.Errorf("cachedir %s: %w", m.cfg.CacheDir, ErrRunning)
	case err != nil:
		return err
	}
	m.closers = append(m.closers, free)
	m.submit, err = o.Ports.Submit(
		ctx,
		"ipc://"+filepath.Join(m.cfg.SockDir, "publish_pull.ipc"),
		transport.Options{Log: o.Log},
	)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("sock_dir: %w: %w", ErrRunning, err)
	case err != nil:
		return fmt.Errorf("sock_dir: %w", err)
	}
	m.closers = append(m.closers, m.submit.Close)
	remove, err := markRunning(m.cfg.SockDir)
	if err != nil {
		return err
	}
	m.closers = append(m.closers, remove)
	return nil
}

// markRunning creates the file in sock_dir whose existence tells Salt's salt-api that the master runs
// (salt/netapi/__init__.py, _is_master_running). remove removes it. In Salt it is the socket of the
// master's own workers; no other program connects to it, so a plain file serves here. One that a killed
// master has left is replaced.
func markRunning(sockDir string) (remove func() error, err error) {
	path := filepath.Join(sockDir, "workers.ipc")
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("mark the master as running: %w", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return nil, fmt.Errorf("mark the master as running: %w", err)
	}
	return func() error {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("mark the master as ended: %w", err)
		}
		return nil
	}, nil
}

// makeDirs creates the directories of a master with the modes that Salt gives them.
func makeDirs(cfg *config.Master) error {
	private := []string{filepath.Join(cfg.CacheDir, "sessions"),
		filepath.Join(cfg.CacheDir, batchDir)}
	shared := []string{cfg.CacheDir, cfg.SockDir, filepath.Join(cfg.CacheDir, "jobs"),
		// salt-run of Salt 3008 writes there and does not create it
		filepath.Join(cfg.CacheDir, "proc")}
	for _, dir := range append(shared, private...) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	for _, dir := range private {
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	return nil
}

// endpoint returns the tcp:// URL of a host and port. The host may be an IPv6 address in brackets.
func endpoint(host string, port int) string {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	return "tcp://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// portOf returns the port of a bound address. It differs from the configured one if that is 0.
func portOf(a net.Addr, otherwise int) int {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.Port
	}
	return otherwise
}

// Addrs returns the addresses of the request port and the publish port.
func (m *Master) Addrs() (reply, publish net.Addr) { return m.reply.Addr(), m.publish.Addr() }

// close releases what New opened, in reverse order.
func (m *Master) close() error {
	var errs []error
	for i := len(m.closers) - 1; i >= 0; i-- {
		errs = append(errs, m.closers[i]())
	}
	m.closers = nil
	return errors.Join(errs...)
}
