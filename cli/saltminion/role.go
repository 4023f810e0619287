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

// program is one run of salt-minion: its command line, its current configuration, and the minion.
type program struct {
	in     cli.Invocation
	o      *cli.MinionOptions
	cfg    atomic.Pointer[config.Minion]
	daemon *cli.Daemon
	code   Code
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
	p.daemon = &cli.Daemon{Name: "salt-minion", Options: &o.DaemonOptions, Opts: p.opts(cfg),
		Report: report, Folders: folders(cfg), Codes: codes(),
		Start: p.start}
	return p, nil
}

// load reads the configuration and checks it.
func (p *program) load() (*config.Minion, *config.Report, error) {
	cfg, report, err := config.LoadMinion(p.o.ConfigDir, p.in.Env)
	if err == nil && !p.o.CheckConfig { // which would print the values
		err = Resolve(context.Background(), cfg, report, p.in.Env)
	}
	if err == nil {
		err = p.identify(cfg)
	}
	if err != nil {
		return nil, report, err
	}
	return cfg, report, validate(cfg, report)
}

// identify calls the id_function of a configuration. After a reload the ID of the start is kept.
func (p *program) identify(cfg *config.Minion) error {
	if now := p.cfg.Load(); now != nil {
		if fun, _, err := cfg.IDFunction(); err == nil && fun != "" {
			return cfg.SetID(now.ID)
		}
		return nil
	}
	return Identify(context.Background(), cfg, p.in.Env)
}

// opts returns all options, including the command line's.
func (p *program) opts(cfg *config.Minion) *data.Map {
	opts := cfg.Map()
	p.o.Merge(opts)
	return opts
}

// folders returns the directories that a minion needs (salt/cli/daemons.py, Minion.prepare).
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
	return []daemon.ExitCode{{Err: channel.ErrRejected, Code: 77},
		{Err: channel.ErrFingerprint, Code: 42}, {Err: daemon.ErrNoUser, Code: 67}}
}

func (p *program) start(
	ctx context.Context, log *logging.Log, ready func() error,
) (daemon.Role, error) {
	if err := ready(); err != nil {
		return nil, err
	}
	cfg := p.cfg.Load()
	if err := cfg.CacheID(); err != nil {
		log.WithError(err).Warn("write the minion id to its file (minion_id_caching)")
	}
	p.code = NewCode(p.opts(cfg), log.Logger, true)
	if err := p.code.Check(); err != nil {
		return nil, err
	}
	o, err := Options(cfg, p.in.Env, log.Logger, p.code)
	if err != nil {
		return nil, err
	}
	o.Grains = Grains(func() grains.Options {
		now := p.cfg.Load()
		return grains.Options{Opts: now.Map(), Env: p.in.Env, Log: log, ConfFile: now.ConfFile,
			Own: p.code.Grains}
	})
	m, err := minion.New(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	tuneGC()
	p.Minion = m
	return p, nil
}

// Run runs the minion until ctx ends, and then ends the users' own plug-ins.
func (p *program) Run(ctx context.Context, ready func()) error {
	defer p.code.Close()
	return p.Minion.Run(ctx, ready)
}

// Reload reads the configuration again and applies the options that may change at run time.
func (p *program) Reload(ctx context.Context) error {
	next, report, err := p.load()
	if err != nil {
		return err
	}
	renewed, change := p.cfg.Load().Renew(next)
	return p.daemon.Renew(p.opts(renewed), report, change,
		func() error { return p.renew(ctx, renewed, change) })
}

// renew applies a new configuration to the minion. It is set before the minion uses it, because
// collecting grains reads it.
func (p *program) renew(ctx context.Context, renewed *config.Minion, change config.Change) error {
	if len(change.Applied) == 0 {
		return nil
	}
	old := p.cfg.Swap(renewed)
	p.code.Renew(p.opts(renewed))
	err := p.Renew(ctx, renewed)
	if err != nil {
		p.cfg.Store(old)
		p.code.Renew(p.opts(old))
	}
	return err
}
