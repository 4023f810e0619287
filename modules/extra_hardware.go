//go:build !small || hardware

package modules

import (
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/disk"
	"github.com/brineproject/brine/modules/glusterfs"
	"github.com/brineproject/brine/modules/keyboard"
	"github.com/brineproject/brine/modules/kmod"
	"github.com/brineproject/brine/modules/lvm"
	"github.com/brineproject/brine/modules/nfs3"
	"github.com/brineproject/brine/modules/partition"
	"github.com/brineproject/brine/modules/quota"
	"github.com/brineproject/brine/modules/raid"
	"github.com/brineproject/brine/modules/sysfs"
	"github.com/brineproject/brine/modules/tuned"
	"github.com/brineproject/brine/modules/udev"
	"github.com/brineproject/brine/modules/xfs"
)

// hardware returns the modules for disks, file systems and the kernel.
func (full) hardware() []loader.Plugin {
	return []loader.Plugin{
		disk.Plugin(),
		glusterfs.Plugin(),
		keyboard.Plugin(),
		kmod.Plugin(),
		lvm.Plugin(),
		nfs3.Plugin(),
		partition.Plugin(),
		quota.Plugin(),
		raid.Plugin(),
		sysfs.Plugin(),
		tuned.Plugin(),
		udev.Plugin(),
		xfs.Plugin(),
	}
}
