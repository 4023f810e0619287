package cp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/render/template"
)

// names renders a URL and a destination if a template engine is requested.
func (m *module) names(ctx context.Context, n names) (names, error) {
	if !data.Truth(n.engine) {
		return n, nil
	}
	engine := data.Str(n.engine)
	if !template.IsEngine(engine) {
		return n, loader.Execution("Attempted to render file paths with unavailable engine %s",
			engine)
	}
	e, _, err := m.parts()
	if err != nil {
		return n, err
	}
	vars, err := m.variables(ctx, n.kwargs)
	if err != nil {
		return n, err
	}
	for _, text := range []*string{&n.path, &n.dest} {
		*text, err = e.Template(ctx, engine,
			render.Input{Text: *text, SaltEnv: m.saltenv(n.saltenv), Vars: vars})
		if err != nil {
			return n, renderError(err)
		}
	}
	return n, nil
}

// A names is a URL and a destination, with the arguments that control how they are rendered.
type names struct {
	path, dest      string
	saltenv, engine any
	kwargs          *data.Map
}

// variables returns the pillar for rendering file names, if a call has its own pillar or names the
// pillar's environment.
func (m *module) variables(ctx context.Context, kwargs *data.Map) (map[string]any, error) {
	if !kwargs.Has("pillar") && !kwargs.Has("pillarenv") {
		return nil, nil
	}
	over, _ := kwargs.Value("pillar").(*data.Map)
	if m.env.Functions.Has("pillar.items") {
		v, err := calls.PillarItems(ctx, m.env, over, kwargs.Value("pillarenv"))
		return map[string]any{"pillar": v}, err
	}
	if over == nil {
		return nil, nil
	}
	return map[string]any{"pillar": pillar.Override(m.env.PillarNow(), over, m.env.Opts)}, nil
}

type getTemplateArgs struct {
	Path     string
	Dest     any
	Template string    `default:"'jinja'"`
	Saltenv  any       `default:"None"`
	Makedirs bool      `default:"False"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// getTemplate renders a file of the file server and writes the result to a file on the minion that
// only the minion's user can read. It returns the path of that file. It returns an empty string if
// there is no such file or engine, or if the directory of the destination is missing. Further
// arguments are variables of the template.
//
// dest
//
//	The file; an empty string means a path in the minion's cache.
//
// template : jinja
//
//	The template engine.
//
// makedirs : False
//
//	Create the directory of the destination.
//
// CLI Example:
//
//	salt '*' cp.get_template salt://path/to/template /minion/dest
func (m *module) getTemplate(ctx context.Context, a getTemplateArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	env := m.saltenv(a.Saltenv)
	file, err := c.CacheFile(ctx, a.Path, env, fileclient.Fetch{})
	switch {
	case missing(err):
		return "", nil
	case err != nil:
		return nil, saltError(err)
	case !template.IsEngine(a.Template):
		m.env.Log.Errorf("Attempted to render template with unavailable engine %s", a.Template)
		return "", nil
	}
	out, err := m.rendered(ctx, file, env, a)
	if err != nil {
		return nil, err
	}
	dest, makedirs := data.Str(a.Dest), a.Makedirs
	if !data.Truth(a.Dest) {
		_, rest, isURL := strings.Cut(a.Path, "://")
		if !isURL {
			rest = "/" + strings.TrimLeft(a.Path, "/") // a path on the minion has no host
		}
		// the cache path for files of web servers
		if dest, err = c.CacheDest("http://"+rest, env); err != nil {
			return nil, saltError(err)
		}
		makedirs = true
	}
	return m.writeRendered(dest, out, makedirs)
}

// rendered returns the rendered template.
func (m *module) rendered(
	ctx context.Context, file, env string, a getTemplateArgs,
) (string, error) {
	e, _, err := m.parts()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the template: %w", err)
	}
	out, err := e.Template(ctx, a.Template, templateInput(string(text), file, env, a.Kwargs))
	return out, renderError(err)
}

// renderError converts an error of a renderer to Salt's exception for it.
func renderError(err error) error {
	if bad, ok := errors.AsType[*render.Error](err); ok {
		return loader.Exception("salt.exceptions.SaltRenderError", "%w", bad)
	}
	return err
}

// templateInput returns a file with its variables; variables of the argument context override
// others.
func templateInput(text, file, env string, kwargs *data.Map) render.Input {
	in := render.Input{Text: text, Path: file, SaltEnv: env, Vars: map[string]any{},
		Context: map[string]any{}}
	more, _ := kwargs.Value("context").(*data.Map)
	for _, to := range []struct {
		vars map[string]any
		from *data.Map
	}{{in.Vars, kwargs}, {in.Context, more}} {
		for k, v := range to.from.All() {
			switch name, _ := k.(string); name {
			case "", "context", "env", "saltenv":
			default:
				to.vars[name] = v
			}
		}
	}
	return in
}

// writeRendered writes a rendered template. It may contain secrets, so only the minion's user can
// read it, as in Salt.
func (m *module) writeRendered(dest, text string, makedirs bool) (any, error) {
	dir := filepath.Dir(dest)
	if !paths.IsDir(dir) {
		if !makedirs {
			return "", nil
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, saltError(err)
		}
	}
	if paths.IsDir(dest) {
		return nil, loader.Exception("IsADirectoryError", "%s is a directory", dest)
	}
	if err := atomicfile.Write(dest, []byte(text),
		atomicfile.Options{Mode: 0o600, Prefix: ".template-"}); err != nil {
		return nil, saltError(err)
	}
	return dest, nil
}
