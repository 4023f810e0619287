package pillar

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/render"
)

// A Scope is what the templates of one compilation see.
type Scope struct {
	Opts   *data.Map // options, with the id and the environments of the minion
	Grains *data.Map // never nil
	Pillar *data.Map // what is there before the first SLS renders; never nil
	Files  Files     // the files of pillar_roots
}

// Options are what a Compiler is made of.
type Options struct {
	// Opts are the options of the master, or of a minion without one. It must not be nil.
	Opts *data.Map
	// Engine makes the engine that renders for one compilation; see [Engines]. It must not be nil.
	Engine func(Scope) (*render.Engine, error)
	// Files returns the files of a compilation, where __env__ of pillar_roots stands for env; nil takes the directories of
	// the option pillar_roots, see Roots.
	Files func(env string) Files
	// Sources are the external pillars that ext_pillar may name; two of one name are an error.
	Sources []Source
	// Version is saltversion in what pillar_opts shows.
	Version string
	// Keep is how many bytes of memory, about, may hold what the files of pillar_roots gave minions, so that it need not be compiled
	// again; see the package comment. 0 keeps nothing. With more, Engine must be of [Engines].
	Keep int
	Log  logrus.FieldLogger // nil logs nothing
}

// A Compiler compiles pillars. Several goroutines may use it.
type Compiler struct {
	Options
	sources map[string]Source
	forest  *forest
	memory  *memory // nil without Keep
}

// A Request says whose pillar is asked for.
type Request struct {
	ID        string
	Grains    *data.Map // may be nil
	SaltEnv   string    // "" is the option saltenv
	PillarEnv string    // "" is the option pillarenv, and saltenv with pillarenv_from_saltenv
	Override  *data.Map // pillar= of a command line; nil has none
	// Known is the pillar that a minion has already, which its own templates and targets see; nil on a master. With
	// ssh_merge_pillar it is merged below the new one.
	Known *data.Map
	// Demand is an entry of ext_pillar that a minion asks for beside those of the options, as on_demand_ext_pillar allows.
	Demand *data.Map
	// ExtraMinionData is handed to external pillars (pass_to_ext_pillars of a minion).
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
	c := &Compiler{Options: o, sources: map[string]Source{}, forest: &forest{now: time.Now}}
	if o.Keep > 0 {
		c.memory = newMemory(o.Keep)
	}
	for _, s := range o.Sources {
		if _, twice := c.sources[s.Name()]; twice {
			return nil, fmt.Errorf("make a pillar compiler: two external pillars are named %s", s.Name())
		}
		c.sources[s.Name()] = s
	}
	return c, nil
}

// Compile returns the pillar of a minion. Its list _errors, when it is there, says what is wrong with the sources. The
// error is that of the engine's factory, of a file that cannot be read, or of ctx. The maps of the request are not
// changed, and parts of them may be in the result.
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

// mostNested is how deep pillars may be compiled within one another: a template may have a runner compile one, be it its own.
const mostNested = 8

// depthKey is the key of how many compilations a context is within.
type depthKey struct{}

func depth(ctx context.Context) int {
	n, _ := ctx.Value(depthKey{}).(int)
	return n
}

// deeper returns the context of a compilation.
func deeper(ctx context.Context) (context.Context, error) {
	n := depth(ctx) + 1
	if n > mostNested {
		return nil, fmt.Errorf("its templates compile pillars within one another, more than %d deep", mostNested)
	}
	return context.WithValue(ctx, depthKey{}, n), nil
}
