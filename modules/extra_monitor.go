//go:build !small || monitor

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/network"
	"github.com/brineproject/brine/modules/ps"
	"github.com/brineproject/brine/modules/status"
)

// monitor returns the modules for values of the running system.
func (full) monitor() []loader.Plugin {
	return []loader.Plugin{
		network.Plugin(),
		ps.Plugin(),
		status.Plugin(),
	}
}
