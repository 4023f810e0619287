//go:build !small || languages

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/composer"
	"github.com/brineproject/brine/modules/django"
	"github.com/brineproject/brine/modules/gem"
	"github.com/brineproject/brine/modules/npm"
	"github.com/brineproject/brine/modules/pecl"
	"github.com/brineproject/brine/modules/pip"
	"github.com/brineproject/brine/modules/pyenv"
	"github.com/brineproject/brine/modules/rbenv"
	"github.com/brineproject/brine/modules/rvm"
	"github.com/brineproject/brine/modules/virtualenv"
)

// languages returns the modules for the package managers of programming languages.
func (full) languages() []loader.Plugin {
	return []loader.Plugin{
		composer.Plugin(),
		django.Plugin(),
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
