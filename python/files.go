package python

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Files is the source of one kind of Python plug-ins for a registry: the files in the directories
// of that kind. Python starts when a function of one of them is first looked for.
type Files struct {
	host   *Host
	kind   string
	env    *loader.Env
	listed []loader.Plugin // of the registry itself

	// Extra returns more globals for the time of a call, such as __low__ of a state; nil for none.
	Extra func(ctx context.Context) *data.Map

	// Rendering performs what Python asks of renderers; nil for files that render nothing.
	Rendering Rendering

	// Live returns a global that is fetched at each use: running and lowstate, of a state. nil
	// stands for empty ones.
	Live func(ctx context.Context, name string) any

	// Progress fires an event of the call under way: that of __jid_event__. nil for none.
	Progress func(ctx context.Context, suffix string, body *data.Map) error

	// builtin returns a registry without own plug-ins. While files are loaded, which the registry
	// waits for, Python's calls go there.
	builtin func() (*loader.Registry, error)

	mu    sync.Mutex
	known map[string]*plugin // by file
}

// A plugin is what Python said of a file.
type plugin struct {
	name    string
	aliases []string
	doc     string
	reason  string
	refused bool
	passing bool // Python did not start, so that another attempt may succeed
	trusted bool // false if other users could change the file
	funcs   []loader.Func
}

var (
	_ loader.Source    = (*Files)(nil)
	_ loader.Forgetter = (*Files)(nil)
)

// Files returns the plug-ins of a kind, with Salt's word for it: modules, states, grains. listed
// are the plug-ins that the registry has itself.
func (h *Host) Files(kind string, env *loader.Env, listed []loader.Plugin) *Files {
	f := &Files{host: h, kind: kind, env: env, listed: listed, known: map[string]*plugin{}}
	f.builtin = sync.OnceValues(func() (*loader.Registry, error) {
		own := *env
		own.Call = nil
		if kind != "states" { // which need the execution modules to be there; others would wait for this load
			own.Functions = nil
		}
		return loader.NewRegistry(&own, listed)
	})
	return f
}

// isListed reports whether the registry has a plug-in of its own in a file of that name.
func (f *Files) isListed(file string) bool {
	return slices.ContainsFunc(f.listed, func(p loader.Plugin) bool {
		return p.File == file || p.File == "" && p.Name == file
	})
}

// Forget makes the files be loaded again (loader.Forgetter). Workers of jobs under way load them
// again as well.
func (f *Files) Forget() {
	f.mu.Lock()
	f.known = map[string]*plugin{}
	f.mu.Unlock()
	f.host.generation.Add(1)
}

// paths returns the path of each file by its name.
func (f *Files) paths() map[string]string { return pluginPaths(f.host.o.Directories()[f.kind]) }

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Names returns the virtual names of all files, which are loaded for it.
func (f *Files) Names() []string {
	var names []string
	ctx, done := loading()
	defer done()
	for file := range f.paths() {
		p := f.load(ctx, file)
		names = append(append(names, p.name), p.aliases...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Plugins returns the plug-ins of a name: that of the file of that name first, then those of files
// that may call themselves so.
func (f *Files) Plugins(name string) []loader.Plugin {
	paths := f.paths()
	var files []string
	for file, path := range paths {
		if file != name && mentions(path, name) {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	if _, ok := paths[name]; ok {
		files = append([]string{name}, files...)
	}
	var found []loader.Plugin
	ctx, done := loading()
	defer done()
	for _, file := range files {
		p := f.load(ctx, file)
		if file != name && p.name != name && !slices.Contains(p.aliases, name) {
			continue
		}
		found = append(found, loader.Plugin{
			Name: p.name, File: file, Aliases: p.aliases, Passing: p.passing,
			Over: p.trusted && (file == name || !f.isListed(name)),
			New: func(env *loader.Env) (*loader.Module, error) {
				if p.refused {
					return nil, errors.New(p.reason)
				}
				return &loader.Module{Funcs: f.bound(p.funcs, env), Doc: p.doc}, nil
			},
		})
	}
	return found
}

// bound returns functions with the environment of the registry that builds them: a run of states
// has options and a pillar of its own, and its plug-ins see these.
func (f *Files) bound(funcs []loader.Func, env *loader.Env) []loader.Func {
	if env == f.env {
		return funcs
	}
	view := &Files{host: f.host, kind: f.kind, env: env, listed: f.listed, Extra: f.Extra,
		Rendering: f.Rendering, Live: f.Live, Progress: f.Progress, builtin: f.builtin,
		known: map[string]*plugin{}}
	out := make([]loader.Func, len(funcs))
	for i, fn := range funcs {
		own := *fn.(*function)
		own.files = view
		out[i] = &own
	}
	return out
}

// mentions reports whether a file has a name in quotes, as the source of one that calls itself so.
func mentions(path, name string) bool {
	if !strings.HasSuffix(path, ".py") {
		path = filepath.Join(path, "__init__.py")
	}
	b, err := os.ReadFile(path)
	return err == nil && (bytes.Contains(b, []byte(`"`+name+`"`)) || bytes.Contains(b, []byte("'"+name+"'")))
}

type loadingKey struct{} // in the context of calls that load files

// loading returns a context for calls of load. They share a worker until done is called.
func loading() (ctx context.Context, done func()) {
	ctx, scope := loader.WithScope(context.WithValue(context.Background(), loadingKey{}, true))
	return ctx, func() { _ = scope.Close() }
}

// load returns what Python says of a file.
func (f *Files) load(ctx context.Context, file string) *plugin {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p, ok := f.known[file]; ok {
		return p
	}
	ctx, cancel := f.host.limited(ctx)
	defer cancel()
	p := &plugin{name: file, refused: true, trusted: true}
	said, err := f.call(ctx, "load", f.kind, file)
	description, ok := said.value.(*data.Map)
	switch {
	case err != nil:
		p.reason = err.Error()
		f.env.Log.Errorf("Load %s %s: %v", f.kind, file, err)
	case ok:
		f.describe(p, description)
	}
	var start *startError
	if p.passing = errors.As(err, &start); !p.passing {
		f.known[file] = p
	}
	return p
}

// describe fills in p from the description that Python gives of a plug-in.
func (f *Files) describe(p *plugin, d *data.Map) {
	p.name, p.aliases = data.Str(d.Value("name")), data.TextsOf(d.Value("aliases"))
	p.doc, _ = d.Value("doc").(string)
	p.reason, p.refused = d.Value("reason").(string)
	p.trusted = data.Truth(d.Value("safe"))
	f.logProblems(d.Value("problems"))
	for _, v := range listOf(d.Value("functions")) {
		if one, ok := v.(*data.Map); ok {
			p.funcs = append(p.funcs, newFunction(f, data.Str(d.Value("file")), one))
		}
	}
}

// logProblems logs what went wrong in Python: pairs of a level and a text.
func (f *Files) logProblems(problems any) {
	for _, v := range listOf(problems) {
		one, ok := v.(data.Tuple)
		if !ok || len(one) != 2 {
			continue
		}
		if text := data.Str(one[1]); one[0] == "warning" {
			f.env.Log.Warn(text)
		} else {
			f.env.Log.Error(text)
		}
	}
}

func listOf(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case data.Tuple:
		return v
	}
	return nil
}
