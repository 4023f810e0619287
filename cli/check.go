package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Knows returns what tells whether there is a function in one of plugins. Of a module that does not work on this host now it is
// not known, and what it has is taken to be there.
func Knows(plugins []loader.Plugin, opts *data.Map) func(fun string) bool {
	nothing := func() *data.Map { return data.NewMap() }
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	shelf, err := loader.NewRegistry(&loader.Env{Opts: opts, Grains: nothing, Pillar: nothing, Log: silent}, plugins)
	return func(fun string) bool {
		module, _, _ := strings.Cut(fun, ".")
		there := slices.ContainsFunc(plugins, func(p loader.Plugin) bool { return p.Name == module || slices.Contains(p.Aliases, module) })
		return err != nil || there && (shelf.Has(fun) || !slices.ContainsFunc(shelf.Names(), func(n string) bool { return strings.HasPrefix(n, module+".") }))
	}
}
