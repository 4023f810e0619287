package loader

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/process"
)

// A Registry is a shelf of modules, built when they are needed. Several goroutines may use it. A nil Registry is empty.
type Registry struct {
	mu      sync.RWMutex
	env     *Env
	plugins []Plugin
	source  Source // may be nil
	shelf   *shelf
}

// NewRegistry returns a registry of the plug-ins, none of which is built yet. It works with a copy of env in which Functions,
// Call, Run and Log are set where they were nil. Two plug-ins of one file name are an error. Of several plug-ins with one virtual
// name the first wins that works here, unless the option providers names another; the others that work here add the functions that
// it has not.
func NewRegistry(env *Env, plugins []Plugin) (*Registry, error) {
	own := *env
	r := &Registry{env: &own}
	r.complete()
	return r, r.Replace(plugins)
}

// With returns a registry of the same plug-ins with another environment, a copy of env that is completed as in NewRegistry. None
// of them is built yet.
func (r *Registry) With(env *Env) *Registry {
	own := *env
	next := &Registry{env: &own}
	if r != nil {
		r.mu.RLock()
		next.plugins, next.source = r.plugins, r.source
		r.mu.RUnlock()
	}
	next.complete()
	next.renew()
	return next
}

// Replace gives the registry another list of plug-ins, and forgets all modules. After an error nothing has changed.
func (r *Registry) Replace(plugins []Plugin) error {
	seen := map[string]bool{}
	for _, p := range plugins {
		if p.Name == "" || p.New == nil || seen[p.file()] {
			return fmt.Errorf("plug-in %q: no name, no factory or listed twice", p.file())
		}
		seen[p.file()] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plugins = slices.Clone(plugins)
	r.renew()
	return nil
}

func (r *Registry) complete() {
	if r.env.Functions == nil {
		r.env.Functions = r
	}
	if r.env.Call == nil {
		r.env.Call = r.env.Functions.Invoke
	}
	if r.env.Run == nil {
		r.env.Run = process.Run
	}
	if r.env.Log == nil {
		r.env.Log = logging.Discard()
	}
}

// Env returns the environment of the plug-ins.
func (r *Registry) Env() *Env {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.env
}

// SetOptions gives the plug-ins other options, and forgets all modules. Functions under way go on with those that they have.
func (r *Registry) SetOptions(opts *data.Map) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := *r.env
	own.Opts = opts
	r.env = &own
	r.renew()
}

// Reload forgets all modules; each is built anew when it is needed, with the grains and options of then.
func (r *Registry) Reload() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.renew()
}

// Retry has those modules that did not work here tried again when they are needed: the program that they lacked may be there now.
// The others are kept.
func (r *Registry) Retry() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shelf = r.shelf.retry()
}

// current returns the modules of now; an empty shelf for a nil Registry.
func (r *Registry) current() *shelf {
	if r == nil {
		return &shelf{}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.shelf
}

// Func returns the function of that full name, such as test.ping, and whether it is available.
func (r *Registry) Func(fun string) (Func, bool) {
	module, name, ok := strings.Cut(fun, ".")
	if !ok {
		return nil, false
	}
	m := r.current().module(module)
	if m == nil {
		return nil, false
	}
	f, ok := m.funcs[name]
	return f, ok
}

// Has reports whether the function is available.
func (r *Registry) Has(fun string) bool {
	_, ok := r.Func(fun)
	return ok
}

// Names returns the full names of all functions, sorted. It builds every module.
func (r *Registry) Names() []string {
	var names []string
	for module, m := range r.current().all() {
		for name := range m.funcs {
			names = append(names, module+"."+name)
		}
	}
	slices.Sort(names)
	return names
}

// Modules returns the virtual names of the modules that work here, sorted. It builds every module.
func (r *Registry) Modules() []string {
	names := []string{}
	for name := range r.current().all() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Provider returns the file name of the plug-in that provides a module; "" when there is none.
func (r *Registry) Provider(module string) string {
	if m := r.current().module(module); m != nil {
		return m.file
	}
	return ""
}

// Files returns the file names of all plug-ins of the list and of the source, sorted, whether they work here or not.
func (r *Registry) Files() []string {
	files := []string{}
	if r == nil {
		return files
	}
	r.mu.RLock()
	plugins, found := r.plugins, r.shelf.found
	r.mu.RUnlock()
	for _, p := range plugins {
		files = append(files, p.file())
	}
	files = append(files, found.files()...)
	slices.Sort(files)
	return slices.Compact(files)
}

// MissingText says why a function is not available, as missing_fun_string of Salt's loader.
func (r *Registry) MissingText(fun string) string {
	module, _, _ := strings.Cut(fun, ".")
	s := r.current()
	if s.module(module) != nil {
		return "'" + fun + "' is not available."
	}
	reason, refused := s.refusal(module)
	switch {
	case !refused:
		return "'" + fun + "' is not available."
	case reason == "":
		return "'" + module + "' __virtual__ returned False"
	}
	return "'" + module + "' __virtual__ returned False: " + reason
}

// failure returns why a module could not even say whether it works: its factory broke.
func (r *Registry) failure(fun string) string {
	module, _, _ := strings.Cut(fun, ".")
	return r.current().broken(module)
}

// Docs returns the docstrings of the functions that a word of sys.doc names: a module, a function, or a glob with *.
func (r *Registry) Docs(word string) *data.Map {
	docs := &data.Map{}
	for _, fun := range r.Names() {
		if docMatches(word, fun) {
			f, ok := r.Func(fun)
			if ok {
				docs.Set(fun, StripRST(f.Spec().Docstring()))
			}
		}
	}
	return docs
}

func docMatches(word, fun string) bool {
	switch {
	case strings.Contains(word, "*"):
		return Glob(word, fun)
	case word == "":
		return true
	}
	return fun == word || strings.HasPrefix(fun, strings.TrimSuffix(word, ".")+".")
}

// ModuleDoc returns the documentation of a module itself.
func (r *Registry) ModuleDoc(module string) string {
	if m := r.current().module(module); m != nil {
		return m.doc
	}
	return ""
}
