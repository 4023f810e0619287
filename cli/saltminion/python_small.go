//go:build small && !python

package saltminion

import (
	"context"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	plugins "github.com/brineproject/brine/program"
	"github.com/brineproject/brine/python"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/state/change"
)

// programs are plug-ins that are programs: a small build runs no Python.
type programs struct {
	host *plugins.Host
	opts atomic.Pointer[data.Map]
	log  *logrus.Logger
}

// Installed returns nil: a small build uses no installed Salt.
func Installed(func(string) string) func(string) string { return nil }

// NewCode returns the users' own plug-ins of a daemon or, if daemon is false, of a command.
func NewCode(opts *data.Map, log *logrus.Logger, daemon bool) Code {
	p := &programs{log: log}
	p.opts.Store(opts)
	p.host = plugins.NewHost(plugins.Options{
		Daemon: daemon, Log: log,
		Directories: func() map[string][]string { return python.Directories(p.opts.Load()) },
	})
	return p
}

// Check reports an option for Python, which is not there.
func (p *programs) Check() error { return nil }

// Close ends the programs.
func (p *programs) Close() {
	if err := p.host.Close(); err != nil {
		p.log.WithError(err).Warn("end the programs of users")
	}
}

// Source returns the programs of a kind.
func (p *programs) Source(kind string, env *loader.Env, listed []loader.Plugin) loader.Source {
	files := p.host.Files(kind, env, listed)
	if kind == "states" {
		files.Test = change.Test
	}
	return files
}

// Renderers returns none.
func (*programs) Renderers() []render.Renderer { return nil }

// Grains returns the grains of programs in the order in which they are merged into known.
func (p *programs) Grains(ctx context.Context, known *data.Map) []*data.Map {
	env := &loader.Env{Opts: p.opts.Load(), Grains: func() *data.Map { return known }, Log: p.log}
	return p.host.Files("grains", env, nil).Grains(ctx, known)
}

// Renew makes later jobs use other options.
func (p *programs) Renew(opts *data.Map) { p.opts.Store(opts) }

// hasOwn reports whether there are files of users' own plug-ins of a kind.
func hasOwn(string, *data.Map) bool { return false }

// outputters returns none: only plug-ins in Python call outputters.
func outputters() []loader.Plugin { return nil }
