//go:build !small || distro

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/alternatives"
	"github.com/brineproject/brine/states/kernelpkg"
	"github.com/brineproject/brine/states/network"
)

// distro returns the states for alternatives, kernels and network files.
func (full) distro() []loader.Plugin {
	return []loader.Plugin{
		alternatives.Plugin(),
		kernelpkg.Plugin(),
		network.Plugin(),
	}
}
