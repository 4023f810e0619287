//go:build !small || !noarchive

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/archive"
)

// archive returns the module for archives.
func (full) archive() []loader.Plugin {
	return []loader.Plugin{
		archive.Plugin(),
	}
}
