package loader

import (
	"slices"

	"github.com/brineproject/brine/data"
)

// A Plugin is one plug-in of a registry: its names and the factory of its module.
type Plugin struct {
	Name    string   // virtual name, the prefix of its functions: pkg
	File    string   // provider's file name: aptpkg; "" means Name
	Aliases []string // further virtual names
	New     Factory
	Docs    *Docs // documentation of the functions; may be nil
	// for plug-ins of a Source: try before those of the list, like Salt's extension modules
	Over bool
	// for plug-ins of a Source: its state may pass, so the registry asks the source again next time
	Passing bool
}

// A Factory builds a module. It is called when the module is first needed, and again after each
// reload. An error means that the module is not available on this host; its text is the reason
// shown to operators.
type Factory func(env *Env) (*Module, error)

// A Module holds the functions of one plug-in.
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

// Allowed returns the plug-ins that the options allow. It leaves out those whose file name is
// listed in disable_<kind> and, if whitelist_<kind> is not empty, those whose virtual name is not
// listed there. kind is Salt's word: modules, states, returners.
func Allowed(plugins []Plugin, opts *data.Map, kind string) []Plugin {
	disabled, whitelist := data.TextsOf(opts.Value("disable_"+kind)),
		data.TextsOf(opts.Value("whitelist_"+kind))
	var allowed []Plugin
	for _, p := range plugins {
		if !slices.Contains(disabled, p.file()) &&
			(len(whitelist) == 0 || slices.Contains(whitelist, p.Name)) {
			allowed = append(allowed, p)
		}
	}
	return allowed
}
