package slsutil

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/render"
)

// lazyEngine returns a function that returns the engine of env and creates it at the first call.
func lazyEngine(env *loader.Env, b render.Brought) func() (*render.Engine, error) {
	return sync.OnceValues(func() (*render.Engine, error) {
		e, _, err := render.ForEnv(env, b)
		if err != nil {
			return nil, loader.Execution("slsutil: %w", err)
		}
		return e, nil
	})
}

type rendererArgs struct {
	Path            any       `default:"None"`
	String          any       `default:"None"`
	DefaultRenderer any       `default:"'jinja|yaml'"`
	Kwargs          *data.Map `kwargs:"kwargs"`
}

// renderer renders a file or a text and returns the resulting data or text. Further arguments are
// variables of the template.
//
// path
//
//	A URL that cp.get_url supports, such as salt://path/to/file, or the path of a file on the
//	minion.
//
// string
//
//	The text to render, if there is no path.
//
// default_renderer : jinja|yaml
//
//	The renderer pipe. A first line that begins with #! overrides it.
//
// saltenv : base
//
//	The environment of the files.
//
// context
//
//	A dictionary of further variables.
//
// CLI Example:
//
//	salt '*' slsutil.renderer salt://path/to/file
//	salt '*' slsutil.renderer /path/to/file.jinja default_renderer='jinja'
//	salt '*' slsutil.renderer string='Inline template! {{ saltenv }}'
//	salt '*' slsutil.renderer string='Hello, {{ name }}.' name='world'
func (m *module) renderer(ctx context.Context, a rendererArgs) (any, error) {
	if !data.Truth(a.Path) && !data.Truth(a.String) {
		return nil, loader.Invocation("Must pass either path or string")
	}
	in := render.Input{SaltEnv: "base", Vars: map[string]any{}}
	if err := a.settings(&in); err != nil {
		return nil, err
	}
	found, err := m.source(ctx, a, &in)
	if err != nil || !found || a.DefaultRenderer == nil && !named(in) {
		return data.NewMap(), err
	}
	e, err := m.engine()
	if err != nil {
		return nil, err
	}
	out, err := e.Render(ctx, in)
	var bad *render.Error
	if errors.As(err, &bad) {
		return nil, loader.Exception("salt.exceptions.SaltRenderError", "%w", err)
	}
	return out, err
}

// named reports whether a source names its own pipe.
func named(in render.Input) bool {
	_, ok := render.Shebang(in.Text, in.Path == "")
	return ok
}

// settings applies the arguments to the input of the renderer, including the variables.
func (a rendererArgs) settings(in *render.Input) error {
	in.Default = data.Str(a.DefaultRenderer)
	more, _ := a.Kwargs.Value("context").(*data.Map)
	if more != nil {
		in.Context = map[string]any{}
	}
	for _, to := range []struct {
		vars map[string]any
		from *data.Map
	}{{in.Vars, a.Kwargs}, {in.Context, more}} {
		for k, v := range to.from.All() {
			name, ok := k.(string)
			if !ok {
				return loader.TypeError("keywords must be strings")
			}
			switch name {
			case "context", "env", "input_data":
			case "saltenv":
				in.SaltEnv = data.Str(v)
			case "sls":
				in.SLS = data.Str(v)
			default:
				to.vars[name] = v
			}
		}
	}
	return nil
}

// source reads what to render. It returns false if the file does not exist or holds only white
// space.
func (m *module) source(ctx context.Context, a rendererArgs, in *render.Input) (bool, error) {
	if !data.Truth(a.Path) {
		text, ok := a.String.(string)
		if !ok {
			return false, loader.Exception("AttributeError", "'%s' object has no attribute 'split'",
				loader.TypeName(a.String))
		}
		if strings.TrimSpace(text) == "" {
			return false, loader.Exception("IndexError", "list index out of range")
		}
		in.Text = text
		return true, nil
	}
	path, err := calls.GetURL(ctx, m.env, a.Path, in.SaltEnv)
	if err != nil {
		return false, err
	}
	if path == "" {
		m.env.Log.Error("Template was specified incorrectly: False")
		return false, nil
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		m.env.Log.Errorf("Template does not exist: %s", path)
		return false, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return false, fmt.Errorf("read the template: %w", err)
	}
	in.Path, in.Text = path, string(text)
	return strings.TrimSpace(in.Text) != "", nil
}
