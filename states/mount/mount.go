// Package mount is Salt's state mount: mounted file systems and the fstab (salt/states/mount.py).
// It uses the module mount.
//
// Differences from Salt: options that the kernel shows in another form or not at all, such as
// mode=0755, size=10m, exec or noauto, do not cause a remount in each run; sizes are compared by
// value. The file system options of a bind mount are not added to the fstab. A device can be found
// by its label. Failing to mount or unmount is a failure. An entry that is already in the fstab, or
// already removed, is reported as such in test mode, too. Directory names may contain spaces.
package mount

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state mount.
func Plugin() loader.Plugin { return loader.Plugin{Name: "mount", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("mounted", m.mounted),
		loader.F("unmounted", m.unmounted),
		loader.F("swap", m.swap),
		loader.F("fstab_present", m.fstabPresent),
		loader.F("fstab_absent", m.fstabAbsent),
		loader.F("mod_watch", m.modWatch),
	}}, nil
}

func (m *module) at(path string) string { return filepath.Join("/", m.env.Root, path) }

// exists reports whether a path exists. Errors other than not found count as existing.
func (m *module) exists(path string) bool {
	_, err := os.Stat(m.at(path))
	return !os.IsNotExist(err)
}

// real resolves the links in a path.
func (m *module) real(path string) string {
	if m.at("") != "/" {
		return filepath.Clean(path)
	}
	for rest, tail := filepath.Clean(path), ""; ; rest, tail = filepath.Dir(rest),
		filepath.Join(filepath.Base(rest), tail) {
		if found, err := filepath.EvalSymlinks(rest); err == nil {
			return filepath.Join(found, tail)
		}
		if rest == filepath.Dir(rest) {
			return filepath.Clean(path)
		}
	}
}

// shown returns a path in the form that the kernel shows.
func shown(path string) string { return strings.ReplaceAll(path, " ", `\040`) }

// trimmed returns a directory without a trailing slash.
func trimmed(name string) string {
	if name == "/" {
		return name
	}
	return strings.TrimRight(name, "/")
}

func (m *module) mac() bool {
	os := m.env.GrainsNow().Text("os")
	return os == "MacOS" || os == "Darwin"
}

// active returns the mounted file systems.
func (m *module) active(ctx context.Context) (*data.Map, error) {
	return change.Ask[*data.Map](ctx, m.env, "mount.active", nil, data.NewMap("extended", true))
}

// list returns a list, or the parts of a string separated by commas.
func list(v any) []string {
	if v == "" {
		return nil
	}
	return data.SplitTexts(v, ",")
}

// set adds an entry to the fstab, or to its equivalent on macOS.
func (m *module) set(ctx context.Context, e entry, test bool) (string, error) {
	words := data.NewMap("name", e.dir, "device", e.device, "fstype", e.fstype, "opts", e.opts,
		"config", m.config(e.config), "test", test, "not_change", e.notChange)
	fun := "mount.set_automaster"
	if !m.mac() {
		fun = "mount.set_fstab"
		words.Update(data.NewMap("dump", e.dump, "pass_num", e.pass, "match_on", e.matchOn))
	}
	v, err := change.Ask[any](ctx, m.env, fun, nil, words)
	return data.Str(v), err
}

// An entry is a line of the fstab.
type entry struct {
	dir, device, fstype string
	opts, dump, pass    any
	config              string
	matchOn, notChange  any
}

// config returns the path of the fstab, which is another file on macOS.
func (m *module) config(config string) string {
	if config == "/etc/fstab" && m.mac() {
		return "/etc/auto_salt"
	}
	return config
}

// table returns the contents of the fstab.
func (m *module) table(ctx context.Context, config string) (*data.Map, error) {
	fun := "mount.fstab"
	if m.mac() {
		fun = "mount.automaster"
	}
	return change.Ask[*data.Map](ctx, m.env, fun, []any{m.config(config)}, nil)
}

// remove removes an entry from the fstab, and reports whether that succeeded.
func (m *module) remove(ctx context.Context, dir string, device any, config string) (bool, error) {
	fun := "mount.rm_fstab"
	if m.mac() {
		fun = "mount.rm_automaster"
	}
	v, err := change.Ask[any](ctx, m.env, fun, []any{dir, device, m.config(config)}, nil)
	return v == true, err
}
