//go:build !small || storage

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/blockdev"
	"github.com/brineproject/brine/states/lvm"
)

// storage returns the states for disks and volumes.
func (full) storage() []loader.Plugin {
	return []loader.Plugin{
		blockdev.Plugin(),
		lvm.Plugin(),
	}
}
