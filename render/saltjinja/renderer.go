package saltjinja

import (
	"context"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/render"
)

// A Renderer renders Jinja as Salt does. It is safe for concurrent use, also by several engines.
type Renderer struct {
	cache *jinja.Cache

	mu   sync.Mutex
	envs map[settings]*jinja.Environment
}

// New returns the renderer jinja. All its users share its cache of parsed templates.
func New() *Renderer {
	return &Renderer{cache: jinja.NewCache(4096, 64<<20), envs: map[settings]*jinja.Environment{}}
}

// Name implements render.Renderer.
func (*Renderer) Name() string { return "jinja" }

// Render implements render.Renderer: it returns text.
func (r *Renderer) Render(ctx context.Context, s *render.Step) (any, error) {
	if s.Argument != "" && s.Argument != "-s" {
		return nil, render.Errorf("Unknown renderer option: %s", s.Argument)
	}
	source, err := s.Text()
	if err != nil {
		return nil, err
	}
	st := newState(s)
	env, err := r.environment(st.settings())
	if err != nil {
		return nil, render.Errorf("options of Jinja: %w", err)
	}
	out, err := st.render(ctx, env, source)
	if err != nil {
		err = st.explain(err, source)
		if log := s.Engine.Env().Log; log != nil && ctx.Err() == nil {
			what, _, _ := strings.Cut(render.Brief(err), "\n")
			log.Errorf("Rendering exception occurred: %s", what) // as salt/utils/templates.py
		}
		return nil, err
	}
	if strings.HasSuffix(source, "\n") {
		out += "\n"
	}
	return out, nil
}

// mainTemplate is the name of a source that is not a template of the file server.
const mainTemplate = "<template>"

func (st *state) render(
	ctx context.Context, env *jinja.Environment, source string,
) (string, error) {
	t, err := env.Parse(mainTemplate, source)
	if err != nil {
		return "", err
	}
	ctx = context.WithValue(ctx, stateKey{}, st)
	ctx = context.WithValue(ctx, jinja.DictNames{}, jinja.DictNamer(st.dictName))
	names, globals := st.names()
	ctx = withRandomHook(ctx)
	return t.RenderWith(ctx, names, globals)
}

// environment returns the environment for these settings. There are few: those of the minions that
// share r.
func (r *Renderer) environment(o settings) (*jinja.Environment, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if env := r.envs[o]; env != nil {
		return env, nil
	}
	env, err := jinja.New(jinja.Options{
		Syntax: o.syntax, Undefined: o.undefined, Finalize: finalize, Loader: saltLoader{},
		Cache: r.cache, Filters: reportUse(filters()), Tests: tests(), Globals: globals(),
		Tags: tags(),
	})
	if err == nil && len(r.envs) < 64 {
		r.envs[o] = env
	}
	return env, err
}

// finalize does what Salt does to values before they are printed: it rebuilds lists and dicts,
// which fails for the tuples of groupby (SerializerExtension.finalizer).
func finalize(v any) (any, error) { return v, finalizeAt(v, 0) }

func finalizeAt(v any, depth int) error {
	if depth > 500 {
		return nil // printing it will fail
	}
	var items []any
	switch v := v.(type) {
	case *jinja.List:
		items = v.Items
	case data.Tuple:
		items = v
	case *data.Map:
		for _, item := range v.All() {
			if err := finalizeAt(item, depth+1); err != nil {
				return err
			}
		}
	case jinja.Namer:
		if jinja.TypeName(v) == "_GroupTuple" {
			return jinja.Raise(jinja.TypeError,
				"_GroupTuple.__new__() missing 1 required positional argument: 'list'")
		}
	}
	for _, item := range items {
		if err := finalizeAt(item, depth+1); err != nil {
			return err
		}
	}
	return nil
}
