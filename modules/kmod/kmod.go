// Package kmod is Salt's module kmod: modules of the Linux kernel (salt/modules/kmod.py). The
// modules that are loaded at boot are listed in /etc/modules, or under systemd in
// /etc/modules-load.d/salt_managed.conf.
//
// Names are compared literally, as in Salt: dashes and underscores are interchangeable only where
// the kernel itself treats them so.
//
// Differences from Salt: a line is removed from the configuration as a whole, and a module that is
// only listed there but not loaded can be removed from it.
package kmod

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module kmod.
func Plugin() loader.Plugin { return loader.Plugin{Name: "kmod", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if env.GrainsNow().Text("kernel") != "Linux" {
		return nil, errors.New("")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("available", m.available),
		loader.F("check_available", m.checkAvailable),
		loader.F("is_loaded", m.isLoaded),
		loader.F("load", m.load),
		loader.F("lsmod", m.lsmod),
		loader.F("mod_list", m.modList),
		loader.F("remove", m.remove),
	}}, nil
}

func (m *module) at(path string) string { return filepath.Join("/", m.env.Root, path) }

// program returns the path of a program.
func program(name string) (string, error) {
	path := process.Find(name)
	if path == "" {
		return "", loader.Execution("Command '%s' cannot be found", name)
	}
	return path, nil
}

// release returns the release of the running kernel.
func (m *module) release() (string, error) {
	src, err := os.ReadFile(m.at("/proc/sys/kernel/osrelease"))
	if err != nil {
		return "", loader.Execution("read the release of the kernel: %w", err)
	}
	return strings.TrimSpace(string(src)), nil
}

// available returns the modules available for this kernel, including built-in ones.
//
// CLI Example:
//
//	salt '*' kmod.available
func (m *module) available(context.Context, loader.NoArgs) (any, error) {
	names, err := m.modules()
	list := []any{}
	for _, name := range names {
		list = append(list, name)
	}
	return list, err
}

func (m *module) modules() ([]string, error) {
	release, err := m.release()
	if err != nil {
		return nil, err
	}
	dir := m.at("/lib/modules/" + release)
	var names []string
	builtin, _ := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	for line := range strings.Lines(string(builtin)) {
		if name, ok := moduleName(strings.TrimSpace(line)); ok {
			names = append(names, name)
		}
	}
	names = append(names, filesBelow(dir)...)
	if major := release[:min(3, len(release))]; strings.Contains(m.env.GrainsNow().Text("os_family"), "Arch") {
		names = append(names, filesBelow(m.at("/lib/modules/extramodules-"+major+"-ARCH"))...)
	}
	slices.Sort(names)
	return names, nil
}

// moduleName returns the module name in a file name.
func moduleName(file string) (name string, ok bool) {
	name, _, ok = strings.Cut(filepath.Base(file), ".ko")
	return name, ok
}

// filesBelow returns the names of the module files below a directory, with underscores.
func filesBelow(dir string) (names []string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if name, ok := moduleName(path); ok && !e.IsDir() {
			names = append(names, strings.ReplaceAll(name, "-", "_"))
		}
		return nil
	})
	return names
}

type modArgs struct{ Mod string }

// checkAvailable returns whether a module is available for this kernel.
//
// CLI Example:
//
//	salt '*' kmod.check_available kvm
func (m *module) checkAvailable(_ context.Context, a modArgs) (any, error) {
	names, err := m.modules()
	return slices.Contains(names, a.Mod), err
}

// A loaded is a line of lsmod.
type loaded struct{ name, size, count, deps string }

// parseLsmod parses the table of lsmod.
func parseLsmod(text string) (list []loaded) {
	for line := range strings.SplitSeq(text, "\n") {
		words := append(strings.Fields(line), "")
		if len(words) > 3 && words[0] != "Module" {
			list = append(list, loaded{words[0], words[1], words[2], words[3]})
		}
	}
	return list
}

func (m *module) loaded(ctx context.Context) ([]loaded, error) {
	path, err := program("lsmod")
	if err != nil {
		return nil, err
	}
	out, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{path}})
	return parseLsmod(out), err
}

// lsmod returns information on the loaded modules.
//
// CLI Example:
//
//	salt '*' kmod.lsmod
func (m *module) lsmod(ctx context.Context, _ loader.NoArgs) (any, error) {
	list := []any{}
	mods, err := m.loaded(ctx)
	for _, mod := range mods {
		deps := []any{}
		if mod.deps != "" {
			for name := range strings.SplitSeq(mod.deps, ",") {
				deps = append(deps, name)
			}
		}
		list = append(list, data.NewMap("size", mod.size, "module", mod.name, "depcount", mod.count,
			"deps", deps))
	}
	return list, err
}

type modListArgs struct {
	OnlyPersist bool `default:"False"`
}

// modList returns the names of the loaded modules.
//
// only_persist
//
//	True: return the modules that are loaded at boot.
//
// CLI Example:
//
//	salt '*' kmod.mod_list
func (m *module) modList(ctx context.Context, a modListArgs) (any, error) {
	names, err := m.names(ctx, a.OnlyPersist)
	list := []any{}
	for _, name := range names {
		list = append(list, name)
	}
	return list, err
}

// names returns the sorted names of the modules that are loaded, now or at boot.
func (m *module) names(ctx context.Context, atBoot bool) (names []string, err error) {
	if atBoot {
		names, err = m.atBootModules()
	} else {
		var mods []loaded
		mods, err = m.loaded(ctx)
		for _, mod := range mods {
			names = append(names, mod.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// isLoaded returns whether a module is loaded.
//
// CLI Example:
//
//	salt '*' kmod.is_loaded kvm
func (m *module) isLoaded(ctx context.Context, a modArgs) (any, error) {
	names, err := m.names(ctx, false)
	return slices.Contains(names, a.Mod), err
}
