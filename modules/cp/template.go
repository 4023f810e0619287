package cp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/render"
)

// isEngine reports whether Salt has a template engine of a name (salt/utils/templates.py, TEMPLATE_REGISTRY).
func isEngine(name string) bool {
	return slices.Contains([]string{"jinja", "mako", "wempy", "genshi", "cheetah", "py"}, name)
}

// names returns a URL and a destination, of which both are templates where an engine is asked for.
func (m *module) names(ctx context.Context, n names) (names, error) {
	if !data.Truth(n.engine) {
		return n, nil
	}
	engine := data.Str(n.engine)
	if !isEngine(engine) {
		return n, loader.Execution("Attempted to render file paths with unavailable engine %s", engine)
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
		*text, err = e.Template(ctx, engine, render.Input{Text: *text, SaltEnv: m.saltenv(n.saltenv), Vars: vars})
		if err != nil {
			return n, renderError(err)
		}
	}
	return n, nil
}

// names are a URL and a destination with what decides how they are rendered.
type names struct {
	path, dest      string
	saltenv, engine any
	kwargs          *data.Map
}

// variables returns the pillar for names of files, where a call brings one or names its environment.
func (m *module) variables(ctx context.Context, kwargs *data.Map) (map[string]any, error) {
	if !kwargs.Has("pillar") && !kwargs.Has("pillarenv") {
		return nil, nil
	}
	over, _ := kwargs.Value("pillar").(*data.Map)
	if m.env.Functions.Has("pillar.items") {
		asked := data.NewMap("pillar", over, "pillarenv", kwargs.Value("pillarenv"))
		v, err := m.env.Call(ctx, "pillar.items", nil, asked)
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

// getTemplate renders a file of the file server, writes the result to a file of the minion, which only its user may read, and returns
// where that is. It returns an empty text where there is no such file or no such engine, and where the directory of the destination is
// missing. Further arguments are variables of the template.
//
// dest
//
//	The file; an empty text stands for a place in the minion's cache.
//
// template : jinja
//
//	The template engine.
//
// makedirs : False
//
//	Make the directory of the destination.
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
		return nil, told(err)
	case !isEngine(a.Template):
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
			rest = "/" + strings.TrimLeft(a.Path, "/") // a path of the minion has no host
		}
		if dest, err = c.CacheDest("http://"+rest, env); err != nil { // where it puts the files of web servers
			return nil, told(err)
		}
		makedirs = true
	}
	return m.place(dest, out, makedirs)
}

// rendered returns what a template becomes.
func (m *module) rendered(ctx context.Context, file, env string, a getTemplateArgs) (string, error) {
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

// renderError returns an error of a renderer as Salt's exception of it.
func renderError(err error) error {
	if bad, ok := errors.AsType[*render.Error](err); ok {
		return loader.Exception("salt.exceptions.SaltRenderError", "%w", bad)
	}
	return err
}

// templateInput returns a file with its variables; those of the argument context hide others.
func templateInput(text, file, env string, kwargs *data.Map) render.Input {
	in := render.Input{Text: text, Path: file, SaltEnv: env, Vars: map[string]any{}}
	more, _ := kwargs.Value("context").(*data.Map)
	for _, vars := range []*data.Map{kwargs, more} {
		for k, v := range vars.All() {
			switch name, _ := k.(string); name {
			case "", "context", "env", "saltenv":
			default:
				in.Vars[name] = v
			}
		}
	}
	return in
}

// place writes what a template became. As it may hold secrets, only the minion's user may read it, as with Salt.
func (m *module) place(dest, text string, makedirs bool) (any, error) {
	dir := filepath.Dir(dest)
	if !paths.IsDir(dir) {
		if !makedirs {
			return "", nil
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, told(err)
		}
	}
	if paths.IsDir(dest) {
		return nil, loader.Exception("IsADirectoryError", "%s is a directory", dest)
	}
	if err := atomicfile.Write(dest, []byte(text), atomicfile.Options{Mode: 0o600, Prefix: ".template-"}); err != nil {
		return nil, told(err)
	}
	return dest, nil
}
