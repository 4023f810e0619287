package pillar

import (
	"context"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

// An Updater is a Source that keeps copies of remote data. A master updates them at intervals, so
// that requests find them ready.
type Updater interface {
	Source
	// Update updates the copies for the entries of ext_pillar. Failures are logged; the error is
	// that of ctx.
	Update(ctx context.Context, opts *data.Map, log logrus.FieldLogger) error
}

// other compiles the SLS of other files for the same minion, in one environment and without
// external pillars.
func (w *compilation) other(ctx context.Context, env string, files Files) (*data.Map, error) {
	opts := w.opts.Clone()
	opts.Set("pillar_roots", data.NewMap())
	c, err := New(Options{Opts: opts, Engine: w.Engine, Files: func(string) Files { return files },
		Version: w.Version, Log: w.Log})
	if err != nil {
		return nil, err
	}
	return c.Compile(ctx, Request{ID: w.ID, Grains: w.Grains, SaltEnv: env, NoExternal: true})
}
