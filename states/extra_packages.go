//go:build !small || packages

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/alternatives"
)

// packages returns the states for the package managers of distributions other than Debian and Alpine.
func (full) packages() []loader.Plugin {
	return []loader.Plugin{
		alternatives.Plugin(),
	}
}
