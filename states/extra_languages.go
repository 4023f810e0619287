//go:build !small || languages

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/composer"
	"github.com/brineproject/brine/states/gem"
	"github.com/brineproject/brine/states/npm"
	"github.com/brineproject/brine/states/pecl"
	"github.com/brineproject/brine/states/pip"
	"github.com/brineproject/brine/states/pyenv"
	"github.com/brineproject/brine/states/rbenv"
	"github.com/brineproject/brine/states/rvm"
	"github.com/brineproject/brine/states/virtualenv"
)

// languages returns the states for the package managers of programming languages.
func (full) languages() []loader.Plugin {
	return []loader.Plugin{
		composer.Plugin(),
		gem.Plugin(),
		npm.Plugin(),
		pecl.Plugin(),
		pip.Plugin(),
		pyenv.Plugin(),
		rbenv.Plugin(),
		rvm.Plugin(),
		virtualenv.Plugin(),
	}
}
