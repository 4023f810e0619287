package state

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// Files find SLS and top files; a *fileclient.Client does. Several goroutines may use them.
type Files interface {
	// Envs returns the environments there are.
	Envs(ctx context.Context) ([]string, error)
	// States returns the names of the SLS files of an environment, sorted.
	States(ctx context.Context, saltenv string) ([]string, error)
	// State returns the URL of an SLS and where its file is on this host. The error wraps fileclient.ErrNotFound.
	State(ctx context.Context, sls, saltenv string) (url, file string, err error)
	// CacheFile returns where the file of a URL is on this host. The error wraps fileclient.ErrNotFound.
	CacheFile(ctx context.Context, url, saltenv string, f fileclient.Fetch) (string, error)
	// MasterTops returns what master_tops say of the minion with these options: environment → list of SLS.
	MasterTops(ctx context.Context, opts *data.Map) (*data.Map, error)
}

// Options are what a Compiler is made of.
type Options struct {
	// Engine renders, and lends the options, grains and pillar of its Env. The options that count are saltenv,
	// state_top, state_top_saltenv, top_file_merging_strategy, default_top, env_order, file_roots, nodegroups,
	// master_tops_first, state_auto_order and disabled_requisites; see MasterOptions.
	Engine *render.Engine
	// Files hold the SLS and top files.
	Files Files
}

// A Compiler compiles the states of one minion. Several goroutines may use it.
type Compiler struct {
	engine *render.Engine
	files  Files
}

// New returns a compiler. The error names what the options lack.
func New(o Options) (*Compiler, error) {
	if o.Engine == nil || o.Files == nil {
		return nil, errors.New("state compiler: it needs an engine and files")
	}
	return &Compiler{engine: o.Engine, files: o.Files}, nil
}

func (c *Compiler) env() *loader.Env { return c.engine.Env() }

func (c *Compiler) text(option string) string {
	s, _ := c.env().Option(option).(string)
	return s
}

// SLS returns the high data of some SLS of an environment, verified but not resolved, and what is wrong with it
// (salt/modules/state.py, show_sls). Names may be globs; an empty saltenv means base.
func (c *Compiler) SLS(ctx context.Context, names []string, saltenv string) (*data.Map, []string, error) {
	if saltenv == "" {
		saltenv = "base"
	}
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = name
	}
	high, problems, err := c.Render(ctx, data.NewMap(saltenv, list))
	if err != nil {
		return nil, nil, err
	}
	return high, append(problems, Verify(high)...), nil
}

// HighState returns the high data that the top file gives the minion, not verified, and what is wrong with it
// (salt/state.py, compile_highstate).
func (c *Compiler) HighState(ctx context.Context) (*data.Map, []string, error) {
	top, problems, err := c.Top(ctx)
	if err != nil {
		return nil, nil, err
	}
	high, more, err := c.rendered(ctx, top)
	return high, append(problems, more...), err
}

// LowState returns the chunks that the top file gives the minion, in the order in which they run, or what is wrong
// (salt/state.py, compile_low_chunks).
func (c *Compiler) LowState(ctx context.Context) ([]*data.Map, []string, error) {
	top, _, err := c.Top(ctx)
	if err != nil {
		return nil, nil, err
	}
	high, problems, err := c.rendered(ctx, top)
	if err != nil {
		return nil, nil, err
	}
	problems = append(problems, extend(high, false)...)
	problems = append(problems, Verify(high)...)
	problems = append(problems, c.requisitesIn(high)...) // also where the high data does not verify
	exclude(high)
	if len(problems) > 0 {
		return nil, problems, nil
	}
	return Low(high), nil, nil
}

func (c *Compiler) rendered(ctx context.Context, top *data.Map) (*data.Map, []string, error) {
	matches, err := c.Matches(ctx, top)
	if err != nil {
		return nil, nil, err
	}
	return c.Render(ctx, matches)
}

// Resolve applies to high data what it says of itself: extend, then requisites of the _in forms, use and prereq, then
// exclude. It changes high and returns what is wrong (salt/state.py, call_high).
func (c *Compiler) Resolve(high *data.Map) []string {
	problems := extend(high, false)
	problems = append(problems, Verify(high)...)
	if len(problems) == 0 {
		problems = c.requisitesIn(high)
	}
	exclude(high)
	return problems
}
