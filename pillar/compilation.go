package pillar

import (
	"context"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/render"
)

// A compilation is the state of one request.
type compilation struct {
	*Compiler
	Request
	opts      *data.Map
	saltenv   string
	pillarenv string
	files     Files
	engine    *render.Engine
	available map[string][]string // names of SLS by environment
	ignored   map[string][]string // SLS that may be missing, by environment
	present   *data.Map           // the pillar that templates see
	// the override, which sources are merged over; empty with decrypt_pillar, see lay
	below     *data.Map
	errors    []any
	topErrors []any
}

func (c *Compiler) compilation(ctx context.Context, r Request) (*compilation, error) {
	w := &compilation{Compiler: c, Request: r, available: map[string][]string{},
		ignored: map[string][]string{}}
	w.saltenv = firstText(r.SaltEnv, c.Opts.Text("saltenv"))
	w.pillarenv = firstText(r.PillarEnv, c.Opts.Text("pillarenv"))
	if r.PillarEnv == "" && data.Truth(c.Opts.Value("pillarenv_from_saltenv")) {
		w.pillarenv = w.saltenv
	}
	if w.Grains == nil {
		w.Grains = data.NewMap()
	}
	if w.Override == nil {
		w.Override = data.NewMap()
	}
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	w.opts = w.options()
	w.present = r.Known
	w.below = w.Override
	if data.Truth(w.opts.Value("decrypt_pillar")) {
		w.below = data.NewMap()
	}
	return w, w.renew()
}

// open opens the files. For directories it lists them once, so that the compilation sees one state.
func (w *compilation) open(ctx context.Context) error {
	w.files = w.Compiler.Files(w.environment())
	if f, ok := w.files.(folders); ok {
		t, err := w.treeCache.tree(ctx, w.environment(), f)
		if err != nil {
			return err
		}
		w.files = &watched{folders: f, tree: t, asked: map[place]bool{}}
	}
	return nil
}

// environment returns the replacement of __env__.
func (w *compilation) environment() string { return firstText(w.pillarenv, w.saltenv, "base") }

// options returns the options for templates and external pillars (Pillar.__gen_opts).
func (w *compilation) options() *data.Map {
	opts := w.Opts.Clone()
	opts.Set("file_client", "local")
	opts.Set("grains", w.Grains)
	opts.Set("id", w.ID)
	opts.Set("minion_id", w.ID)
	opts.Set("saltenv", textOrNil(w.saltenv))
	opts.Set("pillarenv", textOrNil(w.pillarenv))
	if roots := rootsFor(opts, w.environment()); roots != nil {
		opts.Set("pillar_roots", roots)
	}
	return opts
}

// renew makes an engine whose templates see the present pillar.
func (w *compilation) renew() error {
	if w.present == nil {
		w.present = data.NewMap()
	}
	e, err := w.Engine(Scope{Opts: w.opts, Grains: w.Grains, Pillar: w.present, Files: w.files})
	w.engine = e
	return err
}

func (w *compilation) compile(ctx context.Context) (*data.Map, error) {
	if err := w.list(ctx); err != nil {
		return nil, err
	}
	pillar, err := w.tree(ctx)
	if err != nil {
		return nil, err
	}
	w.errors = append(w.errors, w.topErrors...)
	w.showOptions(pillar)
	if w.Known != nil && data.Truth(w.opts.Value("ssh_merge_pillar")) {
		pillar = w.merge(w.present, pillar)
	}
	if len(w.errors) > 0 {
		pillar = pillar.Clone()
		pillar.Set("_errors", slices.Clone(w.errors))
	}
	pillar, err = w.decrypt(ctx, pillar)
	return w.applyOverride(pillar), err
}

// applyOverride merges the override over a pillar. The requester chose the override, so it is
// merged after decryption: the master only decrypts values of its own sources. Salt decrypts last,
// and so decrypts any text for any minion (salt/pillar/__init__.py, Pillar.compile_pillar).
func (w *compilation) applyOverride(pillar *data.Map) *data.Map {
	if w.Override.Len() == 0 {
		return pillar
	}
	merged := w.merge(pillar, w.Override)
	if w.below.Len() > 0 {
		return merged
	}
	out := data.NewMap() // as in Salt the keys of the override come first
	for _, m := range []*data.Map{w.Override, merged} {
		for key := range m.All() {
			if value, ok := merged.Get(key); ok {
				out.Set(key, value)
			}
		}
	}
	return out
}

// tree returns the pillar of the top files with external pillars.
func (w *compilation) tree(ctx context.Context) (*data.Map, error) {
	if !w.NoExternal && data.Truth(w.opts.Value("ext_pillar_first")) {
		top := w.targets(ctx)
		first := w.external(ctx, w.below)
		w.present = w.applyOverride(first)
		if err := w.renew(); err != nil {
			return nil, err
		}
		return w.merge(first, w.states(ctx, w.matches(ctx, top))), nil
	}
	pillar := w.cachedResult(ctx, func(ctx context.Context) *data.Map { return w.states(ctx, w.matches(ctx, w.targets(ctx))) })
	if !w.NoExternal {
		pillar = w.external(ctx, pillar)
	}
	return pillar.Clone(), nil
}

// targets returns those of the top files.
func (w *compilation) targets(ctx context.Context) *data.Map {
	top, errs := w.top(ctx)
	w.topErrors = errs
	return top
}

// showOptions adds the options without grains under the key master if pillar_opts is set.
func (w *compilation) showOptions(pillar *data.Map) {
	if !data.Truth(w.opts.Value("pillar_opts")) {
		return
	}
	shown := w.opts.Clone()
	shown.Delete("grains")
	shown.Set("saltversion", w.Version)
	pillar.Set("master", shown)
}

// list finds the names of all SLS (FSClient.list_states).
func (w *compilation) list(ctx context.Context) error {
	for _, env := range w.environments() {
		names, err := w.files.List(ctx, env)
		if err != nil {
			return err
		}
		w.available[env] = slsNames(names)
	}
	return nil
}

// environments returns base and the environments of the files, in order.
func (w *compilation) environments() []string {
	envs := []string{"base"}
	for _, env := range w.files.Envs() {
		if !slices.Contains(envs, env) {
			envs = append(envs, env)
		}
	}
	return envs
}

func (w *compilation) strategy() string {
	return firstText(w.opts.Text("pillar_source_merging_strategy"), "smart")
}

func (w *compilation) merge(a, b *data.Map) *data.Map {
	return merge(a, b, strategyOf(w.strategy(), w.opts.Text("renderer")),
		data.Truth(w.opts.Value("pillar_merge_lists")))
}

// fail records an error for the minion.
func (w *compilation) fail(text string) {
	logging.Print(w.Log, logging.Critical, "Pillar render error: "+text)
	w.errors = append(w.errors, text)
}

func (w *compilation) minion() *match.Minion {
	return &match.Minion{ID: w.ID, Grains: w.Grains, Pillar: w.present}
}

// timed logs the duration of a source.
func (w *compilation) timed(kind, name string, begin time.Time) {
	w.Log.Debugf("Pillar of %s: %s %s took %s", w.ID, kind, name, time.Since(begin))
}

func firstText(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
