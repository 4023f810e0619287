package loader

import (
	"fmt"
	"iter"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/brineproject/brine/data"
)

// A shelf is the modules of one registry between two reloads.
type shelf struct {
	env   *Env
	names map[string][]*slot // by virtual name, in the order in which they are tried
	found *finds

	joined sync.Map // *built by virtual name, of the names with several plug-ins that work here
}

// A slot is one plug-in, built at most once.
type slot struct {
	plugin Plugin
	once   sync.Once
	tried  atomic.Bool // module and reason are what they are
	module *built      // nil when it does not work here
	reason string
	broken string // what its factory died of
}

// A built is a module that works here.
type built struct {
	file  string
	doc   string
	funcs map[string]Func
}

func newShelf(env *Env, plugins []Plugin, source Source) *shelf {
	s := &shelf{env: env, names: map[string][]*slot{}, found: &finds{source: source}}
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

// retry returns a shelf with the modules of s, in which those that did not work here have not been tried yet.
func (s *shelf) retry() *shelf {
	fresh := map[*slot]*slot{}
	next := &shelf{env: s.env, names: make(map[string][]*slot, len(s.names)), found: s.found}
	for name, slots := range s.names {
		next.names[name] = again(slots, fresh)
	}
	return next
}

// again returns slots, those of modules that do not work here replaced by fresh ones: one for each, by whatever name it is met.
func again(slots []*slot, fresh map[*slot]*slot) []*slot {
	if !slices.ContainsFunc(slots, (*slot).refused) {
		return slots
	}
	slots = slices.Clone(slots)
	for i, own := range slots {
		if !own.refused() {
			continue
		}
		if fresh[own] == nil {
			fresh[own] = &slot{plugin: own.plugin}
		}
		slots[i] = fresh[own]
	}
	return slots
}

func (s *slot) refused() bool { return s.tried.Load() && s.module == nil }

// slots returns the plug-ins of a name in the order in which they are tried: first the one that the option providers names,
// then those of the source that go over the list, the list, and the others of the source.
func (s *shelf) slots(name string) []*slot {
	if s == nil || s.found == nil { // of a nil Registry
		return nil
	}
	found := s.found.of(name)
	if len(found) == 0 {
		return s.names[name]
	}
	return s.order(name, slices.Concat(s.names[name], found))
}

// order sorts the plug-ins of a name, and returns them.
func (s *shelf) order(name string, slots []*slot) []*slot {
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

// serves reports whether the functions of s stand under name; its file name is only known for refusals.
func (s *slot) serves(name string) bool {
	return name == s.plugin.Name || slices.Contains(s.plugin.Aliases, name)
}

// module returns the module of that virtual name, or nil. It is that of the first plug-in that works here; functions that it has not
// are those of the next that works here and has them, as Salt's loader joins them.
func (s *shelf) module(name string) *built {
	if s == nil {
		return nil
	}
	if m, ok := s.joined.Load(name); ok {
		return m.(*built)
	}
	working := s.working(name)
	switch len(working) {
	case 0:
		return nil
	case 1:
		return working[0]
	}
	m, _ := s.joined.LoadOrStore(name, join(working))
	return m.(*built)
}

// working returns the modules of a name that work here, in their order. Of several of one file name the first counts.
func (s *shelf) working(name string) []*built {
	var list []*built
	for _, own := range s.slots(name) {
		if !own.serves(name) {
			continue
		}
		if own.build(s.env); own.module != nil && !slices.ContainsFunc(list, func(b *built) bool { return b.file == own.module.file }) {
			list = append(list, own.module)
		}
	}
	return list
}

// join returns a module with the functions of all, and what else it is of the first.
func join(list []*built) *built {
	m := &built{file: list[0].file, doc: list[0].doc, funcs: map[string]Func{}}
	for _, more := range slices.Backward(list) {
		maps.Copy(m.funcs, more.funcs)
	}
	return m
}

// refusal returns the reason of the first plug-in of that name that does not work here.
func (s *shelf) refusal(name string) (reason string, refused bool) {
	for _, own := range s.slots(name) {
		if own.build(s.env); own.module == nil && own.broken == "" {
			return own.reason, true
		}
	}
	return "", false
}

func (s *shelf) broken(name string) string {
	for _, own := range s.slots(name) {
		if own.build(s.env); own.broken != "" {
			return own.broken
		}
	}
	return ""
}

// all yields the modules that work here by virtual name.
func (s *shelf) all() iter.Seq2[string, *built] {
	return func(yield func(string, *built) bool) {
		for _, name := range s.every() {
			if m := s.module(name); m != nil && !yield(name, m) {
				return
			}
		}
	}
}

// every returns all names, each once.
func (s *shelf) every() []string {
	if s.found == nil { // of a nil Registry
		return nil
	}
	names := slices.AppendSeq(slices.Clone(s.found.names()), maps.Keys(s.names))
	slices.Sort(names)
	return slices.Compact(names)
}

func (s *slot) build(env *Env) {
	s.once.Do(func() {
		defer s.tried.Store(true)
		defer func() {
			if p := recover(); p != nil {
				s.module, s.broken = nil, fmt.Sprint(p)
				env.Log.WithField("module", s.plugin.file()).Errorf("Failed to load: %v\n%s", p, debug.Stack())
			}
		}()
		m, err := s.plugin.New(env)
		if err == nil {
			s.module, err = assemble(&s.plugin, m)
		}
		if err != nil {
			s.reason = err.Error()
		}
	})
}

// assemble indexes the functions of a module; a bad or repeated one is an error.
func assemble(p *Plugin, m *Module) (*built, error) {
	b := &built{file: p.file(), doc: m.Doc, funcs: map[string]Func{}}
	for _, f := range m.Funcs {
		name := f.Spec().Name
		if own, ok := f.(*Function); ok && own.err != nil {
			return nil, fmt.Errorf("function %s: %w", name, own.err)
		}
		if _, twice := b.funcs[name]; twice || name == "" {
			return nil, fmt.Errorf("function %q: no name, or listed twice", name)
		}
		if f.Spec().docs == nil {
			f.Spec().docs = p.Docs
		}
		b.funcs[name] = f
	}
	return b, nil
}
