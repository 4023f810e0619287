//go:build !small || !noarchive

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/archive"
)

// archive returns the states for archives.
func (full) archive() []loader.Plugin {
	return []loader.Plugin{
		archive.Plugin(),
	}
}
