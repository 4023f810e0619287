// Package saltminion is the program salt-minion. It is separate from package cli so that other
// programs need not link the minion's code.
package saltminion

import (
	"context"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	stdbeacons "github.com/brineproject/brine/beacons/standard"
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	stdengines "github.com/brineproject/brine/engines/standard"
	"github.com/brineproject/brine/grains"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/minion"
	"github.com/brineproject/brine/modules"
	stdreturners "github.com/brineproject/brine/returners/standard"
	stdsdb "github.com/brineproject/brine/sdb/standard"
	"github.com/brineproject/brine/states"
)

// Run runs the program and returns its exit code.
func Run(ctx context.Context, in cli.Invocation, stdout, stderr io.Writer) int {
	in.Installed = Installed(in.Env)
	o, err := cli.ParseMinion(in)
	if err != nil {
		return cli.PrintError(err, stdout, stderr)
	}
	cli.Preface(o.Line, stderr)
	p, err := newProgram(in, o)
	if err != nil {
		return cli.Refuse("salt-minion", o.Line, err, stderr)
	}
	return p.daemon.Serve(ctx, in, stdout, stderr)
}

// tuneGC lets the heap grow by only half between garbage collections, because a minion is
// idle most of the time on a host with another purpose. GOGC in the environment takes precedence.
func tuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// Options returns the minion's options with the network, the functions and the grains of this host.
// code are the users' own plug-ins in Python, nil for none. The error reports a fault in option ssl.
func Options(
	cfg *config.Minion, env func(string) string, log *logrus.Logger, code Code,
) (minion.Options, error) {
	wire, err := cli.MinionWire(cfg)
	if err != nil {
		return minion.Options{}, err
	}
	brought := modules.Brought()
	if code != nil {
		brought.Renderers = append(brought.Renderers, code.Renderers()...)
	}
	facts := grains.Options{Opts: cfg.Map(), Env: env, Log: log, ConfFile: cfg.ConfFile}
	o := minion.Options{
		Ports:     minion.Ports{Request: wire.Request, Subscribe: wire.Subscribe},
		Plugins:   loader.Allowed(modules.Plugins(brought), cfg.Map(), "modules"),
		Render:    brought,
		Sources:   sources(),
		Returners: loader.Allowed(stdreturners.Plugins(), cfg.Map(), "returners"),
		States:    loader.Allowed(states.Plugins(), cfg.Map(), "states"),
		Groups:    modules.Groups(), StateGroups: states.Groups(),
		Beacons:    stdbeacons.Plugins(),
		SDB:        stdsdb.Plugins(),
		Engines:    stdengines.ForMinions(),
		Outputters: outputters(),
		Grains:     Grains(func() grains.Options { return facts }),
		Log:        log,
		Order:      order(cfg, env),
	}
	if code != nil {
		o.Own = code.Source
	}
	return o, nil
}

// Grains returns a function that collects grains. Its first call returns the cached ones if the
// options ask for that; later calls collect the host's. now returns the current options.
func Grains(now func() grains.Options) func(context.Context) (*data.Map, error) {
	var started atomic.Bool
	return func(ctx context.Context) (*data.Map, error) {
		c := grains.New(now())
		if started.Swap(true) {
			return c.Collect(ctx)
		}
		return c.Start(ctx)
	}
}
