package loader

import (
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/brineproject/brine/data"
)

// A shelf is the modules of one registry between two reloads.
type shelf struct {
	env   *Env
	names map[string][]*slot // by virtual name, in the order in which they are tried
}

// A slot is one plug-in, built at most once.
type slot struct {
	plugin Plugin
	once   sync.Once
	module *built // nil when it does not work here
	reason string
	broken string // what its factory died of
}

// A built is a module that works here.
type built struct {
	file  string
	doc   string
	funcs map[string]Func
}

func newShelf(env *Env, plugins []Plugin) *shelf {
	s := &shelf{env: env, names: map[string][]*slot{}}
	for _, p := range plugins {
		own := &slot{plugin: p}
		names := append([]string{p.Name, p.file()}, p.Aliases...)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			s.names[name] = append(s.names[name], own)
		}
	}
	s.prefer(env.Opts.Value("providers"))
	return s
}

// prefer puts the plug-in that the option providers names in front of the others.
func (s *shelf) prefer(option any) {
	providers, _ := option.(*data.Map)
	for name, file := range providers.All() {
		name, _ := name.(string)
		slices.SortStableFunc(s.names[name], func(a, b *slot) int {
			return rank(a, file) - rank(b, file)
		})
	}
}

func rank(s *slot, file any) int {
	if s.plugin.file() == file {
		return 0
	}
	return 1
}

// serves reports whether the functions of s stand under name; its file name is only known for refusals.
func (s *slot) serves(name string) bool {
	return name == s.plugin.Name || slices.Contains(s.plugin.Aliases, name)
}

// module returns the module of that virtual name, or nil.
func (s *shelf) module(name string) *built {
	for _, own := range s.names[name] {
		if !own.serves(name) {
			continue
		}
		if own.build(s.env); own.module != nil {
			return own.module
		}
	}
	return nil
}

// refusal returns the reason of the first plug-in of that name that does not work here.
func (s *shelf) refusal(name string) (reason string, refused bool) {
	for _, own := range s.names[name] {
		if own.build(s.env); own.module == nil && own.broken == "" {
			return own.reason, true
		}
	}
	return "", false
}

func (s *shelf) broken(name string) string {
	for _, own := range s.names[name] {
		if own.build(s.env); own.broken != "" {
			return own.broken
		}
	}
	return ""
}

// all yields the modules that work here by virtual name.
func (s *shelf) all() iter.Seq2[string, *built] {
	return func(yield func(string, *built) bool) {
		for name := range s.names {
			if m := s.module(name); m != nil && !yield(name, m) {
				return
			}
		}
	}
}

func (s *slot) build(env *Env) {
	s.once.Do(func() {
		defer func() {
			if p := recover(); p != nil {
				s.module, s.broken = nil, fmt.Sprint(p)
				env.Log.WithField("module", s.plugin.file()).Errorf("Failed to load: %v\n%s", p, debug.Stack())
			}
		}()
		m, err := s.plugin.New(env)
		if err == nil {
			s.module, err = assemble(s.plugin.file(), m)
		}
		if err != nil {
			s.reason = err.Error()
		}
	})
}

// assemble indexes the functions of a module; a bad or repeated one is an error.
func assemble(file string, m *Module) (*built, error) {
	b := &built{file: file, doc: m.Doc, funcs: map[string]Func{}}
	for _, f := range m.Funcs {
		name := f.Spec().Name
		if own, ok := f.(*Function); ok && own.err != nil {
			return nil, fmt.Errorf("function %s: %w", name, own.err)
		}
		if _, twice := b.funcs[name]; twice || name == "" {
			return nil, fmt.Errorf("function %q: no name, or listed twice", name)
		}
		b.funcs[name] = f
	}
	return b, nil
}
