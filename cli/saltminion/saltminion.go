// Package saltminion is the program salt-minion. It is not in package cli so that other programs do without what a
// minion can do.
package saltminion

import (
	"context"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/grains"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/minion"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/pillar"
	stdreturners "github.com/brineproject/brine/returners/standard"
	"github.com/brineproject/brine/states"
)

// Run runs the program and returns its exit code.
func Run(ctx context.Context, in cli.Invocation, stdout, stderr io.Writer) int {
	o, err := cli.ParseMinion(in)
	if err != nil {
		return cli.Leave(err, stdout, stderr)
	}
	cli.Preface(o.Line, stderr)
	p, err := newProgram(in, o)
	if err != nil {
		return cli.Refuse("salt-minion", o.Line, err, stderr)
	}
	return p.daemon.Serve(ctx, in, stdout, stderr)
}

// restSparingly lets the heap grow by half only before it is cleaned: a minion rests most of the time, on hosts that are
// there for something else. GOGC in the environment says otherwise.
func restSparingly() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// Options lends a minion the network, the functions and the facts of this host. The error says what is wrong with option
// ssl.
func Options(cfg *config.Minion, env func(string) string, log *logrus.Logger) (minion.Options, error) {
	wire, err := cli.MinionWire(cfg)
	if err != nil {
		return minion.Options{}, err
	}
	brought := modules.Brought()
	facts := grains.Options{Opts: cfg.Map(), Env: env, Log: log, ConfFile: cfg.ConfFile}
	return minion.Options{
		Ports:     minion.Ports{Request: wire.Request, Subscribe: wire.Subscribe},
		Plugins:   loader.Allowed(modules.Plugins(brought), cfg.Map(), "modules"),
		Render:    brought,
		Sources:   pillar.Sources(),
		Returners: loader.Allowed(stdreturners.Plugins(), cfg.Map(), "returners"),
		States:    loader.Allowed(states.Plugins(), cfg.Map(), "states"),
		Grains:    Grains(func() grains.Options { return facts }),
		Log:       log,
		Order:     cli.OrderOf(cfg, env),
	}, nil
}

// Grains returns what gives a program its grains: at its start those of the cache, where the options want that, later those of the
// host as it is then. now returns the options of the moment.
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
