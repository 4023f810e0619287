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
// that kind. A program is asked what it offers when its name, or all names, are looked for.
type Files struct {
	host   *Host
	kind   string
	env    *loader.Env
	listed []loader.Plugin // of the registry itself

	// Test reports whether a call only says what it would change; nil asks the option test.
	Test func(ctx context.Context) bool

	mu    sync.Mutex
	known map[string]*description // by name of the file
	paths map[string]string
}

var (
	_ loader.Source    = (*Files)(nil)
	_ loader.Forgetter = (*Files)(nil)
)

// Kinds returns the kinds of plug-ins that programs can be: those that are functions called by
// name.
func Kinds() []string { return []string{"grains", "modules", "runners", "states"} }

// Files returns the plug-ins of a kind, with Salt's word for it: modules, states, grains. listed
// are the plug-ins that the registry has itself.
func (h *Host) Files(kind string, env *loader.Env, listed []loader.Plugin) *Files {
	return &Files{host: h, kind: kind, env: env, listed: listed, known: map[string]*description{}}
}

// Forget makes the programs be asked again (loader.Forgetter).
func (f *Files) Forget() {
	f.mu.Lock()
	f.known, f.paths = map[string]*description{}, nil
	f.mu.Unlock()
	f.host.generation.Add(1)
}

// find returns the path of each program by its name; the first directory counts most. f.mu is held.
func (f *Files) find() map[string]string {
	if f.paths != nil {
		return f.paths
	}
	f.paths = map[string]string{}
	if !slices.Contains(Kinds(), f.kind) {
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
			if path, err = filepath.EvalSymlinks(path); err == nil {
				f.paths[name] = path
			}
		}
	}
	return f.paths
}

// Names returns the names of all programs as modules, which are asked for it.
func (f *Files) Names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for file := range f.find() {
		d := f.load(file)
		names = append(append(names, d.name), d.aliases...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Plugins returns the plug-ins of a name: that of the program of that name first, then those of
// programs that may call themselves so.
func (f *Files) Plugins(name string) []loader.Plugin {
	f.mu.Lock()
	defer f.mu.Unlock()
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
		d := f.load(file)
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

// isListed reports whether the registry has a plug-in of its own with that file's name.
func (f *Files) isListed(file string) bool {
	return slices.ContainsFunc(f.listed, func(p loader.Plugin) bool {
		return p.File == file || p.File == "" && p.Name == file
	})
}

// mentions reports whether a program holds a name in quotes, as one that calls itself so.
func mentions(path, name string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return holds(file, []byte(`"`+name+`"`))
}

// load returns what a program says of itself. f.mu is held.
func (f *Files) load(file string) *description {
	if d, ok := f.known[file]; ok {
		return d
	}
	path := f.paths[file]
	d, err := describe(path, file, f.env.Log.WithField("program", path))
	if err != nil {
		f.env.Log.Errorf("Load %s %s: %v", f.kind, file, err)
		d = &description{name: file, refused: true, reason: err.Error()}
	}
	f.known[file] = d
	return d
}

// Grains calls the functions of all programs of grains and returns what each gives, in the order in
// which they are merged. known are the grains that the programs see. What goes wrong is logged.
func (f *Files) Grains(ctx context.Context, known *data.Map) []*data.Map {
	f.mu.Lock()
	var plugins []loader.Plugin
	found := f.find()
	for _, file := range slices.Sorted(maps.Keys(found)) {
		plugins = append(plugins, f.plugin(file, found[file], file, f.load(file)))
	}
	f.mu.Unlock()
	known = known.Clone()
	env := *f.env
	env.Grains = func() *data.Map { return known }
	var all []*data.Map
	for _, p := range plugins {
		m, err := p.New(&env)
		if err != nil {
			continue // it has said why
		}
		for _, fn := range m.Funcs {
			own := *fn.(*function)
			own.env = &env
			v, err := own.grains(ctx)
			if err != nil {
				f.env.Log.Errorf("Failed to load grains defined in grain file %s.%s: %v", p.File, own.spec.Name, err)
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
