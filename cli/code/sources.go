package code

import (
	"slices"

	"github.com/brineproject/brine/loader"
)

// sources is several sources as one, the first of which counts most.
type sources []loader.Source

var (
	_ loader.Source    = sources(nil)
	_ loader.Forgetter = sources(nil)
)

// Plugins returns the plug-ins of all sources with a virtual name.
func (s sources) Plugins(name string) []loader.Plugin {
	var all []loader.Plugin
	for _, one := range s {
		all = append(all, one.Plugins(name)...)
	}
	return all
}

// Names returns the virtual names of all sources, sorted.
func (s sources) Names() []string {
	var all []string
	for _, one := range s {
		all = append(all, one.Names()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Forget makes the sources find their plug-ins again.
func (s sources) Forget() {
	for _, one := range s {
		if f, ok := one.(loader.Forgetter); ok {
			f.Forget()
		}
	}
}
