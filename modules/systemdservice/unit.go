package systemdservice

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/loader"
)

// kinds lists the unit types that names may end in.
const kinds = " service socket device mount automount swap target path timer "

// systemUnits is the directory of units from packages, localUnits that of the administrator's
// units.
const (
	systemUnits = "/lib/systemd/system /usr/lib/systemd/system"
	localUnits  = "/etc/systemd/system"
	initScripts = "/etc/init.d"
)

// kindOf splits the file name of a unit. ok is false if it has none of the unit types in kinds.
func kindOf(file string) (name, kind string, ok bool) {
	i := strings.LastIndexByte(file, '.')
	if i < 0 {
		return "", "", false
	}
	name, kind = file[:i], file[i+1:]
	return name, kind, kind != "" && strings.Contains(kinds, " "+kind+" ")
}

// unitName returns the full name of a unit.
func unitName(name string) string {
	if _, _, ok := kindOf(name); ok {
		return name
	}
	return name + ".service"
}

// shortName returns the name of a unit as the module reports it, without the suffix of services. ok
// is false if it is not a unit.
func shortName(file string) (short string, ok bool) {
	name, kind, ok := kindOf(file)
	if kind != "service" {
		name = file
	}
	return name, ok
}

// fingerprint returns a text that changes when a file of a unit changes.
func (m *module) fingerprint(name string) string {
	unit := unitName(name)
	var b strings.Builder
	for dir := range strings.FieldsSeq(systemUnits + " " + localUnits + " /run/systemd/system") {
		for _, file := range []string{unit, unit + ".d"} {
			if info, err := os.Lstat(m.at(nil, filepath.Join(dir, file))); err == nil {
				fmt.Fprint(&b, info.ModTime().UnixNano(), info.Size(), info.Mode(), " ")
			}
			b.WriteByte('/')
		}
	}
	if info, err := os.Lstat(m.at(nil, filepath.Join(initScripts, name))); err == nil {
		fmt.Fprint(&b, info.ModTime().UnixNano(), info.Size())
	}
	return b.String()
}

// refresh reloads systemd if it has not loaded a local unit file or a script yet, or if the file
// has changed since.
func (m *module) refresh(ctx context.Context, name string) error {
	stale, err := m.stale(ctx, name)
	if err != nil || !stale {
		return err
	}
	return m.daemonReload(ctx)
}

func (m *module) stale(ctx context.Context, name string) (bool, error) {
	if readable(m.at(nil, filepath.Join(localUnits, unitName(name)))) ||
		readable(m.at(nil, filepath.Join(initScripts, name))) {
		if known, err := m.known(ctx, name); err != nil || !known {
			return !known, err
		}
	}
	o, err := m.unitStatus(ctx, name)
	return strings.Contains(strings.ToLower(o.Stdout), "'systemctl daemon-reload'"), err
}

func readable(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

var loaded = regexp.MustCompile(`^\s+loaded:\s+(\S+)`)

// known reports whether systemd has a unit.
func (m *module) known(ctx context.Context, name string) (bool, error) {
	if off, _ := m.offline(ctx, loader.NoArgs{}); off != false {
		return false, loader.Execution("Cannot run in offline mode. Failed to get information on unit '%s'", name)
	}
	o, err := m.unitStatus(ctx, name)
	if err != nil {
		return false, err
	}
	if n, ok := m.version(ctx); ok && n >= 231 { // since then the exit code for unknown units is 4
		return 0 <= o.Retcode && o.Retcode < 4, nil
	}
	output := strings.ToLower(o.Stdout)
	if strings.Contains(output, "could not be found") { // older version with that change backported
		return false, nil
	}
	for line := range strings.SplitSeq(output, "\n") {
		if match := loaded.FindStringSubmatch(line); match != nil {
			return match[1] != "not-found", nil
		}
	}
	return false, loader.Execution("Failed to get information on unit '%s'", name)
}

// units returns the short names of all units that have files. A directory that is a link to another
// one of them is skipped.
func (m *module) units(root any) map[string]bool {
	found := map[string]bool{}
	for dir := range strings.FieldsSeq(systemUnits + " " + localUnits) {
		path := m.at(root, dir)
		if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			m.env.Log.Debugf("Unable to list the units in %s: %v", path, err)
		}
		for _, e := range entries {
			if name, ok := shortName(e.Name()); ok {
				found[name] = true
			}
		}
	}
	return found
}

// scripts returns the names of the scripts in /etc/init.d without a unit.
func (m *module) scripts(root any, units map[string]bool) []string {
	dir := m.at(root, initScripts)
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		m.env.Log.Errorf("Unable to check sysvinit scripts: %v", err)
	}
	var names []string
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err != nil ||
			info.Mode()&0o111 == 0 {
			continue
		}
		if !units[e.Name()] {
			names = append(names, e.Name())
		}
	}
	return names
}

// isScript reports whether a service is a script in /etc/init.d without a unit.
func (m *module) isScript(root any, name string) bool {
	return slices.Contains(m.scripts(root, m.units(root)), name)
}
