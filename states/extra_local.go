//go:build !small || local

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/salt"
)

// local returns the states for a minion on a master's host.
func (full) local() []loader.Plugin {
	return []loader.Plugin{
		salt.Plugin(),
	}
}
