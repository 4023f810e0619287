package cli

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
)

// Knows returns a function that reports whether plugins contain a function. If a module cannot be
// loaded on this host now, its functions are assumed to exist.
func Knows(plugins []loader.Plugin, opts *data.Map) func(fun string) bool {
	nothing := func() *data.Map { return data.NewMap() }
	silent := logging.Discard()
	shelf, err := loader.NewRegistry(&loader.Env{Opts: opts, Grains: nothing, Pillar: nothing,
		Log: silent}, plugins)
	return func(fun string) bool {
		module, _, _ := strings.Cut(fun, ".")
		there := slices.ContainsFunc(plugins,
			func(p loader.Plugin) bool {
				return p.Name == module ||
					slices.Contains(p.Aliases, module)
			})
		return err != nil || there && (shelf.Has(fun) ||
			!slices.ContainsFunc(shelf.Names(),
				func(n string) bool { return strings.HasPrefix(n, module+".") }))
	}
}
