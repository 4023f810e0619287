//go:build !small || !noarchlinux

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/pacmanpkg"
)

// archlinux returns the package manager of Arch Linux.
func (full) archlinux() []loader.Plugin {
	return []loader.Plugin{
		pacmanpkg.Plugin(),
	}
}
