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
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/version"
)

// Limits on the compilation of pillars.
const (
	pillarLimit       = 5 * time.Minute // for one pillar; a minion whose wait ends asks again
	maxWaitingPillars = 20_000          // waiting requests
	pillarsKept       = 64 << 20        // bytes of cached SLS results; see pillar.Options.Keep
	pillarsAtOnce     = 2               // per CPU
)

// Errors of requests that exceed the limits.
var (
	errPillarQueue    = errors.New("too many minions wait for their pillar")
	errOwnPillarQueue = errors.New("the minion waits for its pillar too many times already")
)

// A pillarCompiler compiles a limited number of pillars at once, outside the workers that answer
// requests. A compilation that hangs in a file system or an external source keeps its slot, and
// delays no other request.
type pillarCompiler struct {
	settings *settings
	make     func(opts *data.Map) (*pillar.Compiler, error)
	own      *ownCode
	turns    *turns
	slots    chan struct{}
	waiting  atomic.Int32
	current  atomic.Pointer[pillarGeneration]
	log      logrus.FieldLogger
}

// A pillarGeneration is the state of a pillarCompiler under one set of options.
type pillarGeneration struct {
	compiler *pillar.Compiler
	saved    *pillar.Saved // pillar_cache; nil if it is off
}

func newPillarCompiler(
	s *settings, own *ownCode, compiler func(opts *data.Map) (*pillar.Compiler, error),
	log logrus.FieldLogger,
) (*pillarCompiler, error) {
	k := &pillarCompiler{
		settings: s,
		own:      own,
		make:     compiler,
		turns:    newTurns(),
		slots:    make(chan struct{}, pillarsAtOnce*runtime.GOMAXPROCS(0)),
		log:      log,
	}
	return k, k.renew()
}

// renew applies the current options.
func (k *pillarCompiler) renew() error {
	opts := k.settings.saltOptions()
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
	k.current.Store(b)
	return nil
}

// Clear drops the entries of a minion in pillar_cache.
func (k *pillarCompiler) Clear(id string) error { return k.current.Load().saved.Clear(id) }

// prune drops the entries in pillar_cache of minions for which keep returns false.
func (k *pillarCompiler) prune(keep func(id string) bool) error {
	return k.current.Load().saved.Prune(keep)
}

// serve returns the pillar of a minion. It looks in pillar_cache first, and stores a pillar without
// errors there if trusted is set. The error is the compiler's, or reports a timeout; the minion
// keeps its old pillar then. source is the name under which the request counts against limits.
func (k *pillarCompiler) serve(
	ctx context.Context, r pillar.Request, source string, trusted bool,
) (*data.Map, error) {
	b := k.current.Load()
	cached := b.saved != nil && r.Override.Len() == 0 && r.Demand.Len() == 0
	if cached {
		if p, ok := b.saved.Get(r.ID, r.PillarEnv); ok {
			return p, nil
		}
	}
	p, err := k.compile(ctx, r, source)
	if err == nil && cached && trusted && !p.Has("_errors") {
		if err := b.saved.Put(r.ID, r.PillarEnv, p); err != nil {
			k.log.WithError(err).Errorf("store the pillar of %s in pillar_cache", r.ID)
		}
	}
	return p, err
}

// Compile compiles a pillar for the operator. It waits for a slot, but for no source's turn.
func (k *pillarCompiler) Compile(ctx context.Context, r pillar.Request) (*data.Map, error) {
	return k.compile(ctx, r, "")
}

func (k *pillarCompiler) compile(
	ctx context.Context, r pillar.Request, source string,
) (*data.Map, error) {
	var p *data.Map
	err := k.run(ctx, r.ID, source, func(ctx context.Context) (err error) {
		p, err = k.current.Load().compiler.Compile(ctx, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Top returns the merged top files of pillar; see pillar.Compiler.
func (k *pillarCompiler) Top(ctx context.Context, r pillar.Request) (*data.Map, []any, error) {
	var top *data.Map
	var wrong []any
	err := k.run(ctx, r.ID, "", func(ctx context.Context) (err error) {
		top, wrong, err = k.current.Load().compiler.Top(ctx, r)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return top, wrong, nil
}

// Saved returns pillar_cache.
func (k *pillarCompiler) Saved() (*pillar.Saved, error) { return k.current.Load().saved, nil }

// slotKey marks the context of work that holds a slot.
type slotKey struct{}

// run calls do in a slot, after waiting for the turn of source unless that is "". If run returns an
// error, do may still be running, and what it sets must not be read.
func (k *pillarCompiler) run(
	ctx context.Context, id, source string, do func(context.Context) error,
) error {
	// called from a template of a pillar, which holds a slot already
	if ctx.Value(slotKey{}) != nil {
		ctx, end := k.own.begin(ctx)
		defer end()
		return do(ctx)
	}
	if k.waiting.Add(1) > maxWaitingPillars {
		k.waiting.Add(-1)
		return errPillarQueue
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pillarLimit,
		fmt.Errorf("the pillar of %s was not compiled within %s", id, pillarLimit))
	defer cancel()
	leave, err := k.enter(ctx, source)
	k.waiting.Add(-1)
	if err != nil {
		return err
	}
	ctx = context.WithValue(ctx, slotKey{}, true)
	done := make(chan outcome, 1)
	go func() {
		defer leave()
		ctx, end := k.own.begin(ctx)
		defer end()
		done <- recovered(ctx, func(ctx context.Context) (any, error) { return nil, do(ctx) })
	}()
	select {
	case out := <-done:
		return out.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter waits for the turn of a source and for a slot. leave releases both.
func (k *pillarCompiler) enter(ctx context.Context, source string) (leave func(), err error) {
	release := func() {}
	if source != "" {
		if release, err = k.turns.take(ctx, source); err != nil {
			return nil, err
		}
	}
	select {
	case k.slots <- struct{}{}:
		return func() { <-k.slots; release() }, nil
	case <-ctx.Done():
		release()
		return nil, context.Cause(ctx)
	}
}

// newPillars makes the part that compiles pillars, with the given external pillars; nil means those
// of package pillar.
func newPillars(
	b base, f functions, sources []pillar.Source, own *ownCode,
) (*pillarCompiler, error) {
	env := loader.Env{Log: b.log, Registries: f.shelves, Host: loader.Host{FireMaster: b.fire}}
	modules, err := loader.NewRegistry(&env, f.plugins)
	if err != nil {
		return nil, fmt.Errorf("functions of pillars: %w", err)
	}
	own.extend(modules, "modules", f.plugins)
	about := *modules.Env()
	about.Opts = b.settings.saltOptions() // while a file is loaded
	users := own.add("pillar", &about)
	f.shelves["renderers"] = own.add("renderers", &about)
	engines := pillar.EnginesOf(env, modules, f.render.Renderers)
	if sources == nil {
		sources = pillar.Sources()
	}
	return newPillarCompiler(b.settings, own, func(opts *data.Map) (*pillar.Compiler, error) {
		return pillar.New(pillar.Options{Opts: opts, Engine: engines, Sources: sources, Own: users,
			Version: version.Salt(), Keep: pillarsKept, Log: b.log})
	}, b.log)
}
