package program

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Files is the source of one kind of plug-ins for a registry: the programs in the directories of
// that kind. A program describes itself when its name, or all names, are looked for.
type Files struct {
	host   *Host
	kind   string
	env    *loader.Env
	listed []loader.Plugin // of the registry itself

	// Test reports whether a call only says what it would change; nil asks the option test.
	Test func(ctx context.Context) bool

	mu    sync.Mutex
	known map[string]func() *description // by name of the file; describes the program once
	paths map[string]string              // by name of the file; not changed once it is made
}

var (
	_ loader.Source    = (*Files)(nil)
	_ loader.Forgetter = (*Files)(nil)
)

// kinds are the kinds of plug-ins that can be programs: those whose functions are called by name.
var kinds = []string{"beacons", "grains", "modules", "runners", "states"}

// Files returns the plug-ins of a kind, which has Salt's name: modules, states, grains. listed are
// the registry's own plug-ins.
func (h *Host) Files(kind string, env *loader.Env, listed []loader.Plugin) *Files {
	return &Files{host: h, kind: kind, env: env, listed: listed,
		known: map[string]func() *description{}}
}

// Forget drops what is known, so that programs are found and described again (loader.Forgetter).
func (f *Files) Forget() {
	f.mu.Lock()
	f.known, f.paths = map[string]func() *description{}, nil
	f.mu.Unlock()
	f.host.generation.Add(1)
}

// find returns the path of each program by its name. The first directory has precedence. The caller
// must not change the result.
func (f *Files) find() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paths != nil {
		return f.paths
	}
	f.paths = map[string]string{}
	if !slices.Contains(kinds, f.kind) {
		return f.paths
	}
	for _, dir := range f.host.o.Directories()[f.kind] {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			name, path := e.Name(), filepath.Join(dir, e.Name())
			if _, ok := f.paths[name]; ok || !Is(path, name) {
				continue
			}
			if err := Trusted(path); err != nil {
				f.env.Log.Errorf("The program %s is not run: %v", path, err)
				continue
			}
			f.paths[name] = path
		}
	}
	return f.paths
}

// Names returns the names that all programs have as modules. Each program describes itself.
func (f *Files) Names() []string {
	var names []string
	for file, path := range f.find() {
		d := f.load(file, path)
		names = append(append(names, d.name), d.aliases...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Plugins returns the plug-ins of a name: first the program whose file has the name, then those
// whose description has it.
func (f *Files) Plugins(name string) []loader.Plugin {
	found := f.find()
	var files []string
	for file, path := range found {
		if file != name && mentions(path, name) {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	if _, ok := found[name]; ok {
		files = append([]string{name}, files...)
	}
	var plugins []loader.Plugin
	for _, file := range files {
		d := f.load(file, found[file])
		if file == name || d.name == name || slices.Contains(d.aliases, name) {
			plugins = append(plugins, f.plugin(file, found[file], name, d))
		}
	}
	return plugins
}

func (f *Files) plugin(file, path, name string, d *description) loader.Plugin {
	return loader.Plugin{
		Name: d.name, File: file, Aliases: d.aliases, Over: file == name || !f.isListed(name),
		New: func(*loader.Env) (*loader.Module, error) {
			if d.refused {
				return nil, errors.New(d.reason)
			}
			m := &loader.Module{Doc: d.doc}
			for _, spec := range d.funcs {
				m.Funcs = append(m.Funcs, &function{files: f, path: path, needs: d.needs, spec: spec})
			}
			return m, nil
		},
	}
}

// isListed reports whether the registry has a plug-in of its own in a file of that name.
func (f *Files) isListed(file string) bool {
	return slices.ContainsFunc(f.listed, func(p loader.Plugin) bool {
		return p.File == file || p.File == "" && p.Name == file
	})
}

// mentions reports whether a program contains a name in quotes, as its description could.
func mentions(path, name string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return holds(file, []byte(`"`+name+`"`))
}

// load returns the description of a program. The program runs at the first call, and only callers
// that want the same program wait for it.
func (f *Files) load(file, path string) *description {
	f.mu.Lock()
	known := f.known[file]
	if known == nil {
		known = sync.OnceValue(func() *description { return f.describe(file, path) })
		f.known[file] = known
	}
	f.mu.Unlock()
	return known()
}

// describe returns the description of a program. A failure is logged and becomes its reason.
func (f *Files) describe(file, path string) *description {
	d, err := describe(f.host.open, path, file, f.env.Log.WithField("program", path))
	if err != nil {
		f.env.Log.Errorf("Load %s %s: %v", f.kind, file, err)
		return &description{name: file, refused: true, reason: err.Error()}
	}
	return d
}

// Grains calls the functions of all programs of grains and returns their results in the order in
// which they are merged. known are the grains that the programs see. Errors are logged.
func (f *Files) Grains(ctx context.Context, known *data.Map) []*data.Map {
	var plugins []loader.Plugin
	found := f.find()
	for _, file := range slices.Sorted(maps.Keys(found)) {
		plugins = append(plugins, f.plugin(file, found[file], file, f.load(file, found[file])))
	}
	known = known.Clone()
	env := *f.env
	env.Grains = func() *data.Map { return known }
	var all []*data.Map
	for _, p := range plugins {
		m, err := p.New(&env)
		if err != nil {
			continue // the reason has been logged
		}
		for _, fn := range m.Funcs {
			own := *fn.(*function)
			own.env = &env
			v, err := own.grains(ctx)
			if err != nil {
				f.env.Log.Errorf("Failed to load grains defined in grain file %s.%s: %v",
					p.File, own.spec.Name, err)
			} else if v != nil {
				known.Update(v)
				all = append(all, v)
			}
		}
	}
	return all
}

// shortClass returns the name of a class without its module.
func shortClass(class string) string { return class[strings.LastIndex(class, ".")+1:] }
