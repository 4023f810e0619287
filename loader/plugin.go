package loader

import (
	"slices"

	"github.com/brineproject/brine/data"
)

// A Plugin is an entry in a shelf's list: names and the factory of a module.
type Plugin struct {
	Name    string   // virtual name, that of the functions: pkg
	File    string   // name of the provider: aptpkg; "" means Name
	Aliases []string // further virtual names
	New     Factory
	Docs    *Docs // documentation of the functions; nil is none
	Over    bool  // of a Source: tried before the plug-ins of the list, as Salt's extension modules are
}

// A Factory makes a module. It is called when the module is first needed, and again after each reload. An error means that
// the module does not work here; its text is the reason that operators see.
type Factory func(env *Env) (*Module, error)

// A Module is the functions of one plug-in.
type Module struct {
	Funcs []Func
	Doc   string // of the module itself
}

func (p Plugin) file() string {
	if p.File != "" {
		return p.File
	}
	return p.Name
}

// Allowed leaves out the plug-ins of a shelf that options forbid: those whose file name stands in disable_<kind>, and, where
// whitelist_<kind> is not empty, those whose virtual name does not stand in it. kind is Salt's word: modules, states, returners.
func Allowed(plugins []Plugin, opts *data.Map, kind string) []Plugin {
	disabled, whitelist := data.TextsOf(opts.Value("disable_"+kind)), data.TextsOf(opts.Value("whitelist_"+kind))
	var allowed []Plugin
	for _, p := range plugins {
		if !slices.Contains(disabled, p.file()) && (len(whitelist) == 0 || slices.Contains(whitelist, p.Name)) {
			allowed = append(allowed, p)
		}
	}
	return allowed
}
