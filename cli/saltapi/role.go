package saltapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/serve"
	"github.com/brineproject/brine/returners/jobstore"
	"github.com/brineproject/brine/transport"
)

// stopLimit is how long all parts together may take to end. Requests may finish for 5 s of it.
const stopLimit = 9 * time.Second

// program is one run of salt-api: its command line, its current configuration, and its doors.
type program struct {
	in     cli.Invocation
	o      *cli.APIOptions
	loaded *loaded
	daemon *cli.Daemon
	brings Options

	log     *logging.Log
	group   *daemon.Group
	parts   []daemon.Part
	servers []*serve.Server
	bodies  *serve.Bodies // of all servers
	closers []func() error
}

var _ daemon.Role = (*program)(nil)

func newProgram(in cli.Invocation, o *cli.APIOptions, brings Options) (*program, error) {
	l, err := load(o, in)
	if err != nil {
		return nil, err
	}
	p := &program{in: in, o: o, loaded: l, brings: brings}
	opts := options(o, l.cfg)
	p.daemon = &cli.Daemon{Name: "salt-api", Options: &o.DaemonOptions, Opts: opts, Report: l.report,
		Folders: []daemon.Folder{
			{Option: "cachedir", Path: opts.Text("cachedir"), Shallow: true},
			{Option: "token_dir", Path: opts.Text("token_dir"), Private: true, Shallow: true},
		},
		Files: logFiles(l.settings), Codes: []daemon.ExitCode{{Err: daemon.ErrNoUser, Code: 67}},
		Start: p.start, Probe: func() error { return probe(context.Background(), l) }}
	return p, nil
}

// start opens the ports, becomes the master's user and makes the doors.
func (p *program) start(ctx context.Context, log *logging.Log, settle func() error) (daemon.Role, error) {
	p.log = log
	p.group = daemon.NewGroup(daemon.GroupOptions{Name: "salt-api", Stop: stopLimit, Log: log})
	ports, err := p.listen(ctx)
	if err == nil {
		err = settle()
	}
	if err != nil {
		return nil, errors.Join(err, closeAll(ports))
	}
	if err := p.build(ports); err != nil {
		return nil, errors.Join(err, closeAll(ports), p.close())
	}
	for i, s := range p.servers {
		log.Infof("The salt-api is listening on %s (%s)", s.Addr(), sections(p.loaded.settings)[i].name)
	}
	return p, nil
}

// listen opens the ports of all doors.
func (p *program) listen(ctx context.Context) ([]net.Listener, error) {
	var ports []net.Listener
	for _, one := range sections(p.loaded.settings) {
		l, err := serve.Listen(ctx, one.door)
		if err != nil {
			return ports, p.loaded.report.Judge(one.name, &config.Finding{Path: []any{"port"}, Text: err.Error()})
		}
		ports = append(ports, l)
	}
	return ports, nil
}

func closeAll(ports []net.Listener) error {
	var errs []error
	for _, l := range ports {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// build makes what stands behind the ports.
func (p *program) build(ports []net.Listener) error {
	opts := p.daemon.Opts
	host := cli.HostProgram{In: p.in, Opts: opts}
	out, err := host.Requester()
	if err != nil {
		return &config.About{Option: "ssl", Err: err}
	}
	p.closers = append(p.closers, out.Close)
	tokens, err := auth.OpenTokens(opts.Text("token_dir"), opts.Text("hash_type"), nil)
	if err != nil {
		return &config.About{Option: "token_dir", Err: err}
	}
	p.closers = append(p.closers, tokens.Close)
	events := eventbus.NewShare(host.Sockets(), eventbus.ShareOptions{
		MaxEventSize: p.loaded.cfg.MaxEventSize, Log: p.log})
	doors, err := p.brings.Connect(Site{Config: p.loaded.cfg, Opts: opts, Settings: p.loaded.settings, Sockets: host.Sockets(),
		Events: events, Log: p.log})
	if err != nil {
		return err
	}
	p.parts, p.bodies = doors.Parts, serve.NewBodies(largestBody(p.loaded.settings))
	master, pace := p.master(host, out, events), netapi.NewPace(nil)
	for i, one := range sections(p.loaded.settings) {
		open := map[string]Open{"rest_cherrypy": doors.Cherrypy, "rest_tornado": doors.Tornado}[one.name]
		external, _ := opts.Value("external_auth").(*data.Map)
		gate := netapi.NewGate(netapi.Options{Settings: p.loaded.settings, Door: one.door, Master: master, Tokens: tokens,
			External: external, Permissive: p.loaded.cfg.PermissiveACL, KeepACLInToken: p.loaded.cfg.KeepACLInToken,
			TokenExpire: p.loaded.cfg.TokenExpire,
			Audit:       &netapi.Audit{Log: p.log}, Pace: pace, Log: p.log})
		p.closers = append(p.closers, gate.Close)
		var console OpenConsole
		if i == 0 && p.loaded.settings.Console {
			console = doors.Console
		}
		if err := p.addDoor(one, open, console, gate, ports[i]); err != nil {
			return err
		}
	}
	p.parts = append(p.parts, daemon.Part{Name: "ports", Vital: true, Run: daemon.Always(p.serve)})
	return nil
}

// largestBody returns the largest max_request_body_size of the sections.
func largestBody(s *netapi.Settings) int64 {
	largest := int64(0)
	for _, one := range sections(s) {
		largest = max(largest, one.door.MaxBody)
	}
	return largest
}

// serve serves all doors until ctx ends or one of them fails. They stop at the same time: each may need
// most of the limit.
func (p *program) serve(ctx context.Context) error {
	doors, ctx := errgroup.WithContext(ctx)
	for _, s := range p.servers {
		doors.Go(func() error { return s.Run(ctx) })
	}
	return doors.Wait()
}

// consolePath is where the console is, below root_prefix.
const consolePath = "/console"

// withConsole returns the handler of a door with the console beside it. The console has a gate of its
// own: its sessions are no sessions of the API, and all its clients are enabled.
func (p *program) withConsole(h http.Handler, console OpenConsole, door *netapi.Gate, d *netapi.Door) (http.Handler, error) {
	o := door.Options
	o.Settings = o.Settings.ForConsole()
	gate := netapi.NewGate(o)
	p.closers = append(p.closers, gate.Close)
	pages, err := console(gate, door, d)
	if err != nil {
		return nil, fmt.Errorf("open the console: %w", err)
	}
	root := strings.TrimSuffix(d.Prefix, "/") + consolePath
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == root || strings.HasPrefix(r.URL.Path, root+"/") {
			pages.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	}), nil
}

// addDoor makes the server of a door, with the console unless that is nil.
func (p *program) addDoor(one section, open Open, console OpenConsole, gate *netapi.Gate, port net.Listener) error {
	if open == nil {
		return &config.About{Option: one.name, Err: fmt.Errorf("%s: this program does not serve it", one.name)}
	}
	if err := p.loaded.report.Judge(one.name, serve.CheckTLS(one.door)); err != nil {
		return err
	}
	h, err := open(gate, one.door)
	if err == nil && console != nil {
		h, err = p.withConsole(h, console, gate, one.door)
	}
	if err != nil {
		return &config.About{Option: one.name, Err: fmt.Errorf("%s: %w", one.name, err)}
	}
	s, err := serve.New(port, serve.Options{Name: one.name, Door: one.door, Handler: h, Bodies: p.bodies, Log: p.log})
	if err != nil {
		return &config.About{Option: one.name, Err: err}
	}
	p.servers = append(p.servers, s)
	return nil
}

// master returns the master of this host.
func (p *program) master(host cli.HostProgram, out transport.Requester, events *eventbus.Share) *netapi.Local {
	opts, cfg := p.daemon.Opts, p.loaded.cfg
	o := client.Options{CacheDir: opts.Text("cachedir"), SockDir: opts.Text("sock_dir"), Sockets: host.Sockets(),
		User: opts.Text("user"), Caller: userName(), Out: out, Timeout: cfg.Timeout, Log: p.log,
		Tiers: client.TiersOf(opts), Share: events, Return: p.readReturn}
	return netapi.NewLocal(netapi.LocalOptions{Client: o, Nodegroups: cfg.Nodegroups, Timeout: cfg.Timeout, Gather: cfg.GatherJobTimeout,
		Runner: p.loaded.settings.Timeout, Log: p.log})
}

// readReturn reads a return from the job cache of a Brine master on this host.
func (p *program) readReturn(ctx context.Context, id job.ID, minion string) (data.Raw, error) {
	file := filepath.Join(p.daemon.Opts.Text("cachedir"), "jobs.db")
	return jobstore.ReadReturn(ctx, file, jobstore.Options{Log: p.log}, id, minion)
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "root"
}

func (p *program) close() error {
	var errs []error
	for _, f := range slices.Backward(p.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// Run serves until ctx ends.
func (p *program) Run(ctx context.Context, ready func()) error {
	return errors.Join(p.group.Run(ctx, ready, p.parts...), p.close())
}

// Reload reads the certificates and the options of the log again and reopens the log files. It logs
// which other changed options need a restart.
func (p *program) Reload(context.Context) error {
	var errs []error
	for _, s := range p.servers {
		errs = append(errs, s.Reload())
	}
	return errors.Join(append(errs, p.reloadOptions())...)
}

func (p *program) reloadOptions() error {
	next, err := load(p.o, p.in)
	if err != nil {
		return err
	}
	renewed, all := p.loaded.cfg.Renew(next.cfg)
	var change config.Change
	for _, name := range slices.Concat(all.Applied, all.Restart) {
		switch {
		case restarts(name):
			change.Restart = append(change.Restart, name)
		case strings.HasPrefix(name, "log_"):
			change.Applied = append(change.Applied, name)
		}
	}
	return p.daemon.Renew(options(p.o, renewed), next.report, change, func() error {
		p.loaded = &loaded{renewed, p.loaded.settings, next.report}
		return nil
	})
}

// Status returns a one-line summary.
func (p *program) Status() string {
	connections, streams := 0, 0
	for _, s := range p.servers {
		c, n := s.Connections()
		connections, streams = connections+c, streams+n
	}
	text := fmt.Sprintf("%d connections, %d streams", connections, streams)
	if trouble := p.group.Trouble(); trouble != "" {
		text += "; " + trouble
	}
	return text
}

// Dump returns the state of the parts.
func (p *program) Dump() string { return "parts:\n" + p.group.Dump() + p.Status() + "\n" }
