package python

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Rendering performs what Python asks of renderers.
type Rendering interface {
	// Has reports whether there is a renderer of a name.
	Has(ctx context.Context, env *loader.Env, name string) bool
	// Render returns the result of a pipe of renderers.
	Render(ctx context.Context, env *loader.Env, in Source) (any, error)
}

// A Source is what Python wants to have rendered.
type Source struct {
	Pipe    string    // such as jinja|yaml
	Value   any       // text, or data for a renderer of data; nil means the file at Path
	Path    string    // on this host; "" for a text without a file
	SaltEnv string    // environment of the files that it may import
	SLS     string    // name of the SLS; "" if it is none
	Vars    *data.Map // variables of the template
}

// hasRenderer reports whether there is a renderer of a name.
func (f *Files) hasRenderer(ctx context.Context, args arguments) (any, error) {
	return f.Rendering != nil && f.Rendering.Has(ctx, f.env, args.text(0)), nil
}

// render returns the result of a pipe of renderers.
func (f *Files) render(ctx context.Context, args arguments) (any, error) {
	if f.Rendering == nil {
		return nil, &unableError{"render templates"}
	}
	return f.Rendering.Render(ctx, f.env, Source{Pipe: args.text(0), Value: args[1],
		Path: args.text(2), SaltEnv: args.text(3), SLS: args.text(4), Vars: args.dictionary(5)})
}
