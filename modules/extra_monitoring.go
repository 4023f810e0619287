//go:build !small || monitoring

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/ps"
)

// monitoring returns the modules that watch a host.
func (full) monitoring() []loader.Plugin {
	return []loader.Plugin{
		ps.Plugin(),
	}
}
