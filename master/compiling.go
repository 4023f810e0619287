package master

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/version"
)

// Bounds of the compilation of pillars.
const (
	pillarLimit   = 5 * time.Minute // for one; a minion that waits no longer asks again
	mostWaiting   = 20_000          // requests that wait for their turn
	pillarsKept   = 64 << 20        // bytes of what SLS gave; see pillar.Options.Keep
	pillarsAtOnce = 2               // for each CPU
)

// Errors of requests that are too many.
var (
	errPillarLine    = errors.New("too many minions wait for their pillar")
	errOwnPillarLine = errors.New("the minion waits for its pillar too many times already")
)

// A pillarCompiler compiles pillars, some at once and no more, aside of the workers that answer requests. What hangs in a file system or
// in an external source holds its place there, and nobody else's request up.
type pillarCompiler struct {
	settings *settings
	make     func(opts *data.Map) (*pillar.Compiler, error)
	turns    *turns
	places   chan struct{}
	waiting  atomic.Int32
	now      atomic.Pointer[pillarGeneration]
	log      logrus.FieldLogger
}

// A pillarGeneration is what one set of options makes of a pillarCompiler.
type pillarGeneration struct {
	compiler *pillar.Compiler
	saved    *pillar.Saved // pillar_cache; nil where it is off
}

func newPillarCompiler(s *settings, compiler func(opts *data.Map) (*pillar.Compiler, error), log logrus.FieldLogger) (*pillarCompiler, error) {
	k := &pillarCompiler{settings: s, make: compiler, turns: newTurns(), places: make(chan struct{}, pillarsAtOnce*runtime.GOMAXPROCS(0)), log: log}
	return k, k.renew()
}

// renew takes the options of now.
func (k *pillarCompiler) renew() error {
	opts := k.settings.all()
	c, err := k.make(opts)
	if err != nil {
		return err
	}
	b := &pillarGeneration{compiler: c}
	if data.Truth(opts.Value("pillar_cache")) {
		if b.saved, err = pillar.OpenSaved(opts); err != nil {
			return err
		}
	}
	k.now.Store(b)
	return nil
}

// Clear drops what pillar_cache has of a minion.
func (k *pillarCompiler) Clear(id string) error { return k.now.Load().saved.Clear(id) }

// prune drops what pillar_cache has of the minions that keep does not name.
func (k *pillarCompiler) prune(keep func(id string) bool) error {
	return k.now.Load().saved.Prune(keep)
}

// serve returns the pillar of a minion. With believed, pillar_cache may have it and gets it, unless it has errors. The error is that of the compiler, or
// says that nothing came within the limit; the pillar that a minion has stays then.
func (k *pillarCompiler) serve(ctx context.Context, r pillar.Request, source string, believed bool) (*data.Map, error) {
	b := k.now.Load()
	cached := b.saved != nil && r.Override.Len() == 0 && r.Demand.Len() == 0
	if cached {
		if p, ok := b.saved.Get(r.ID, r.PillarEnv); ok {
			return p, nil
		}
	}
	p, err := k.compile(ctx, r, source)
	if err == nil && cached && believed && !p.Has("_errors") {
		if err := b.saved.Put(r.ID, r.PillarEnv, p); err != nil {
			k.log.WithError(err).Errorf("the pillar of %s is not kept", r.ID)
		}
	}
	return p, err
}

// Compile waits for a place and compiles there. It is for the operator, who waits for nobody's turn.
func (k *pillarCompiler) Compile(ctx context.Context, r pillar.Request) (*data.Map, error) {
	return k.compile(ctx, r, "")
}

func (k *pillarCompiler) compile(ctx context.Context, r pillar.Request, source string) (*data.Map, error) {
	var p *data.Map
	err := k.within(ctx, r.ID, source, func(ctx context.Context) (err error) {
		p, err = k.now.Load().compiler.Compile(ctx, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Top returns the top files of pillar; see pillar.Compiler.
func (k *pillarCompiler) Top(ctx context.Context, r pillar.Request) (*data.Map, []any, error) {
	var top *data.Map
	var wrong []any
	err := k.within(ctx, r.ID, "", func(ctx context.Context) (err error) {
		top, wrong, err = k.now.Load().compiler.Top(ctx, r)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return top, wrong, nil
}

// Saved returns pillar_cache.
func (k *pillarCompiler) Saved() (*pillar.Saved, error) { return k.now.Load().saved, nil }

// placeKey is in the context of what has a place.
type placeKey struct{}

// within waits for the turn of a source, unless that is "", and for a place, and does there what takes long. What do sets may be
// read only when there is no error: it may be at work yet when there is one.
func (k *pillarCompiler) within(ctx context.Context, id, source string, do func(context.Context) error) error {
	if ctx.Value(placeKey{}) != nil { // a template has a runner compile a pillar: it has a place
		return do(ctx)
	}
	if k.waiting.Add(1) > mostWaiting {
		k.waiting.Add(-1)
		return errPillarLine
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pillarLimit, fmt.Errorf("the pillar of %s was not compiled within %s", id, pillarLimit))
	defer cancel()
	leave, err := k.enter(ctx, source)
	k.waiting.Add(-1)
	if err != nil {
		return err
	}
	ctx = context.WithValue(ctx, placeKey{}, true)
	done := make(chan outcome, 1)
	go func() {
		defer leave()
		done <- guarded(ctx, func(ctx context.Context) (any, error) { return nil, do(ctx) })
	}()
	select {
	case out := <-done:
		return out.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter waits for the turn of a source and for a place.
func (k *pillarCompiler) enter(ctx context.Context, source string) (leave func(), err error) {
	give := func() {}
	if source != "" {
		if give, err = k.turns.take(ctx, source); err != nil {
			return nil, err
		}
	}
	select {
	case k.places <- struct{}{}:
		return func() { <-k.places; give() }, nil
	case <-ctx.Done():
		give()
		return nil, context.Cause(ctx)
	}
}

// lent is what functions and templates of the master render with: their files come from the master's own file server.
func (p *parts) lent() render.Brought {
	b := p.o.Render
	b.Files.Local = func(*loader.Env) (fileclient.Source, error) { return fileclient.Local(p.files), nil }
	return b
}

// openPillarCompiler makes the part that compiles pillars.
func (p *parts) openPillarCompiler() error {
	lent := p.lent()
	if p.o.Modules != nil {
		p.plugins = p.o.Modules(lent)
	}
	env := loader.Env{Log: p.o.Log, Shelves: p.shelves}
	env.Host.FireMaster = func(_ context.Context, tag string, body *data.Map) error { return p.bus.Fire(tag, body) }
	engines := pillar.Engines(env, p.plugins, lent.Renderers)
	var err error
	sources := p.o.Sources
	if sources == nil {
		sources = pillar.Sources()
	}
	p.compiler, err = newPillarCompiler(p.settings, func(opts *data.Map) (*pillar.Compiler, error) {
		return pillar.New(pillar.Options{Opts: opts, Engine: engines, Sources: sources,
			Version: version.Salt(), Keep: pillarsKept, Log: p.o.Log})
	}, p.o.Log)
	return err
}
