// Package alternatives is Salt's module alternatives: it manages which program a generic name such
// as editor refers to (salt/modules/alternatives.py).
//
// It uses the program update-alternatives, which is called alternatives in the Red Hat family.
package alternatives

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/loader"
)

// Plugin returns the module alternatives. It is available on hosts with a directory
// /etc/alternatives.
func Plugin() loader.Plugin { return loader.Plugin{Name: "alternatives", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if info, err := os.Stat(m.path("/etc/alternatives")); err != nil || !info.IsDir() {
		return nil, errors.New("Cannot load alternatives module: /etc/alternatives dir not found") //nolint:staticcheck // Salt's text
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("auto", m.auto),
		loader.F("check_exists", m.checkExists),
		loader.F("check_installed", m.checkInstalled),
		loader.F("display", m.display).Out("txt"),
		loader.F("install", m.install).Out("txt"),
		loader.F("remove", m.remove).Out("txt"),
		loader.F("set", m.set).Def("set_"),
		loader.F("show_current", m.showCurrent),
		loader.F("show_link", m.showLink),
	}}, nil
}

func (m *module) path(p string) string { return filepath.Join("/", m.env.Root, p) }

type nameArgs struct{ Name string }

type pathArgs struct{ Name, Path string }

// display returns the program's description of a name: its alternatives, their priorities and the
// current one.
//
// CLI Example:
//
//	salt '*' alternatives.display editor
func (m *module) display(ctx context.Context, a nameArgs) (any, error) {
	o, err := m.run(ctx, true, "--display", a.Name)
	if err != nil || o.Retcode > 0 && o.Stderr != "" {
		return o.Stderr, err
	}
	return o.Stdout, nil
}

// showLink returns the generic link of a name, such as /usr/bin/editor, or False if there is none.
//
// CLI Example:
//
//	salt '*' alternatives.show_link editor
func (m *module) showLink(ctx context.Context, a nameArgs) (any, error) {
	switch m.env.GrainsNow().Text("os_family") {
	case "RedHat":
		return m.recorded(a.Name, "/var/lib/alternatives"), nil
	case "Suse":
		return m.recorded(a.Name, "/var/lib/rpm/alternatives"), nil
	}
	o, err := m.run(ctx, true, "--query", a.Name)
	if err != nil || o.Retcode > 0 && o.Stderr != "" {
		return false, err
	}
	first, _, _ := strings.Cut(o.Stdout, "\n\n")
	for line := range strings.SplitSeq(first, "\n") {
		if link, ok := strings.CutPrefix(line, "Link:"); ok {
			return strings.TrimSpace(link), nil
		}
	}
	return false, nil
}

// recorded returns the second line of a name's record, which is the generic link.
func (m *module) recorded(name, dir string) any {
	text, err := os.ReadFile(m.path(filepath.Join(dir, name)))
	if err != nil {
		m.env.Log.Errorf("alternatives: %s does not exist", name)
		return false
	}
	lines := strings.SplitAfter(string(text), "\n")
	if len(lines) < 2 || lines[1] == "" {
		m.env.Log.Errorf("alternatives: unable to get master link for %s: its record has no second line", name)
		return false
	}
	return strings.TrimRight(lines[1], "\n")
}

// showCurrent returns the path that a name currently refers to, or False if there is none.
//
// CLI Example:
//
//	salt '*' alternatives.show_current editor
func (m *module) showCurrent(_ context.Context, a nameArgs) (any, error) {
	path, err := m.current(a.Name)
	if err != nil {
		m.env.Log.Errorf("alternative: %s does not exist", a.Name)
		return false, nil
	}
	return path, nil
}

func (m *module) current(name string) (string, error) {
	return os.Readlink(m.path("/etc/alternatives/" + name))
}

// checkExists returns whether a path is one of the alternatives of a name.
//
// CLI Example:
//
//	salt '*' alternatives.check_exists editor /usr/bin/vim.basic
func (m *module) checkExists(ctx context.Context, a pathArgs) (any, error) {
	o, err := m.run(ctx, true, "--display", a.Name)
	if err != nil || o.Retcode > 0 && o.Stderr != "" {
		return false, err
	}
	for line := range strings.Lines(o.Stdout) {
		if strings.HasPrefix(line, a.Path) {
			return true, nil
		}
	}
	return false, nil
}

// checkInstalled returns whether a path is the current alternative of a name.
//
// CLI Example:
//
//	salt '*' alternatives.check_installed editor /usr/bin/vim.basic
func (m *module) checkInstalled(_ context.Context, a pathArgs) (any, error) {
	path, err := m.current(a.Name)
	return err == nil && path == a.Path, nil
}
