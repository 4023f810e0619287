package saltsyndic

import (
	"context"
	"errors"
	"os/user"
	"path/filepath"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/syndic"
	"github.com/brineproject/brine/transport"
)

// program is one run of salt-syndic: its command line, its current configuration, and the syndic.
type program struct {
	in     cli.Invocation
	o      *cli.SyndicOptions
	loaded *loaded
	daemon *cli.Daemon

	out  transport.Requester // to the master of this host
	jobs *jobs
	*syndic.Syndic
}

var _ daemon.Role = (*program)(nil)

func newProgram(in cli.Invocation, o *cli.SyndicOptions) (*program, error) {
	l, err := load(context.Background(), o, in)
	if err != nil {
		return nil, err
	}
	p := &program{in: in, o: o, loaded: l}
	p.daemon = &cli.Daemon{Name: "salt-syndic", Options: &o.DaemonOptions, Opts: options(o, l.cfg),
		Report: l.report, Folders: folders(l.cfg), Codes: codes(), Start: p.start}
	return p, nil
}

// folders returns the directories that a syndic writes to: the keys of the minion, where the keys of
// the masters above are stored too, and its own one in the cache of the master.
func folders(cfg *config.Syndic) []daemon.Folder {
	return []daemon.Folder{
		{Option: "pki_dir", Path: cfg.Minion.PKIDir, Private: true},
		{Option: "cachedir", Path: filepath.Join(cfg.Master.CacheDir, "syndic"), Private: true, Shallow: true},
	}
}

// codes are the exit codes of Salt (salt/defaults/exitcodes.py).
func codes() []daemon.ExitCode {
	return []daemon.ExitCode{{Err: channel.ErrRejected, Code: 77},
		{Err: channel.ErrFingerprint, Code: 42}, {Err: daemon.ErrNoUser, Code: 67}}
}

// start becomes the user of the options and makes the syndic.
func (p *program) start(ctx context.Context, log *logging.Log, ready func() error) (daemon.Role, error) {
	if err := ready(); err != nil {
		return nil, err
	}
	cfg := p.loaded.cfg
	wire, err := cli.MinionWire(cfg.Minion)
	if err != nil {
		return nil, &config.About{Option: "ssl", Err: err}
	}
	opts := cfg.Master.Map()
	host := cli.HostProgram{In: p.in, Opts: opts}
	if p.out, err = host.Requester(); err != nil {
		return nil, &config.About{Option: "ssl", Err: err}
	}
	p.jobs = &jobs{cfg: cfg.Master, log: log}
	order := client.Options{CacheDir: cfg.Master.CacheDir, SockDir: cfg.Master.SockDir, Sockets: host.Sockets(),
		User: opts.Text("user"), Caller: userName(), Out: p.out, Timeout: cfg.Master.Timeout, Log: log,
		Tiers: client.TiersOf(opts)}
	p.Syndic, err = syndic.New(ctx, cfg.Master, cfg.Minion, syndic.Options{
		Ports: syndic.Ports{Request: wire.Request, Subscribe: wire.Subscribe},
		Order: func(ctx context.Context) (syndic.Orderer, error) {
			c, err := client.Open(ctx, order)
			if err != nil {
				return nil, err
			}
			return c, nil
		},
		Jobs: p.jobs.reader,
		Keys: pki.Visit(cfg.Master.PKIDir, pki.Options{}),
		Log:  log,
	})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "root"
}

// close releases what start has opened besides the syndic.
func (p *program) close() error { return errors.Join(p.jobs.close(), p.out.Close()) }

// Run forwards orders and returns until ctx ends.
func (p *program) Run(ctx context.Context, ready func()) error {
	return errors.Join(p.Syndic.Run(ctx, ready), p.close())
}

// Reload reads the options of the log again and reopens the log file. It logs which other changed
// options need a restart.
func (p *program) Reload(ctx context.Context) error {
	next, err := load(ctx, p.o, p.in)
	if err != nil {
		return err
	}
	master, above := p.loaded.cfg.Master.Renew(next.cfg.Master)
	_, below := p.loaded.cfg.Minion.Renew(next.cfg.Minion)
	cfg := &config.Syndic{Master: master, Minion: p.loaded.cfg.Minion}
	return p.daemon.Renew(options(p.o, cfg), next.report, change(above, below), func() error {
		p.loaded = &loaded{cfg, next.report}
		return nil
	})
}

// Dump returns the state of the syndic.
func (p *program) Dump() string { return p.Status() + "\n" }

// options returns all options of the master with the command line's. Those about the daemon, and
// those that salt/config/__init__.py, syndic_config, replaces, are the syndic's.
func options(o *cli.SyndicOptions, cfg *config.Syndic) *data.Map {
	opts := cfg.Master.Map()
	opts.Set("id", cfg.Minion.ID)
	opts.Set("pki_dir", cfg.Minion.PKIDir)
	opts.Set("pidfile", opts.Value("syndic_pidfile"))
	if name := opts.Text("syndic_user"); name != "" {
		opts.Set("user", name)
	}
	o.Merge(opts)
	opts.Set("log_file", opts.Value("syndic_log_file"))
	return opts
}
