//go:build !small || languages

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/gem"
	"github.com/brineproject/brine/states/npm"
	"github.com/brineproject/brine/states/pip"
	"github.com/brineproject/brine/states/virtualenv"
)

// languages returns the states for the package managers of languages.
func (full) languages() []loader.Plugin {
	return []loader.Plugin{
		gem.Plugin(),
		npm.Plugin(),
		pip.Plugin(),
		virtualenv.Plugin(),
	}
}
