package lvm

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type pvdisplayArgs struct {
	Pvname string `default:"''"`
	Real   any    `default:"False"`
	Quiet  any    `default:"False"`
}

// pvdisplay returns information about physical volumes by device, or about one of them. It returns
// an empty dictionary if there is none.
//
// real
//
//	True: the real device, with symbolic links followed.
//
// quiet
//
//	True: a volume that does not exist does not fail the job.
//
// CLI Example:
//
//	salt '*' lvm.pvdisplay
//	salt '*' lvm.pvdisplay /dev/md0
func (m *module) pvdisplay(ctx context.Context, a pvdisplayArgs) (*data.Map, error) {
	rows, err := m.rows(ctx, "pvdisplay", a.Pvname, a.Quiet)
	all := data.NewMap()
	for _, row := range rows {
		device := row[0]
		if data.Truth(a.Real) {
			device = resolved(device)
		}
		if info := named(row, "Physical Volume Device", "Volume Group Name",
			"Physical Volume Size (kB)", "Internal Physical Volume Number",
			"Physical Volume Status", "Physical Volume (not) Allocatable",
			"Current Logical Volumes Here", "Physical Extent Size (kB)", "Total Physical Extents",
			"Free Physical Extents", "Allocated Physical Extents"); info != nil {
			if data.Truth(a.Real) {
				info.Set("Real Physical Volume Device", device)
			}
			all.Set(device, info)
		}
	}
	return all, err
}

// resolved returns a path without symbolic links; one that cannot be read stays as it is.
func resolved(path string) string {
	if followed, err := filepath.EvalSymlinks(path); err == nil {
		return followed
	}
	return path
}

type vgdisplayArgs struct {
	Vgname string `default:"''"`
	Quiet  any    `default:"False"`
}

// vgdisplay returns information about volume groups by name, or about one of them. It returns an
// empty dictionary if there is none.
//
// quiet
//
//	True: a group that does not exist does not fail the job.
//
// CLI Example:
//
//	salt '*' lvm.vgdisplay
//	salt '*' lvm.vgdisplay nova-volumes
func (m *module) vgdisplay(ctx context.Context, a vgdisplayArgs) (*data.Map, error) {
	rows, err := m.rows(ctx, "vgdisplay", a.Vgname, a.Quiet)
	return table(rows, "Volume Group Name", "Volume Group Access", "Volume Group Status",
		"Internal Volume Group Number", "Maximum Logical Volumes", "Current Logical Volumes",
		"Open Logical Volumes", "Maximum Logical Volume Size", "Maximum Physical Volumes",
		"Current Physical Volumes", "Actual Physical Volumes", "Volume Group Size (kB)",
		"Physical Extent Size (kB)", "Total Physical Extents", "Allocated Physical Extents",
		"Free Physical Extents", "UUID"), err
}

type lvdisplayArgs struct {
	Lvname string `default:"''"`
	Quiet  any    `default:"False"`
}

// lvdisplay returns information about logical volumes by device, or about one of them. It returns
// an empty dictionary if there is none.
//
// quiet
//
//	True: a volume that does not exist does not fail the job.
//
// CLI Example:
//
//	salt '*' lvm.lvdisplay
//	salt '*' lvm.lvdisplay /dev/vg_myserver/root
func (m *module) lvdisplay(ctx context.Context, a lvdisplayArgs) (*data.Map, error) {
	rows, err := m.rows(ctx, "lvdisplay", a.Lvname, a.Quiet)
	return table(rows, "Logical Volume Name", "Volume Group Name", "Logical Volume Access",
		"Logical Volume Status", "Internal Logical Volume Number", "Open Logical Volumes",
		"Logical Volume Size", "Current Logical Extents Associated", "Allocated Logical Extents",
		"Allocation Policy", "Read Ahead Sectors", "Major Device Number", "Minor Device Number"), err
}

// absent matches what the programs report for a name that does not exist.
var absent = regexp.MustCompile(
	`(?im)^\s*(?:failed to find .*|(?:volume group|logical volume) .* not found.*)$`)

// rows runs a program with its output in columns, and returns them by line. A name that does not
// exist has none; any other failure to look a name up is an error.
func (m *module) rows(ctx context.Context, program, name string, quiet any) ([][]string, error) {
	argv := []string{program, "-c"}
	if name != "" {
		argv = append(argv, name)
	}
	if err := plain(name); err != nil {
		return nil, err
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv, IgnoreRetcode: data.Truth(quiet)})
	switch {
	case err != nil:
		return nil, err
	case ran.Retcode == 0:
		return columns(ran.Stdout), nil
	case name == "" || absent.MatchString(ran.Stderr):
		return nil, nil
	}
	return nil, loader.Execution("%s %s: %s", program, name, strings.TrimSpace(ran.Stderr))
}

// columns splits the lines of a program's output. A device that is no volume yet is no row.
func columns(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "is a new physical volume") {
			rows = append(rows, strings.Split(strings.TrimSpace(line), ":"))
		}
	}
	return rows
}

// table returns the rows by their first column.
func table(rows [][]string, names ...string) *data.Map {
	all := data.NewMap()
	for _, row := range rows {
		if info := named(row, names...); info != nil {
			all.Set(row[0], info)
		}
	}
	return all
}

// named returns the columns by name, or nil if there are too few.
func named(row []string, names ...string) *data.Map {
	if len(row) < len(names) {
		return nil
	}
	info := data.NewMap()
	for i, name := range names {
		info.Set(name, row[i])
	}
	return info
}
