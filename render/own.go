package render

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// An own is a user's renderer: the function render of a plug-in of the kind renderers
// (salt/loader/__init__.py, render).
type own struct {
	name   string
	render loader.Binder
	over   bool // its file has the name of the renderer, so it replaces a built-in one
}

// own returns the user's renderer of a name, nil if there is none.
func (e *Engine) own(name string) *own {
	if e.users == nil || name == "" || strings.Contains(name, ".") {
		return nil
	}
	f, _ := e.users.Func(name + ".render")
	render, ok := f.(loader.Binder)
	if !ok { // Brine's own renderers are no functions of the registry
		return nil
	}
	return &own{name: name, render: render, over: e.users.Provider(name) == name}
}

// Reload makes the engine look for users' renderers again, whose files may have changed.
func (e *Engine) Reload() { e.users.Reload() }

// KeepsContext implements ContextRenderer.
func (o *own) KeepsContext() {}

// Name implements Renderer.
func (o *own) Name() string { return o.name }

// Render implements Renderer. The function gets the arguments of Salt's compile_template, and
// returns its result with whether that was a stream (brinehost/renderers.py).
func (o *own) Render(ctx context.Context, s *Step) (any, error) {
	Touch(ctx, "renderer "+o.name)
	path := s.Path
	if path == "" {
		path = ":string:"
	}
	_, isText := s.Data.(string)
	words := data.NewMap("tmplpath", path, "__stream__", isText && !s.bare)
	if s.Context != nil {
		words.Set("context", data.NewMap())
		for name, v := range s.Context {
			words.Value("context").(*data.Map).Set(name, v)
		}
	}
	for name, v := range s.Vars {
		words.Set(name, v)
	}
	if s.Argument != "" {
		words.Set("argline", s.Argument)
	}
	v, err := o.render.CallWith(ctx, []any{s.Data, s.SaltEnv, s.SLS}, words)
	if err != nil {
		return nil, Raised(err)
	}
	result, ok := v.(data.Tuple)
	if !ok || len(result) != 2 {
		return nil, Errorf("renderer %s returned %s", o.name, data.Repr(v))
	}
	s.bare = result[1] != true
	return result[0], nil
}
