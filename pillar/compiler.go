package pillar

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/render"
)

// A Scope is the data that the templates of one compilation see.
type Scope struct {
	Opts   *data.Map // options, with the id and the environments of the minion
	Grains *data.Map // never nil
	Pillar *data.Map // as present before the first SLS renders; never nil
	Files  Files     // the files of pillar_roots
}

// Options configure a Compiler.
type Options struct {
	// Opts are the options of the master, or of a masterless minion. It must not be nil.
	Opts *data.Map
	// Engine makes the rendering engine of a compilation; see [Engines]. It must not be nil.
	Engine func(Scope) (*render.Engine, error)
	// Files returns the files of a compilation, with __env__ of pillar_roots replaced by env. nil
	// means the directories of the option pillar_roots, see Roots.
	Files func(env string) Files
	// Sources are the external pillars that ext_pillar may name; duplicate names are an error.
	Sources []Source
	// Own are the users' own external pillars: a module NAME with a function ext_pillar each. nil
	// means none. One whose file has the name of a source replaces it.
	Own *loader.Registry
	// Version is shown as saltversion by pillar_opts.
	Version string
	// Keep is the approximate memory limit, in bytes, for cached results of the files of
	// pillar_roots; see the package comment. 0 disables the cache. Otherwise Engine must be a
	// result of [Engines].
	Keep int
	Log  logrus.FieldLogger // nil logs nothing
}

// A Compiler compiles pillars. Several goroutines may use it.
type Compiler struct {
	Options
	sources   map[string]Source
	treeCache *treeCache
	memory    *memory // nil without Keep
}

// A Request identifies the minion and the environment of a pillar.
type Request struct {
	ID        string
	Grains    *data.Map // may be nil
	SaltEnv   string    // "" means the option saltenv
	PillarEnv string    // "" means the option pillarenv, and saltenv with pillarenv_from_saltenv
	Override  *data.Map // pillar= of a command line; may be nil
	// Known is the minion's present pillar, which its own templates and targets see; nil on a
	// master. With ssh_merge_pillar it is merged below the new one.
	Known *data.Map
	// Demand is an additional entry of ext_pillar that the minion requests, subject to
	// on_demand_ext_pillar.
	Demand *data.Map
	// ExtraMinionData is passed to external pillars (pass_to_ext_pillars of a minion).
	ExtraMinionData *data.Map
	// NoExternal leaves external pillars out.
	NoExternal bool
}

// New returns a compiler.
func New(o Options) (*Compiler, error) {
	if o.Opts == nil || o.Engine == nil {
		return nil, errors.New("make a pillar compiler: options and an engine are needed")
	}
	if o.Files == nil {
		o.Files = Roots(o.Opts)
	}
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	c := &Compiler{Options: o, sources: map[string]Source{}, treeCache: &treeCache{now: time.Now}}
	if o.Keep > 0 {
		c.memory = newMemory(o.Keep)
	}
	for _, s := range o.Sources {
		if _, twice := c.sources[s.Name()]; twice {
			return nil, fmt.Errorf("make a pillar compiler: two external pillars are named %s",
				s.Name())
		}
		c.sources[s.Name()] = s
	}
	return c, nil
}

// Compile returns the pillar of a minion. If there are errors in the sources, the key _errors lists
// them. The error is that of the engine's factory, of an unreadable file, or of ctx. The maps of
// the request are not changed, but the result may share parts of them.
func (c *Compiler) Compile(ctx context.Context, r Request) (*data.Map, error) {
	begin := time.Now()
	ctx, err := deeper(ctx)
	if err != nil {
		return nil, fmt.Errorf("compile the pillar of %s: %w", r.ID, err)
	}
	w, err := c.compilation(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("compile the pillar of %s: %w", r.ID, err)
	}
	pillar, err := w.compile(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("compile the pillar of %s: %w", r.ID, err)
	}
	c.Log.Debugf("Pillar of %s compiled in %s", r.ID, time.Since(begin))
	return pillar, nil
}

// maxNesting is the limit of nested compilations: a template may call a runner that compiles a
// pillar, even its own.
const maxNesting = 8

// depthKey is the context key of the number of enclosing compilations.
type depthKey struct{}

func depth(ctx context.Context) int {
	n, _ := ctx.Value(depthKey{}).(int)
	return n
}

// deeper returns the context of a nested compilation.
func deeper(ctx context.Context) (context.Context, error) {
	n := depth(ctx) + 1
	if n > maxNesting {
		return nil, fmt.Errorf("its templates compile pillars within one another, more than %d deep", maxNesting)
	}
	return context.WithValue(ctx, depthKey{}, n), nil
}
