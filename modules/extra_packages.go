//go:build !small || packages

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/alternatives"
	"github.com/brineproject/brine/modules/pacmanpkg"
	"github.com/brineproject/brine/modules/rpm"
	"github.com/brineproject/brine/modules/yumpkg"
	"github.com/brineproject/brine/modules/zypperpkg"
)

// packages returns the modules for the package managers of distributions other than Debian and Alpine.
func (full) packages() []loader.Plugin {
	return []loader.Plugin{
		alternatives.Plugin(),
		pacmanpkg.Plugin(),
		rpm.Plugin(),
		yumpkg.Plugin(),
		zypperpkg.Plugin(),
	}
}
