package py

import (
	"context"
	"errors"
	"os"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/python"
	"github.com/brineproject/brine/render"
)

// Rendering renders what plug-ins in Python ask for: a renderer of a user that calls others, and
// salt.template. During a rendering it uses the engine of that.
type Rendering struct{ Brought render.Brought }

var _ python.Rendering = Rendering{}

// engine returns the engine for a call: that of the rendering under way, or a new one. A host
// without a file server has no files to import.
func (r Rendering) engine(ctx context.Context, env *loader.Env) (*render.Engine, error) {
	if e := render.EngineOf(ctx); e != nil {
		return e, nil
	}
	e, _, err := render.ForEnv(env, r.Brought)
	if errors.Is(err, fileclient.ErrNoMaster) || errors.Is(err, fileclient.ErrNoLocal) {
		return render.New(render.Options{Env: env, Renderers: r.Brought.Renderers})
	}
	return e, err
}

// Has implements python.Rendering.
func (r Rendering) Has(ctx context.Context, env *loader.Env, name string) bool {
	e, err := r.engine(ctx, env)
	if err != nil {
		return false
	}
	_, ok := e.Renderer(name)
	return ok
}

// Render implements python.Rendering.
func (r Rendering) Render(ctx context.Context, env *loader.Env, src python.Source) (any, error) {
	e, err := r.engine(ctx, env)
	if err != nil {
		return nil, err
	}
	in := render.Input{Path: src.Path, SaltEnv: src.SaltEnv, SLS: src.SLS, Default: src.Pipe,
		Vars: map[string]any{}}
	for name, v := range src.Vars.All() {
		in.Vars[data.Str(name)] = v
	}
	v := src.Value
	if v == nil {
		text, err := os.ReadFile(src.Path)
		if err != nil {
			return nil, loader.OSError(err)
		}
		v = string(text)
	}
	in.Text, _ = v.(string)
	out, err := e.RenderData(ctx, v, in)
	if bad, ok := errors.AsType[*render.Error](err); ok {
		return nil, loader.Exception("salt.exceptions.SaltRenderError", "%w", bad)
	}
	return out, err
}
