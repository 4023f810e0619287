//go:build !small || storage

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/disk"
	"github.com/brineproject/brine/modules/lvm"
)

// storage returns the modules for disks and volumes.
func (full) storage() []loader.Plugin {
	return []loader.Plugin{
		disk.Plugin(),
		lvm.Plugin(),
	}
}
