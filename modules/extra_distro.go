//go:build !small || distro

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/alternatives"
	"github.com/brineproject/brine/modules/debianip"
	"github.com/brineproject/brine/modules/kernelpkg"
	"github.com/brineproject/brine/modules/rhip"
	"github.com/brineproject/brine/modules/suseip"
	"github.com/brineproject/brine/modules/zypperpkg"
)

// distro returns the modules for package managers and network files of single distributions.
func (full) distro() []loader.Plugin {
	return []loader.Plugin{
		alternatives.Plugin(),
		debianip.Plugin(),
		kernelpkg.Apt(),
		kernelpkg.Yum(),
		rhip.Plugin(),
		suseip.Plugin(),
		zypperpkg.Plugin(),
	}
}
