//go:build !small || local

package minion

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/version"
)

// errCompiling is returned if a pillar template requests a fresh pillar, which would need that
// template itself.
var errCompiling = errors.New("the pillar is being compiled and is not available to its own templates")

type compilingKey struct{}

// compileLocally compiles the pillar from pillar_roots and ext_pillar of the minion's own options.
// Templates see known as pillar.
func (m *Minion) compileLocally(
	ctx context.Context, q loader.PillarQuery, known *data.Map,
) (*data.Map, error) {
	if ctx.Value(compilingKey{}) != nil {
		return nil, errCompiling
	}
	o := pillar.Options{Opts: m.settings.saltOptions(), Sources: m.opts.Sources,
		Version: version.Salt(), Log: m.log}
	o.Engine = pillar.EnginesOf(m.env, m.funcs, m.opts.Render.Renderers)
	o.Own = m.env.Registry("pillar")
	c, err := pillar.New(o)
	if err != nil {
		return nil, err
	}
	return c.Compile(context.WithValue(ctx, compilingKey{}, true), pillar.Request{
		ID: m.cfg.ID, Grains: m.Grains(), SaltEnv: q.SaltEnv, PillarEnv: q.PillarEnv,
		Override: q.Override, Demand: q.External,
		Known: known,
	})
}
