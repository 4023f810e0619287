package saltrun

import (
	"context"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/version"
)

// pillars compiles pillars from the master's options, without the running master.
type pillars struct {
	compiler func() (*pillar.Compiler, error)
	saved    func() (*pillar.Saved, error)
}

func newPillars(
	r *run, env loader.Env, modules *loader.Registry, renderers []render.Renderer,
	sources []pillar.Source, users *loader.Registry,
) *pillars {
	return &pillars{
		compiler: sync.OnceValues(func() (*pillar.Compiler, error) {
			return pillar.New(pillar.Options{Opts: r.opts,
				Engine: pillar.EnginesOf(env, modules, renderers), Sources: sources, Own: users,
				Version: version.Salt(), Log: r.log})
		}),
		saved: sync.OnceValues(func() (*pillar.Saved, error) {
			if !data.Truth(r.opts.Value("pillar_cache")) {
				return nil, nil
			}
			return pillar.OpenSaved(r.opts)
		}),
	}
}

// Compile compiles the pillar of a minion.
func (p *pillars) Compile(ctx context.Context, r pillar.Request) (*data.Map, error) {
	c, err := p.compiler()
	if err != nil {
		return nil, err
	}
	return c.Compile(ctx, r)
}

// Top returns the top files.
func (p *pillars) Top(ctx context.Context, r pillar.Request) (*data.Map, []any, error) {
	c, err := p.compiler()
	if err != nil {
		return nil, nil, err
	}
	return c.Top(ctx, r)
}

// Saved returns the pillar cache (pillar_cache).
func (p *pillars) Saved() (*pillar.Saved, error) { return p.saved() }
