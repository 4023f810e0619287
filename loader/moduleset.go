package loader

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/brineproject/brine/data"
)

// A moduleSet holds the modules of a registry until the next reload.
type moduleSet struct {
	env    *Env
	names  map[string][]*slot // by virtual name, in the order of attempts
	source *sourceCache

	joined sync.Map // *built by virtual name, for names with several available plug-ins
}

// A slot is one plug-in, built at most once.
type slot struct {
	plugin Plugin
	once   sync.Once
	done   atomic.Bool   // built: module, reason and broken are final
	by     atomic.Value  // string: the goroutine that builds the slot
	module *loadedModule // nil if not available
	reason string
	broken string // panic of the factory
}

// A documented function finds its documentation in the docs of its plug-in. Its spec is a copy.
type documented struct {
	Func
	spec Spec
}

// withDocs returns f with the documentation of its plug-in, if that has any.
func withDocs(f Func, docs *Docs) Func {
	if docs == nil {
		return f
	}
	d := &documented{f, *f.Spec()}
	d.spec.docs = docs
	return d
}

// Spec returns the description of the function.
func (d *documented) Spec() *Spec { return &d.spec }

// A loadedModule is an available module.
type loadedModule struct {
	file  string
	doc   string
	funcs map[string]Func
}

func newModuleSet(env *Env, plugins []Plugin, source Source) *moduleSet {
	s := &moduleSet{env: env, names: map[string][]*slot{}, source: &sourceCache{source: source}}
	for _, p := range plugins {
		own := &slot{plugin: p}
		names := append([]string{p.Name, p.file()}, p.Aliases...)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			s.names[name] = append(s.names[name], own)
		}
	}
	for name, slots := range s.names {
		s.order(name, slots)
	}
	return s
}

// retry returns a copy of s in which unavailable modules have not been tried yet.
func (s *moduleSet) retry() *moduleSet {
	fresh := map[*slot]*slot{}
	next := &moduleSet{env: s.env, names: make(map[string][]*slot, len(s.names)), source: s.source}
	for name, slots := range s.names {
		next.names[name] = replaceUnavailable(slots, fresh)
	}
	return next
}

// replaceUnavailable returns slots with unavailable modules replaced by new slots. fresh maps old
// to new slots, so that a plug-in with several names gets one new slot.
func replaceUnavailable(slots []*slot, fresh map[*slot]*slot) []*slot {
	if !slices.ContainsFunc(slots, (*slot).unavailable) {
		return slots
	}
	slots = slices.Clone(slots)
	for i, own := range slots {
		if !own.unavailable() {
			continue
		}
		if fresh[own] == nil {
			fresh[own] = &slot{plugin: own.plugin}
		}
		slots[i] = fresh[own]
	}
	return slots
}

func (s *slot) unavailable() bool { return s.done.Load() && s.module == nil }

// slots returns the plug-ins with a name in the order of attempts: the one selected by the option
// providers, plug-ins of the source with Over, those of the list, and the others of the source.
func (s *moduleSet) slots(name string) []*slot {
	if s == nil || s.source == nil { // from a nil Registry
		return nil
	}
	found := s.source.plugins(name)
	if len(found) == 0 {
		return s.names[name]
	}
	return s.order(name, slices.Concat(s.names[name], found))
}

// order sorts the plug-ins of a name in place and returns them.
func (s *moduleSet) order(name string, slots []*slot) []*slot {
	providers, _ := s.env.Opts.Value("providers").(*data.Map)
	preferred := providers.Value(name)
	slices.SortStableFunc(slots, func(a, b *slot) int { return rank(a, preferred) - rank(b, preferred) })
	return slots
}

func rank(s *slot, preferred any) int {
	switch {
	case s.plugin.file() == preferred:
		return 0
	case s.plugin.Over:
		return 1
	}
	return 2
}

// provides reports whether name is a virtual name of s. Its file name is only used to look up why
// it is unavailable.
func (s *slot) provides(name string) bool {
	return name == s.plugin.Name || slices.Contains(s.plugin.Aliases, name)
}

// module returns the module with that virtual name, or nil. Functions missing in the first
// available plug-in are added from the next ones, like in Salt's loader.
func (s *moduleSet) module(name string) *loadedModule {
	if s == nil {
		return nil
	}
	if m, ok := s.joined.Load(name); ok {
		return m.(*loadedModule)
	}
	working := s.available(name)
	switch len(working) {
	case 0:
		return nil
	case 1:
		return working[0]
	}
	m, _ := s.joined.LoadOrStore(name, join(working))
	return m.(*loadedModule)
}

// available returns the available modules of a name in order. Only the first of several with the
// same file name is returned.
func (s *moduleSet) available(name string) []*loadedModule {
	var list []*loadedModule
	for _, own := range s.slots(name) {
		if !own.provides(name) {
			continue
		}
		if own.build(s.env); own.module != nil &&
			!slices.ContainsFunc(list, func(b *loadedModule) bool { return b.file == own.module.file }) {
			list = append(list, own.module)
		}
	}
	return list
}

// join returns a module with the functions of all modules. Earlier ones take precedence; file and
// doc are those of the first.
func join(list []*loadedModule) *loadedModule {
	m := &loadedModule{file: list[0].file, doc: list[0].doc, funcs: map[string]Func{}}
	for _, more := range slices.Backward(list) {
		maps.Copy(m.funcs, more.funcs)
	}
	return m
}

// refusal returns the reason of the first plug-in with that name that is not available.
func (s *moduleSet) refusal(name string) (reason string, refused bool) {
	for _, own := range s.slots(name) {
		if own.build(s.env); own.module == nil && own.broken == "" {
			return own.reason, true
		}
	}
	return "", false
}

func (s *moduleSet) broken(name string) string {
	for _, own := range s.slots(name) {
		if own.build(s.env); own.broken != "" {
			return own.broken
		}
	}
	return ""
}

// all yields the available modules by virtual name.
func (s *moduleSet) all() iter.Seq2[string, *loadedModule] {
	return func(yield func(string, *loadedModule) bool) {
		for _, name := range s.allNames() {
			if m := s.module(name); m != nil && !yield(name, m) {
				return
			}
		}
	}
}

// allNames returns the names of all plug-ins without duplicates.
func (s *moduleSet) allNames() []string {
	if s.source == nil { // from a nil Registry
		return nil
	}
	names := slices.AppendSeq(slices.Clone(s.source.names()), maps.Keys(s.names))
	slices.Sort(names)
	return slices.Compact(names)
}

// build builds the module on first use. A factory that needs its own module would wait for itself
// for ever: it finds the module missing instead, and the module is not available.
func (s *slot) build(env *Env) {
	if s.done.Load() {
		return
	}
	own := goroutine()
	if s.by.Load() == own {
		s.reason = s.plugin.file() + " asks for itself while it is built"
		return
	}
	s.once.Do(func() {
		s.by.Store(own)
		defer s.done.Store(true)
		defer s.by.Store("")
		defer func() {
			if p := recover(); p != nil {
				s.module, s.broken = nil, fmt.Sprint(p)
				env.Log.WithField("module", s.plugin.file()).Errorf("Failed to load: %v\n%s", p,
					debug.Stack())
			}
		}()
		m, err := s.plugin.New(env)
		switch {
		case s.reason != "":
			return
		case err == nil:
			s.module, err = assemble(&s.plugin, m)
		}
		if err != nil {
			s.reason = err.Error()
		}
	})
}

// goroutine returns the name of the calling goroutine: "goroutine 7".
func goroutine() string {
	stack := make([]byte, 64)
	name, _, _ := bytes.Cut(stack[:runtime.Stack(stack, false)], []byte(" ["))
	return string(name)
}

// assemble indexes the functions of a module. An invalid or repeated function is an error.
func assemble(p *Plugin, m *Module) (*loadedModule, error) {
	b := &loadedModule{file: p.file(), doc: m.Doc, funcs: map[string]Func{}}
	for _, f := range m.Funcs {
		name := f.Spec().Name
		if own, ok := f.(*Function); ok && own.err != nil {
			return nil, fmt.Errorf("function %s: %w", name, own.err)
		}
		if _, twice := b.funcs[name]; twice || name == "" {
			return nil, fmt.Errorf("function %q: no name, or listed twice", name)
		}
		b.funcs[name] = withDocs(f, p.Docs)
	}
	return b, nil
}
