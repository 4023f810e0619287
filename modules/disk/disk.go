//go:build linux

// Package disk is Salt's module disk: file systems and disks, by means of the usual programs
// (salt/modules/disk.py).
//
// usage.go runs df, device.go blkid, blockdev, lsblk and the programs that write to devices,
// hdparm.go hdparm, health.go smartctl and iostat. A function whose program is missing returns an
// error that says so.
//
// As in Salt, disk.fstype returns a whole line of df if a device has no file system of its own.
// Differences from Salt: only Linux is supported; devices are passed as separate arguments, not as
// words of a shell command; a line that cannot be parsed is skipped and does not fail the function;
// the tables of newer iostat versions are supported.
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

// needs returns Salt's error for a missing program (salt/utils/decorators/path.py, which).
func needs(programs ...string) error {
	for _, name := range programs {
		if process.Find(name) == "" {
			return loader.Exception("salt.exceptions.CommandNotFoundError",
				"The '%s' binary was not found in $PATH.", name)
		}
	}
	return nil
}

// plain rejects devices that a program would parse as options.
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
