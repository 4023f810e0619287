package python

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Shelf is the source of the plug-ins of one kind that an installed Salt has and Brine has not,
// loaded by Salt's own loader.
type Shelf struct {
	files  *Files // answers Python's calls
	listed map[string]bool

	mu    sync.Mutex
	known map[string]*data.Map // descriptions by virtual name; nil for none
	all   []string             // names, after a scan
}

var (
	_ loader.Source    = (*Shelf)(nil)
	_ loader.Forgetter = (*Shelf)(nil)
)

// ShelfKinds returns the kinds of plug-ins of an installed Salt that can be used.
func ShelfKinds() []string { return []string{"modules", "runners", "states"} }

// Shelf returns the plug-ins of the host's [Library]. Names that are listed are Brine's and never
// looked for. The files are those of the same kind and registry.
func (h *Host) Shelf(files *Files) *Shelf {
	s := &Shelf{files: files, listed: map[string]bool{}, known: map[string]*data.Map{}}
	for _, p := range files.listed {
		for _, name := range append([]string{p.Name, p.File}, p.Aliases...) {
			s.listed[name] = true
		}
	}
	return s
}

// Forget makes Salt's plug-ins be loaded again (loader.Forgetter).
func (s *Shelf) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.all = map[string]*data.Map{}, nil
}

// ask calls an operation of the host program while plug-ins are loaded.
func (s *Shelf) ask(operation string, args ...any) (any, error) {
	host := s.files.host
	ctx, cancel := host.limited(context.WithValue(context.Background(), loadingKey{}, true))
	defer cancel()
	r, err := host.call(ctx, s.files.answers, operation, append([]any{s.files.kind}, args...)...)
	if err != nil {
		s.files.env.Log.Errorf("load %s of the installed Salt: %v", s.files.kind, err)
	}
	return r.value, err
}

// Plugins returns Salt's plug-in of that name.
func (s *Shelf) Plugins(name string) []loader.Plugin {
	if s.listed[name] {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.known[name]
	if !ok && s.all == nil {
		v, err := s.ask("salt_load", name)
		if err != nil {
			return nil
		}
		d, _ = v.(*data.Map)
		s.known[name] = d
	}
	if d == nil {
		return nil
	}
	return []loader.Plugin{{Name: name, File: "salt:" + name,
		New: func(*loader.Env) (*loader.Module, error) { return s.module(name, d) }}}
}

// module returns the plug-in that d describes.
func (s *Shelf) module(name string, d *data.Map) (*loader.Module, error) {
	if reason, refused := d.Get("reason"); refused {
		return nil, errors.New(data.Str(reason))
	}
	m := &loader.Module{Doc: d.Text("doc")}
	for _, v := range listOf(d.Value("functions")) {
		if one, ok := v.(*data.Map); ok {
			f := newFunction(s.files, name, one)
			f.operation = "salt_call"
			m.Funcs = append(m.Funcs, f)
		}
	}
	return m, nil
}

// Names returns the names of all that Salt can load here.
func (s *Shelf) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all != nil {
		return s.all
	}
	var skip []any
	for name := range s.listed {
		skip = append(skip, name)
	}
	v, err := s.ask("salt_scan", skip)
	m, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil
	}
	s.all = []string{}
	for name, d := range m.All() {
		s.known[data.Str(name)], _ = d.(*data.Map)
		s.all = append(s.all, data.Str(name))
	}
	slices.Sort(s.all)
	return s.all
}
