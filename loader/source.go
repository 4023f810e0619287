package loader

import (
	"slices"
	"sync"
)

// A Source has plug-ins that are in no list, because their names are known only at run time: those that a host of another
// language has found in files. A Registry asks it by name when a function of that name is looked up, once between two
// reloads. Several goroutines may ask at once.
type Source interface {
	// Plugins returns the plug-ins of a virtual name, in the order in which they are tried; none where it knows none.
	Plugins(name string) []Plugin
	// Names returns all virtual names that Plugins knows.
	Names() []string
}

// Extend has the registry ask a source, nil for none, for plug-ins beside those of its list, and forgets all modules. They are
// tried after those of the list, or, with Plugin.Over, before.
func (r *Registry) Extend(s Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.source = s
	r.renew()
}

// renew forgets all modules. r.mu is held.
func (r *Registry) renew() { r.shelf = newShelf(r.env, r.plugins, r.source) }

// finds are the plug-ins that a source has given a shelf.
type finds struct {
	source Source // may be nil
	mu     sync.Mutex
	slots  map[string][]*slot // by virtual name
}

// of returns the plug-ins of a virtual name.
func (f *finds) of(name string) []*slot {
	if f.source == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.slots[name]; ok {
		return known
	}
	if f.slots == nil {
		f.slots = map[string][]*slot{}
	}
	slots := []*slot{}
	for _, p := range f.source.Plugins(name) {
		if p.New != nil && slices.Contains(append([]string{p.Name, p.file()}, p.Aliases...), name) {
			slots = append(slots, f.own(p))
		}
	}
	f.slots[name] = slots
	return slots
}

// own returns the slot of a plug-in, which may have been found by another of its names before.
func (f *finds) own(p Plugin) *slot {
	for _, slots := range f.slots {
		for _, s := range slots {
			if s.plugin.file() == p.file() {
				return s
			}
		}
	}
	return &slot{plugin: p}
}

// names returns all virtual names.
func (f *finds) names() []string {
	if f.source == nil {
		return nil
	}
	return f.source.Names()
}

// files returns the file names of all plug-ins.
func (f *finds) files() []string {
	var files []string
	for _, name := range f.names() {
		for _, s := range f.of(name) {
			files = append(files, s.plugin.file())
		}
	}
	return files
}
