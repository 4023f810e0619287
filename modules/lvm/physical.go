package lvm

import (
	"context"
	"os"

	"github.com/brineproject/brine/data"
)

type pvcreateArgs struct {
	Devices  any
	Override any       `default:"True"`
	Force    any       `default:"True"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// pvcreate makes devices physical volumes. It returns True, or a text that tells why it did not.
//
// devices
//
//	A list, or a text in which commas separate the devices.
//
// override
//
//	True: skip devices that are physical volumes already. False: refuse them.
//
// force
//
//	True: answer the program's questions with yes.
//
// Further arguments become options of the program: metadatasize, dataalignment,
// dataalignmentoffset, pvmetadatacopies, metadatacopies, metadataignore, restorefile,
// norestorefile, labelsector, setphysicalvolumesize.
//
// CLI Example:
//
//	salt mymachine lvm.pvcreate /dev/sdb1,/dev/sdb2
//	salt mymachine lvm.pvcreate /dev/sdb1 dataalignmentoffset=7s
func (m *module) pvcreate(ctx context.Context, a pvcreateArgs) (any, error) {
	if !data.Truth(a.Devices) {
		return "Error: at least one device is required", nil
	}
	devices, err := devicesOf(a.Devices)
	if err != nil {
		return nil, err
	}
	var fresh []string
	for _, device := range devices {
		if _, err := os.Stat(device); err != nil {
			return device + " does not exist", nil
		}
		is, err := m.isVolume(ctx, device, true)
		switch {
		case err != nil:
			return nil, err
		case !is:
			fresh = append(fresh, device)
		case !data.Truth(a.Override):
			return `Device "` + device + `" is already an LVM physical volume.`, nil
		}
	}
	if len(fresh) == 0 {
		return true, nil
	}
	more, err := options(a.Kwargs, "metadatasize", "dataalignment", "dataalignmentoffset",
		"pvmetadatacopies", "metadatacopies", "metadataignore", "restorefile", "norestorefile",
		"labelsector", "setphysicalvolumesize")
	if err != nil {
		return nil, err
	}
	argv := append([]string{"pvcreate", consent(a.Force, "--yes")}, fresh...)
	ran, err := m.run(ctx, append(argv, more...)...)
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 {
		return ran.Stderr, nil
	}
	return m.affected(ctx, devices, true)
}

// isVolume reports whether a device is a physical volume.
func (m *module) isVolume(ctx context.Context, device string, quiet bool) (bool, error) {
	found, err := m.pvdisplay(ctx, pvdisplayArgs{Pvname: device, Quiet: quiet})
	return found.Len() > 0, err
}

// affected returns True if all devices are physical volumes, or if none of them is, as wanted;
// otherwise a text with the first device that differs.
func (m *module) affected(ctx context.Context, devices []string, wanted bool) (any, error) {
	for _, device := range devices {
		is, err := m.isVolume(ctx, device, !wanted)
		switch {
		case err != nil:
			return nil, err
		case is != wanted:
			return `Device "` + device + `" was not affected.`, nil
		}
	}
	return true, nil
}

type pvArgs struct {
	Devices  any
	Override any `default:"True"`
	Force    any `default:"True"`
}

// pvremove removes the LVM label from devices. It returns True, or a text with the reason why it did
// not.
//
// override
//
//	True: skip devices that are no physical volumes. False: refuse them.
//
// CLI Example:
//
//	salt mymachine lvm.pvremove /dev/sdb1,/dev/sdb2
func (m *module) pvremove(ctx context.Context, a pvArgs) (any, error) {
	result, err := m.onVolumes(ctx, "pvremove", a)
	if err != nil || result != nil {
		return result, err
	}
	devices, err := devicesOf(a.Devices)
	if err != nil {
		return nil, err
	}
	return m.affected(ctx, devices, false)
}

// pvresize resizes physical volumes to the sizes of their devices. It returns True, or a text that
// tells why it did not.
//
// override
//
//	True: skip devices that are no physical volumes. False: refuse them.
//
// CLI Example:
//
//	salt mymachine lvm.pvresize /dev/sdb1,/dev/sdb2
func (m *module) pvresize(ctx context.Context, a pvArgs) (any, error) {
	result, err := m.onVolumes(ctx, "pvresize", a)
	if err == nil && result == nil {
		return true, nil
	}
	return result, err
}

// onVolumes runs a program on those devices that are physical volumes. It returns nil if that
// succeeded, True if there are none, or a complaint.
func (m *module) onVolumes(ctx context.Context, program string, a pvArgs) (any, error) {
	devices, err := devicesOf(a.Devices)
	if err != nil {
		return nil, err
	}
	argv := []string{program, consent(a.Force, "--yes")}
	for _, device := range devices {
		is, err := m.isVolume(ctx, device, false)
		switch {
		case err != nil:
			return nil, err
		case is:
			argv = append(argv, device)
		case !data.Truth(a.Override):
			return device + " is not a physical volume", nil
		}
	}
	if len(argv) == 2 {
		return true, nil
	}
	ran, err := m.run(ctx, argv...)
	if err != nil || ran.Retcode == 0 {
		return nil, err
	}
	return ran.Stderr, nil
}
