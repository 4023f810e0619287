package saltmaster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	stdauth "github.com/brineproject/brine/auth/standard"
	cacheopener "github.com/brineproject/brine/cache/opener"
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/code"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/gitfs"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/master"
	"github.com/brineproject/brine/modules"
	stdsources "github.com/brineproject/brine/pillar/sources/standard"
	"github.com/brineproject/brine/returners/opener"
	stdrunners "github.com/brineproject/brine/runners/standard"
	"github.com/brineproject/brine/sdb/sqlite3"
	stdsdb "github.com/brineproject/brine/sdb/standard"
	"github.com/brineproject/brine/states"
	"github.com/brineproject/brine/tops"
	wheels "github.com/brineproject/brine/wheel"
)

// program is one run of salt-master: its command line, its current configuration, and the master.
type program struct {
	in     cli.Invocation
	o      *cli.MasterOptions
	cfg    *config.Master
	daemon *cli.Daemon
	own    *code.Code
	*master.Master
}

var _ daemon.Role = (*program)(nil)

func newProgram(in cli.Invocation, o *cli.MasterOptions) (*program, error) {
	p := &program{in: in, o: o}
	cfg, report, err := p.load()
	if err != nil {
		return nil, &cli.ConfigError{Report: report, Err: err}
	}
	p.cfg = cfg
	p.daemon = &cli.Daemon{Name: "salt-master", Options: &o.DaemonOptions, Opts: p.opts(p.cfg),
		Report: report, Folders: folders(p.cfg), Codes: codes(),
		Start: p.start, Probe: func() error { return probe(context.Background(), cfg, report) }}
	return p, nil
}

// load reads the configuration and checks it.
func (p *program) load() (*config.Master, *config.Report, error) {
	cfg, report, err := config.LoadMaster(p.o.ConfigDir, p.in.Env)
	if err != nil {
		return nil, report, err
	}
	return cfg, report, validate(cfg, report)
}

// probe tests what depends on this host: whether interface is an address, whether the passphrases open
// the master's keys, and the files of the cluster.
func probe(ctx context.Context, cfg *config.Master, report *config.Report) error {
	return errors.Join(checkInterface(ctx, cfg, report), checkClusterFiles(cfg, report),
		checkPassphrase(cfg, report, "key_pass", "master", cfg.KeyPass),
		checkPassphrase(cfg, report, "signing_key_pass", cfg.MasterSignKeyName, cfg.SigningKeyPass))
}

// checkPassphrase tries an option's passphrase on a master's key, if the key exists.
func checkPassphrase(cfg *config.Master, report *config.Report, option, name, pass string) error {
	file := filepath.Join(cfg.PKIDir, name+".pem")
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		return report.Judge("pki_dir", fmt.Errorf("open the key: %w%s", err, cli.RightsHint(err)))
	}
	if err == nil {
		_, err = crypto.ParsePrivateKey(text, pass)
	}
	if err != nil {
		return report.Judge(option, fmt.Errorf("open the key %s: %w", file, err))
	}
	return nil
}

// checkClusterFiles reads the files that the option cluster names.
func checkClusterFiles(cfg *config.Master, report *config.Report) error {
	if cfg.Cluster == nil {
		return nil
	}
	o, err := cluster.Parse(cfg.Cluster)
	if config.Faults(err) != nil {
		return nil // told with the faults of the configuration
	}
	return report.Judge("cluster", o.CheckFiles(cfg.User))
}

func checkInterface(ctx context.Context, cfg *config.Master, report *config.Report) error {
	var dial net.ListenConfig
	l, err := dial.Listen(ctx, "tcp", net.JoinHostPort(strings.Trim(cfg.Interface, "[]"), "0"))
	if err != nil {
		return report.Judge("interface",
			fmt.Errorf("%s is no address of this host: %w", cfg.Interface, err))
	}
	return l.Close()
}

// opts returns all options, including the command line's.
func (p *program) opts(cfg *config.Master) *data.Map {
	opts := cfg.Map()
	p.o.Merge(opts)
	return opts
}

// folders returns the directories that a master needs, in Salt's order (salt/cli/daemons.py,
// Master.verify_environment).
func folders(cfg *config.Master) []daemon.Folder {
	opts := cfg.Map()
	return []daemon.Folder{
		{Option: "pki_dir", Path: cfg.PKIDir, Private: true},
		{Option: "cachedir", Path: cfg.CacheDir},
		{Option: "sock_dir", Path: cfg.SockDir},
		{Option: "token_dir", Path: cfg.TokenDir},
		{Option: "syndic_dir", Path: opts.Text("syndic_dir")},
		{Option: "sqlite_queue_dir", Path: opts.Text("sqlite_queue_dir")},
	}
}

// codes are the exit codes of Salt (salt/defaults/exitcodes.py).
func codes() []daemon.ExitCode {
	return []daemon.ExitCode{{Err: master.ErrPorts, Code: 4}, {Err: daemon.ErrNoUser, Code: 67}}
}

func (p *program) start(
	ctx context.Context, log *logging.Log, ready func() error,
) (daemon.Role, error) {
	ports, err := Ports(p.cfg)
	if err != nil {
		return nil, &config.About{Option: "ssl", Err: err}
	}
	lib := &library{opts: p.opts(p.cfg), log: log}
	own := code.New(code.Options{Opts: lib.opts, Daemon: true, Log: log.Logger, Services: lib.services()})
	if err := own.Check(); err != nil {
		own.Close()
		return nil, &config.About{Option: "python_salt", Err: err}
	}
	m, err := master.New(ctx, p.cfg, master.Options{
		Ports: ports, BeforeOpen: ready, Log: log, Own: own,
		Jobs: JobCache(p.cfg, log), Cache: cacheopener.Open, ExtJobs: ExtJobCache(p.cfg, log),
		JobCaches: opener.Names(opener.Jobs), EventSinks: EventSinks(p.cfg),
		Runners: stdrunners.Plugins, Wheel: wheels.Plugins,
		Modules: modules.Plugins, States: states.Plugins(), Render: Brought(own),
		SDB:     append(stdsdb.Plugins(), sqlite3.Plugin()),
		Sources: stdsources.Sources(), Tops: tops.Sources(), Engines: engineMakers(),
		Backends: fileserver.Makers{gitfs.Name: gitfs.Make},
		Order:    cli.MasterOrder(p.cfg, p.in.Env), Login: stdauth.Open,
		ReleaseMemory: func() { cli.ReleaseMemory(log) },
	})
	if err != nil {
		own.Close()
		return nil, err
	}
	lib.master.Store(m)
	p.own = own
	reply, publish := m.Addrs()
	log.Infof("The salt master is listening on %s (requests) and %s (publications)", reply, publish)
	p.Master = m
	return p, nil
}

// Run runs the master, and ends the Python of users' own code after it.
func (p *program) Run(ctx context.Context, ready func()) error {
	defer p.own.Close()
	return p.Master.Run(ctx, ready)
}

// Reload reads the configuration again and applies the options that may change at run time.
func (p *program) Reload(context.Context) error {
	next, report, err := p.load()
	if err != nil {
		return err
	}
	renewed, change := p.cfg.Renew(next)
	change.Restart = slices.DeleteFunc(change.Restart, ofAPI)
	return p.daemon.Renew(p.opts(renewed), report, change, func() error {
		p.cfg = renewed
		p.Renew(renewed)
		return nil
	})
}

// ofAPI reports whether an option concerns salt-api alone, which logs its changes itself.
func ofAPI(option string) bool {
	return option == "console" || slices.ContainsFunc([]string{"rest_", "netapi_", "api_"},
		func(prefix string) bool { return strings.HasPrefix(option, prefix) })
}
