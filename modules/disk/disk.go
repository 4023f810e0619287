//go:build linux

// Package disk is Salt's module disk: file systems and the disks below them, by the programs that know them (salt/modules/disk.py).
//
// usage.go asks df, device.go blkid, blockdev, lsblk and the programs that write to devices, hdparm.go hdparm, health.go smartctl and
// iostat. A function whose program is not there says so.
//
// What is odd, and as in Salt: disk.fstype returns a whole line of df where a device has no file system of its own.
// What differs: there is Linux alone; devices are arguments of their own, and no words of a command line; a line that cannot be read is
// left out, and not the end of the function; the tables of newer programs iostat are read, too.
package disk

import (
	"context"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("blkid", m.blkid),
		loader.F("dump", m.dump),
		loader.F("format", m.format).Def("format_"),
		loader.F("fstype", m.fstype),
		loader.F("get_fstype_from_path", m.getFstypeFromPath),
		loader.F("hdparms", m.hdparms),
		loader.F("hpa", m.hpa),
		loader.F("inodeusage", m.inodeusage),
		loader.F("iostat", m.iostat),
		loader.F("percent", m.percent),
		loader.F("resize2fs", m.resize2fs),
		loader.F("smart_attributes", m.smartAttributes),
		loader.F("tune", m.tune),
		loader.F("usage", m.usage),
		loader.F("wipe", m.wipe),
	}}, nil
}

// needs returns Salt's error for a program that is not there (salt/utils/decorators/path.py, which).
func needs(programs ...string) error {
	for _, name := range programs {
		if process.Find(name) == "" {
			return loader.Exception("salt.exceptions.CommandNotFoundError", "The '%s' binary was not found in $PATH.", name)
		}
	}
	return nil
}

// plain refuses devices that a program would take for options.
func plain(devices ...string) error {
	if err := process.Operands(devices...); err != nil {
		return loader.Execution("%w", err)
	}
	return nil
}

// run runs a program.
func (m *module) run(ctx context.Context, argv ...string) (calls.Ran, error) {
	return calls.RunAll(ctx, m.env, calls.Run{Argv: argv})
}
