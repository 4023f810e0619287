// Package mount is Salt's state mount: what is mounted and stands in the fstab (salt/states/mount.py). The module mount does the work.
//
// What differs from Salt: options that the kernel does not show as they are written, such as mode=0755, size=10m, exec or noauto, do not
// lead to a new mount with each run; sizes are compared by what they are. The options of the file system that a bind mount shows are not
// added to the fstab. A device with a label is found by it. What could not be mounted, or not be unmounted, is a failure. An entry that is
// in the fstab already, or gone already, is so in test mode, too. Blanks in a directory's name work.
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

// exists tells whether a path is there; only what does not exist is not.
func (m *module) exists(path string) bool {
	_, err := os.Stat(m.at(path))
	return !os.IsNotExist(err)
}

// real returns a path without links.
func (m *module) real(path string) string {
	if m.at("") != "/" {
		return filepath.Clean(path)
	}
	for rest, tail := filepath.Clean(path), ""; ; rest, tail = filepath.Dir(rest), filepath.Join(filepath.Base(rest), tail) {
		if found, err := filepath.EvalSymlinks(rest); err == nil {
			return filepath.Join(found, tail)
		}
		if rest == filepath.Dir(rest) {
			return filepath.Clean(path)
		}
	}
}

// shown returns a path as the kernel tells it.
func shown(path string) string { return strings.ReplaceAll(path, " ", `\040`) }

// trimmed returns a directory without a slash at its end.
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

// active returns what is mounted.
func (m *module) active(ctx context.Context) (*data.Map, error) {
	return change.Ask[*data.Map](ctx, m.env, "mount.active", nil, data.NewMap("extended", true))
}

// list returns a value that is a list, or a text with commas.
func list(v any) []string {
	if v == "" {
		return nil
	}
	return data.SplitTexts(v, ",")
}

// set has an entry stand in the fstab, or in what macOS has for it.
func (m *module) set(ctx context.Context, e entry, test bool) (string, error) {
	words := data.NewMap("name", e.folder, "device", e.device, "fstype", e.fstype, "opts", e.opts, "config", m.config(e.config), "test", test, "not_change", e.notChange)
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
	folder, device, fstype string
	opts, dump, pass       any
	config                 string
	matchOn, notChange     any
}

// config returns the file of an entry: macOS has another one.
func (m *module) config(config string) string {
	if config == "/etc/fstab" && m.mac() {
		return "/etc/auto_salt"
	}
	return config
}

// table returns what the fstab has.
func (m *module) table(ctx context.Context, config string) (*data.Map, error) {
	fun := "mount.fstab"
	if m.mac() {
		fun = "mount.automaster"
	}
	return change.Ask[*data.Map](ctx, m.env, fun, []any{m.config(config)}, nil)
}

// remove takes an entry out of the fstab, and tells whether that worked.
func (m *module) remove(ctx context.Context, folder string, device any, config string) (bool, error) {
	fun := "mount.rm_fstab"
	if m.mac() {
		fun = "mount.rm_automaster"
	}
	v, err := change.Ask[any](ctx, m.env, fun, []any{folder, device, m.config(config)}, nil)
	return v == true, err
}
