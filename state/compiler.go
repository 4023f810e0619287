package state

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// Files finds SLS and top files. *fileclient.Client implements it. It must be safe for concurrent
// use.
type Files interface {
	// Envs returns the available environments.
	Envs(ctx context.Context) ([]string, error)
	// States returns the sorted names of the SLS in an environment.
	States(ctx context.Context, saltenv string) ([]string, error)
	// State returns the URL of an SLS and the path of its local copy. For a missing SLS the error
	// wraps fileclient.ErrNotFound.
	State(ctx context.Context, sls, saltenv string) (url, file string, err error)
	// CacheFile returns the path of the local copy of a URL. For a missing file the error wraps
	// fileclient.ErrNotFound.
	CacheFile(ctx context.Context, url, saltenv string, f fileclient.Fetch) (string, error)
	// MasterTops returns the SLS that master_tops assigns to the minion with these options:
	// environment → list of SLS.
	MasterTops(ctx context.Context, opts *data.Map) (*data.Map, error)
}

// Options configure a Compiler. Both fields are required.
type Options struct {
	// Engine renders files and provides options, grains and pillar through its Env. The compiler
	// reads the options saltenv, state_top, state_top_saltenv, top_file_merging_strategy,
	// default_top, env_order, file_roots, nodegroups, master_tops_first, state_auto_order and
	// disabled_requisites; see MasterOptions.
	Engine *render.Engine
	// Files provides the SLS and top files.
	Files Files
}

// A Compiler compiles the states of one minion. It is safe for concurrent use.
type Compiler struct {
	engine *render.Engine
	files  Files
}

// New returns a compiler. It fails if a field of the options is nil.
func New(o Options) (*Compiler, error) {
	if o.Engine == nil || o.Files == nil {
		return nil, errors.New("create state compiler: Engine and Files are required")
	}
	return &Compiler{engine: o.Engine, files: o.Files}, nil
}

func (c *Compiler) env() *loader.Env { return c.engine.Env() }

func (c *Compiler) text(option string) string {
	s, _ := c.env().Option(option).(string)
	return s
}

// SLS returns the high data of some SLS in an environment, verified but not resolved, and a list of
// problems (salt/modules/state.py, show_sls). Names may be globs. An empty saltenv means base.
func (c *Compiler) SLS(
	ctx context.Context, names []string, saltenv string,
) (*data.Map, []string, error) {
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

// HighState returns the unverified high data that the top file assigns to the minion, and a list of
// problems (salt/state.py, compile_highstate).
func (c *Compiler) HighState(ctx context.Context) (*data.Map, []string, error) {
	top, problems, err := c.Top(ctx)
	if err != nil {
		return nil, nil, err
	}
	high, more, err := c.rendered(ctx, top)
	return high, append(problems, more...), err
}

// LowState returns the chunks that the top file assigns to the minion, in execution order, or a
// list of problems (salt/state.py, compile_low_chunks).
func (c *Compiler) LowState(ctx context.Context) ([]Chunk, []string, error) {
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
	problems = append(problems, c.requisitesIn(high)...) // even if the high data does not verify
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

// Resolve applies the declarations in high data that affect other states: extend, then requisites
// of the _in forms, use and prereq, then exclude. It changes high and returns a list of problems
// (salt/state.py, call_high).
func (c *Compiler) Resolve(high *data.Map) []string {
	problems := extend(high, false)
	problems = append(problems, Verify(high)...)
	if len(problems) == 0 {
		problems = c.requisitesIn(high)
	}
	exclude(high)
	return problems
}
