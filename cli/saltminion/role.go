package saltminion

import (
	"context"
	"sync/atomic"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/grains"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/minion"
)

// program is one run of salt-minion: its command line, its configuration of now, and the minion.
type program struct {
	in     cli.Invocation
	o      *cli.MinionOptions
	cfg    atomic.Pointer[config.Minion]
	daemon *cli.Daemon
	*minion.Minion
}

var _ daemon.Role = (*program)(nil)

func newProgram(in cli.Invocation, o *cli.MinionOptions) (*program, error) {
	p := &program{in: in, o: o}
	cfg, report, err := p.load()
	if err != nil {
		return nil, &cli.ConfigError{Report: report, Err: err}
	}
	p.cfg.Store(cfg)
	p.daemon = &cli.Daemon{Name: "salt-minion", Options: &o.DaemonOptions, Opts: p.opts(cfg), Report: report, Folders: folders(cfg), Codes: codes(),
		Start: p.start}
	return p, nil
}

// load reads the configuration and checks it.
func (p *program) load() (*config.Minion, *config.Report, error) {
	cfg, report, err := config.LoadMinion(p.o.ConfigDir, p.in.Env)
	if err == nil {
		err = p.identify(cfg)
	}
	if err != nil {
		return nil, report, err
	}
	return cfg, report, wrong(cfg, report)
}

// identify calls the id_function of a configuration. One that is read again keeps the ID of the start.
func (p *program) identify(cfg *config.Minion) error {
	if now := p.cfg.Load(); now != nil {
		if fun, _, err := cfg.IDFunction(); err == nil && fun != "" {
			return cfg.SetID(now.ID)
		}
		return nil
	}
	return Identify(context.Background(), cfg, p.in.Env)
}

// opts returns all options, with those of the command line.
func (p *program) opts(cfg *config.Minion) *data.Map {
	opts := cfg.Map()
	p.o.Merge(opts)
	return opts
}

// folders are those that a minion needs (salt/cli/daemons.py, Minion.prepare).
func folders(cfg *config.Minion) []daemon.Folder {
	opts := cfg.Map()
	return []daemon.Folder{
		{Option: "pki_dir", Path: cfg.PKIDir, Private: true},
		{Option: "cachedir", Path: cfg.CacheDir},
		{Option: "sock_dir", Path: cfg.SockDir},
		{Option: "extension_modules", Path: opts.Text("extension_modules")},
	}
}

// codes are the exit codes of Salt (salt/defaults/exitcodes.py).
func codes() []daemon.ExitCode {
	return []daemon.ExitCode{{Err: channel.ErrRejected, Code: 77}, {Err: channel.ErrFingerprint, Code: 42}, {Err: daemon.ErrNoUser, Code: 67}}
}

func (p *program) start(ctx context.Context, log *logging.Log, settle func() error) (daemon.Role, error) {
	if err := settle(); err != nil {
		return nil, err
	}
	cfg := p.cfg.Load()
	if err := cfg.CacheID(); err != nil {
		log.WithError(err).Warn("minion_id_caching: the id of the minion cannot be kept")
	}
	o, err := Options(cfg, p.in.Env, log.Logger)
	if err != nil {
		return nil, err
	}
	o.Grains = Grains(func() grains.Options {
		now := p.cfg.Load()
		return grains.Options{Opts: now.Map(), Env: p.in.Env, Log: log, ConfFile: now.ConfFile}
	})
	m, err := minion.New(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	restSparingly()
	p.Minion = m
	return p, nil
}

// Reload reads the configuration again and puts in force what may change.
func (p *program) Reload(ctx context.Context) error {
	next, report, err := p.load()
	if err != nil {
		return err
	}
	renewed, change := p.cfg.Load().Renew(next)
	return p.daemon.Renew(p.opts(renewed), report, change, func() error { return p.renew(ctx, renewed, change) })
}

// renew gives the minion its new configuration. The grains are collected by it, so it holds before.
func (p *program) renew(ctx context.Context, renewed *config.Minion, change config.Change) error {
	if len(change.Applied) == 0 {
		return nil
	}
	old := p.cfg.Swap(renewed)
	err := p.Renew(ctx, renewed)
	if err != nil {
		p.cfg.Store(old)
	}
	return err
}
