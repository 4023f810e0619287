// Package py is the renderer py: files whose function run returns the result (salt/renderers/py.py;
// salt/utils/templates.py, py). It also renders what Python asks for, see [Rendering].
package py

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/python"
	"github.com/brineproject/brine/render"
)

// Renderer runs a file in the Python of a host. The file itself is run, whatever renderers stand
// before this one in the pipe. It finds __salt__, __grains__, __pillar__ and __opts__, also without
// their underscores, and saltenv. An SLS finds sls and its variables as well; a file template finds
// the arguments of its state, such as name, and context, which has its variables.
type Renderer struct {
	host      *python.Host
	rendering Rendering
}

// New returns a renderer that uses a host. What its files ask renderers for is performed by r.
func New(host *python.Host, r Rendering) Renderer { return Renderer{host, r} }

var _ render.ContextRenderer = Renderer{}

// Name implements render.Renderer.
func (Renderer) Name() string { return "py" }

// KeepsContext implements render.ContextRenderer.
func (Renderer) KeepsContext() {}

// Render implements render.Renderer.
func (r Renderer) Render(ctx context.Context, s *render.Step) (any, error) {
	render.Touch(ctx, "the renderer py")
	script := python.Script{Path: s.Path, Names: names(s), Function: "run"}
	if s.Path == "" {
		text, err := s.Text()
		if err != nil {
			return nil, err
		}
		script.Text = text
	}
	files := r.host.Files("modules", s.Engine.Env(), nil)
	files.Rendering = r.rendering
	v, err := files.Execute(ctx, script)
	if failed, ok := errors.AsType[*python.ScriptError](err); ok {
		return nil, &render.Error{Message: failed.Traceback, Err: err}
	}
	return v, render.Raised(err)
}

// names returns the variables of a file.
func names(s *render.Step) *data.Map {
	m := data.NewMap()
	for name, v := range s.Vars {
		m.Set(name, v)
	}
	if s.File || s.Context != nil {
		vars := data.NewMap()
		for name, v := range s.Context {
			vars.Set(name, v)
		}
		m.Set("context", vars)
	}
	m.Update(data.NewMap("saltenv", s.SaltEnv, "__env__", s.SaltEnv))
	if s.File {
		return m
	}
	if s.Argument != "" {
		m.Set("argline", s.Argument)
	}
	m.Update(data.NewMap("sls", s.SLS, "__sls__", s.SLS))
	return m
}
