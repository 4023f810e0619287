//go:build !small || languages

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/gem"
	"github.com/brineproject/brine/modules/npm"
	"github.com/brineproject/brine/modules/pip"
	"github.com/brineproject/brine/modules/virtualenv"
)

// languages returns the modules for the package managers of languages.
func (full) languages() []loader.Plugin {
	return []loader.Plugin{
		gem.Plugin(),
		npm.Plugin(),
		pip.Plugin(),
		virtualenv.Plugin(),
	}
}
