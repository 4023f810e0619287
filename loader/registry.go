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

// A Registry holds modules of one kind and builds them on first use. It is safe for concurrent use.
// A nil Registry is empty.
type Registry struct {
	mu      sync.RWMutex
	env     *Env
	plugins []Plugin
	source  Source  // may be nil
	groups  []Group // left out of this build
	modules *moduleSet
}

// NewRegistry returns a registry of plug-ins; none is built yet. It uses a copy of env in which nil
// values of Functions, Call, Run and Log are set. Two plug-ins with the same file name are an
// error. If several plug-ins share a virtual name, the first available one provides the module
// unless the option providers selects another. Functions that it lacks come from the other
// available plug-ins.
func NewRegistry(env *Env, plugins []Plugin) (*Registry, error) {
	own := *env
	r := &Registry{env: &own}
	r.complete()
	return r, r.Replace(plugins)
}

// With returns a registry of the same plug-ins with another environment: a copy of env, completed
// as in NewRegistry. No module is built yet. A source keeps the plug-ins that it has cached.
func (r *Registry) With(env *Env) *Registry {
	own := *env
	next := &Registry{env: &own}
	if r != nil {
		r.mu.RLock()
		next.plugins, next.source, next.groups = r.plugins, r.source, r.groups
		r.mu.RUnlock()
	}
	next.complete()
	next.modules = newModuleSet(next.env, next.plugins, next.source)
	return next
}

// Replace replaces the list of plug-ins and discards all modules. After an error nothing has
// changed.
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

// SetOptions replaces the options and discards all modules. Running functions keep the old options.
func (r *Registry) SetOptions(opts *data.Map) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := *r.env
	own.Opts = opts
	r.env = &own
	r.renew()
}

// Reload discards all modules. Each is built again when needed, with the grains and options of that
// time.
func (r *Registry) Reload() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.renew()
}

// Retry makes unavailable modules be tried again on next use, since a program they need may have
// been installed. Other modules are kept.
func (r *Registry) Retry() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.modules = r.modules.retry()
}

// current returns the current modules; for a nil Registry an empty set.
func (r *Registry) current() *moduleSet {
	if r == nil {
		return &moduleSet{}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.modules
}

// Func returns the function with that full name, such as test.ping, and whether it is available.
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

// Has reports whether a function is available.
func (r *Registry) Has(fun string) bool {
	_, ok := r.Func(fun)
	return ok
}

// Names returns the sorted full names of all functions. It builds every module.
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

// Modules returns the sorted virtual names of the available modules. It builds every module.
func (r *Registry) Modules() []string {
	names := []string{}
	for name := range r.current().all() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Provider returns the file name of the plug-in that provides a module, or "" if it is not
// available.
func (r *Registry) Provider(module string) string {
	if m := r.current().module(module); m != nil {
		return m.file
	}
	return ""
}

// Files returns the sorted file names of all plug-ins of the list and the source, available or not.
func (r *Registry) Files() []string {
	files := []string{}
	if r == nil {
		return files
	}
	r.mu.RLock()
	plugins, found := r.plugins, r.modules.source
	r.mu.RUnlock()
	for _, p := range plugins {
		files = append(files, p.file())
	}
	files = append(files, found.files()...)
	slices.Sort(files)
	return slices.Compact(files)
}

// MissingText returns the reason why a function is not available, like missing_fun_string of Salt's
// loader.
func (r *Registry) MissingText(fun string) string {
	module, _, _ := strings.Cut(fun, ".")
	reason, refused := r.Refusal(fun)
	switch {
	case !refused:
		return "'" + fun + "' is not available."
	case reason == "":
		return "'" + module + "' __virtual__ returned False"
	}
	return "'" + module + "' __virtual__ returned False: " + reason
}

// Refusal returns the reason why the module of a function does not work on this host, and whether
// there is such a module, in this build or in one with more build tags.
func (r *Registry) Refusal(fun string) (reason string, refused bool) {
	module, _, _ := strings.Cut(fun, ".")
	s := r.current()
	if s.module(module) != nil {
		return "", false
	}
	if reason, refused = s.refusal(module); refused {
		return reason, true
	}
	reason = r.leftOut(module)
	return reason, reason != ""
}

// failure returns the panic of the factory of fun's module, or "".
func (r *Registry) failure(fun string) string {
	module, _, _ := strings.Cut(fun, ".")
	return r.current().broken(module)
}

// Docs returns the docstrings of functions selected by a word of sys.doc: a module, a function, or
// a glob with *.
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

// ModuleDoc returns the documentation of the module itself.
func (r *Registry) ModuleDoc(module string) string {
	if m := r.current().module(module); m != nil {
		return m.doc
	}
	return ""
}
