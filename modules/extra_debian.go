//go:build !small || !nodebian

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/aptpkg"
	"github.com/brineproject/brine/modules/aptsources"
	"github.com/brineproject/brine/modules/debconf"
	"github.com/brineproject/brine/modules/debianservice"
	"github.com/brineproject/brine/modules/dpkg"
)

// debian returns the package managers and services of Debian.
func (full) debian() []loader.Plugin {
	return []loader.Plugin{
		aptpkg.Plugin(),
		aptsources.Plugin(),
		debconf.Plugin(),
		debianservice.Plugin(),
		dpkg.Plugin(),
	}
}
