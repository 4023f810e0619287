package loader

import (
	"slices"
	"sync"
)

// A Source provides plug-ins whose names are known only at run time, such as those that a host for
// another language finds in files. A Registry asks it when a function is looked up, once per name
// between two reloads. A Source must be safe for concurrent use.
type Source interface {
	// Plugins returns the plug-ins with a virtual name, in the order of attempts.
	Plugins(name string) []Plugin
	// Names returns all virtual names that Plugins accepts.
	Names() []string
}

// Extend sets a source of additional plug-ins, nil for none, and discards all modules. Its plug-ins
// are tried after those of the list, or before them with Plugin.Over.
func (r *Registry) Extend(s Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.source = s
	r.renew()
}

// A Forgetter is a Source that caches its plug-ins. Forget makes it find them again; a Registry
// calls it when it discards its modules.
type Forgetter interface{ Forget() }

// renew discards all modules. r.mu must be held.
func (r *Registry) renew() {
	if f, ok := r.source.(Forgetter); ok {
		f.Forget()
	}
	r.modules = newModuleSet(r.env, r.plugins, r.source)
}

// sourceCache caches the plug-ins that a source has returned for a moduleSet.
type sourceCache struct {
	source Source // may be nil
	mu     sync.Mutex
	slots  map[string][]*slot // by virtual name
}

// plugins returns the plug-ins with a virtual name.
func (f *sourceCache) plugins(name string) []*slot {
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
	passing := false
	for _, p := range f.source.Plugins(name) {
		passing = passing || p.Passing
		if p.New != nil && slices.Contains(append([]string{p.Name, p.file()}, p.Aliases...), name) {
			slots = append(slots, f.slot(p))
		}
	}
	if !passing {
		f.slots[name] = slots
	}
	return slots
}

// slot returns the slot of a plug-in, which may already exist under another of its names.
func (f *sourceCache) slot(p Plugin) *slot {
	for _, slots := range f.slots {
		for _, s := range slots {
			if s.plugin.file() == p.file() {
				return s
			}
		}
	}
	return &slot{plugin: p}
}

// names returns all virtual names of the source.
func (f *sourceCache) names() []string {
	if f.source == nil {
		return nil
	}
	return f.source.Names()
}

// files returns the file names of all plug-ins of the source.
func (f *sourceCache) files() []string {
	var files []string
	for _, name := range f.names() {
		for _, s := range f.plugins(name) {
			files = append(files, s.plugin.file())
		}
	}
	return files
}
