// Package master is Salt's master: it knows minions by their keys, gives them jobs, keeps what they return and tells
// on its event bus what happens.
//
// [New] binds ports and opens everything, so that a fault shows before anything runs; [Master.Run] works until its
// context ends. The type Master only wires small parts, one file a noun: parts.go makes them, supervise.go runs them,
// requests.go says which commands there are, publish.go does publish, returns.go takes returns, events.go what minions
// fire, pillar.go their requests for pillar, which compiling.go compiles, files.go those for files, access.go who may give orders,
// tokens.go tokens, fleet.go whom a target names, presence.go who is connected, maintain.go what is done now and then. Who sent a request
// has been proved before it comes here (package channel), with one exception of the protocol: minions of Salt 3006.0 to 3006.11 send no
// proof with some of their requests. What such a request says of its minion is believed only where the minion last proved itself.
package master

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/metrics"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/reactor"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/returners"
	stdrunners "github.com/brineproject/brine/runners/standard"
	"github.com/brineproject/brine/tops"
	"github.com/brineproject/brine/transport"
	wheels "github.com/brineproject/brine/wheel"
)

// Errors of New that a program tells apart.
var (
	// ErrPorts is wrapped when a port of the master is in use.
	ErrPorts = errors.New("The ports are not available to bind") //nolint:staticcheck // Salt's text
	// ErrRunning is wrapped when another master uses the same cachedir or sock_dir.
	ErrRunning = errors.New("another master is running with these directories")
)

// Ports open the network sides of a master. Packages transport/zeromq and transport/tcp have them.
type Ports struct {
	Reply   func(ctx context.Context, endpoint string, o transport.Options) (transport.Replier, error)
	Publish func(ctx context.Context, endpoint string, o transport.Options) (PublishPort, error)
	// Submit opens the socket by whose presence Salt's command line knows that a master runs.
	Submit func(ctx context.Context, endpoint string, o transport.Options) (Service, error)
}

// A PublishPort is a publisher that tells who is connected.
type PublishPort interface {
	transport.Publisher
	transport.PeerWatcher
}

// An Identifier is a [PublishPort] whose subscribers say who they are. See package transport/tcp for the methods.
type Identifier interface {
	SetIdentify(func(hello []byte) (id string, err error))
}

// A Service runs until its context ends.
type Service interface {
	Serve(ctx context.Context) error
	Close() error
}

// Options are what a master needs besides its configuration.
type Options struct {
	Ports Ports
	// Jobs opens the job cache, when the ports are bound and the cachedir is the master's own. The master closes it.
	Jobs func(ctx context.Context) (returners.JobCache, error)
	// ExtJobs opens the job cache that minions write to, ext_job_cache; nil where there is none. EventSinks are those of
	// event_return.
	ExtJobs    func(ctx context.Context) (returners.JobCache, error)
	EventSinks []EventSink
	// Runners and Wheel make the functions that run on the master itself; Modules the execution functions that runners,
	// pillars and reactions may call there. Nil means that there are none.
	Runners func(stdrunners.Needs) []loader.Plugin
	Wheel   func(wheels.Needs) []loader.Plugin
	Modules func(render.Brought) []loader.Plugin
	// Render is what pillars, reactions and functions are rendered with; files of salt:// come from the master's own file server.
	Render render.Brought
	// Sources are the external pillars, nil those of package pillar alone; Tops the systems that master_tops may name.
	Sources []pillar.Source
	// States are the state functions of orchestrations; nil has none.
	States []loader.Plugin
	Tops   []tops.Source
	// Order gives minions orders for runners, through the master's own request port; see loader.Host. Nil gives none.
	Order func(ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool) error
	// Engines are those that the option engines may name.
	Engines map[string]engines.Make
	// Backends are those of the file server that come on top of roots and minionfs, by name.
	Backends fileserver.Makers
	// Login makes a system of external_auth from all options; nil means that there is none.
	Login func(name string, opts *data.Map) (auth.System, error)
	// RefusalTime is about how long a refused login takes at least; 0 means a second.
	RefusalTime time.Duration
	// GiveBack is called when a storm of requests is over, and gives memory back to the system; nil is debug.FreeOSMemory.
	GiveBack func()
	// Settle is called when the ports are bound and before anything on disk is touched; nil does nothing.
	Settle func() error
	Log    logrus.FieldLogger
	Now    func() time.Time // nil means time.Now
}

// A Master is one master.
type Master struct {
	cfg       *config.Master
	log       logrus.FieldLogger
	bus       *eventbus.Bus
	reply     transport.Replier
	publish   PublishPort
	submit    Service
	server    *channel.Server
	requests  *requests
	batches   *batches
	metrics   *metrics.Server // nil when nobody asked for it
	maint     *maintenance
	schedule  *scheduled
	reactor   *reactor.Reactor
	programs  []daemon.Command // ext_processes
	group     *daemon.Group
	returners []daemon.Part // of event_return and ext_job_cache
	engines   []daemon.Part
	parts     *parts
	signIn    *channel.SignIn
	closers   []func() error
}

// New opens keys, caches and ports of a master, the ports first: nothing on disk is changed when they are taken. The
// error wraps ErrPorts then, and ErrRunning when another master uses the directories.
func New(ctx context.Context, cfg *config.Master, o Options) (m *Master, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	commands, err := programs(cfg.ExtProcesses)
	if err != nil {
		return nil, &config.About{Option: "ext_processes", Err: fmt.Errorf("ext_processes: %w", err)}
	}
	m = &Master{cfg: cfg, log: o.Log, programs: commands, group: daemon.NewGroup(daemon.GroupOptions{Name: "the master", Stop: stopLimit, Log: o.Log})}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	if err := m.bind(ctx, o); err != nil {
		return m, err
	}
	if o.Settle != nil {
		if err := o.Settle(); err != nil {
			return m, err
		}
	}
	if err := m.occupy(ctx, o); err != nil {
		return m, err
	}
	p, err := m.open(ctx, cfg, o)
	if err != nil {
		return m, err
	}
	p.recallWatched(ctx)
	if err := m.assemble(p); err != nil {
		return m, err
	}
	return m, nil
}

// assemble joins the parts to what Run runs.
func (m *Master) assemble(p *parts) error {
	signIn, err := newSignIn(p, portOf(m.publish.Addr(), m.cfg.PublishPort))
	if err != nil {
		return err
	}
	m.parts, m.signIn = p, signIn
	if p.control, err = newControl(p); err != nil {
		return err
	}
	m.setReturners(p)
	if m.engines, err = newEngines(p); err != nil {
		return err
	}
	pub := newPublishing(p)
	m.bus = p.bus
	m.requests = newRequests(p, pub)
	m.batches = newBatches(p, pub)
	pub.taken = func(id job.ID) bool { return m.batches.has(id) || pub.offline.Has(id) }
	maps.Copy(m.requests.clear, batchCommands(m.batches))
	m.server = channel.NewServer(p.key, p.keys, p.secrets, signIn, m.requests, channel.ServerOptions{
		Admission: admission(m.cfg), OnRequest: p.presence.note, Versions: p.versions, Log: p.o.Log,
	})
	if port, ok := m.publish.(Identifier); ok {
		port.SetIdentify(m.server.Identify)
	}
	m.maint = newMaintenance(p, pub)
	m.maint.heir = newSuccession(p, m.server, signIn)
	m.reactor = newReactor(p, pub)
	m.schedule, err = newScheduled(p, m.maint)
	return err
}

// maxUntrusted is the longest message, in bytes, of a minion that has not proved itself since the master's start: the first
// thing that a minion of Salt's sends after a restart may be the return of a long job.
const maxUntrusted = 8 << 20

// bind opens the ports.
func (m *Master) bind(ctx context.Context, o Options) error {
	limits := transport.Limits{QueueMessages: m.cfg.PubHWM, MaxUntrusted: maxUntrusted}
	keep := transport.SaltKeepAlive(m.cfg.TCPKeepalive, m.cfg.TCPKeepaliveIdle, m.cfg.TCPKeepaliveCnt, m.cfg.TCPKeepaliveIntvl)
	opts := transport.Options{Limits: limits, KeepAlive: keep, Crowd: crowdOf(fileLimits, o.Log), Workers: 16 * runtime.GOMAXPROCS(0), Log: o.Log}
	var err error
	if m.publish, err = o.Ports.Publish(ctx, endpoint(m.cfg.Interface, m.cfg.PublishPort), opts); err != nil {
		return portFault("publish_port", m.cfg.Interface, err)
	}
	m.closers = append(m.closers, m.publish.Close)
	if m.reply, err = o.Ports.Reply(ctx, endpoint(m.cfg.Interface, m.cfg.RetPort), opts); err != nil {
		return portFault("ret_port", m.cfg.Interface, err)
	}
	m.closers = append(m.closers, m.reply.Close)
	return m.bindMetrics(ctx, o)
}

// portFault says why a port was not opened. An address that this host does not have is a fault of option interface.
func portFault(option, host string, err error) error {
	var unknown *net.DNSError
	if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.As(err, &unknown) {
		return &config.About{Option: "interface", Err: fmt.Errorf("%w: interface: %s is no address of this host: %w", ErrPorts, host, err)}
	}
	return &config.About{Option: option, Err: fmt.Errorf("%w: %s: %w", ErrPorts, option, err)}
}

// occupy makes the directories and takes them: a second master with the same ones is refused.
func (m *Master) occupy(ctx context.Context, o Options) error {
	if err := makeFolders(m.cfg); err != nil {
		return err
	}
	free, err := daemon.LockFile(filepath.Join(m.cfg.CacheDir, ".master_lock"))
	switch {
	case errors.Is(err, daemon.ErrLocked):
		return fmt.Errorf("cachedir %s: %w", m.cfg.CacheDir, ErrRunning)
	case err != nil:
		return err
	}
	m.closers = append(m.closers, free)
	m.submit, err = o.Ports.Submit(ctx, "ipc://"+filepath.Join(m.cfg.SockDir, "publish_pull.ipc"), transport.Options{Log: o.Log})
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("sock_dir: %w: %w", ErrRunning, err)
	case err != nil:
		return fmt.Errorf("sock_dir: %w", err)
	}
	m.closers = append(m.closers, m.submit.Close)
	return nil
}

// makeFolders makes the directories of a master with the modes that Salt gives them.
func makeFolders(cfg *config.Master) error {
	private := []string{filepath.Join(cfg.CacheDir, "sessions"), filepath.Join(cfg.CacheDir, batchFolder)}
	shared := []string{cfg.CacheDir, cfg.SockDir, filepath.Join(cfg.CacheDir, "jobs"),
		filepath.Join(cfg.CacheDir, "proc")} // salt-run of Salt 3008 writes there and does not make it
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

// endpoint takes the address of an interface with brackets or without.
func endpoint(host string, port int) string {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	return "tcp://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// portOf returns the port that was bound, which differs from the one asked for when that is 0.
func portOf(a net.Addr, otherwise int) int {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.Port
	}
	return otherwise
}

// Addrs returns where the master listens: the request port and the publish port.
func (m *Master) Addrs() (reply, publish net.Addr) { return m.reply.Addr(), m.publish.Addr() }

// close gives back what New has opened, the last first.
func (m *Master) close() error {
	var errs []error
	for i := len(m.closers) - 1; i >= 0; i-- {
		errs = append(errs, m.closers[i]())
	}
	m.closers = nil
	return errors.Join(errs...)
}
