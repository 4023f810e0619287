//go:build !small || hardware

package states

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/states/blockdev"
	"github.com/brineproject/brine/states/disk"
	"github.com/brineproject/brine/states/glusterfs"
	"github.com/brineproject/brine/states/keyboard"
	"github.com/brineproject/brine/states/kmod"
	"github.com/brineproject/brine/states/lvm"
	"github.com/brineproject/brine/states/nfsexport"
	"github.com/brineproject/brine/states/quota"
	"github.com/brineproject/brine/states/raid"
	"github.com/brineproject/brine/states/sysfs"
	"github.com/brineproject/brine/states/tuned"
)

// hardware returns the states for disks, file systems and the kernel.
func (full) hardware() []loader.Plugin {
	return []loader.Plugin{
		blockdev.Plugin(),
		disk.Plugin(),
		glusterfs.Plugin(),
		keyboard.Plugin(),
		kmod.Plugin(),
		lvm.Plugin(),
		nfsexport.Plugin(),
		quota.Plugin(),
		raid.Plugin(),
		sysfs.Plugin(),
		tuned.Plugin(),
	}
}
