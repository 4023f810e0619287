//go:build !small || !nodebian

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/debconf"
)

// debian returns the states of Debian.
func (full) debian() []loader.Plugin {
	return []loader.Plugin{
		debconf.Plugin(),
	}
}
