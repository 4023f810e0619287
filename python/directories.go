package python

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
)

// A Kind is a kind of plug-ins, as a function of salt/loader/__init__.py loads it.
type Kind struct {
	Name   string // of the registry: modules, runners, output
	Option string // names further directories: module_dirs
}

// Kinds returns the kinds of plug-ins that can be written in Python. The name of a kind is also that
// of its directory below extension_modules.
func Kinds() []Kind {
	return []Kind{
		{"auth", "auth_dirs"},
		{"beacons", "beacons_dirs"},
		{"engines", "engines_dirs"},
		{"executors", "executor_dirs"},
		{"grains", "grains_dirs"},
		{"matchers", "matchers_dirs"},
		{"modules", "module_dirs"},
		{"output", "outputter_dirs"},
		{"pillar", "pillar_dirs"},
		{"renderers", "render_dirs"},
		{"returners", "returner_dirs"},
		{"runners", "runner_dirs"},
		{"sdb", "sdb_dirs"},
		{"serializers", "serializers_dirs"},
		{"states", "states_dirs"},
		{"tops", "top_dirs"},
		{"utils", "utils_dirs"},
		{"wheel", "wheel_dirs"},
	}
}

// FirstDirs is an option that no file sets: directories by kind that count more than all others.
const FirstDirs = "__first_dirs"

// Directories returns the directories of each kind of plug-in for options. The first counts most:
// those of the option FirstDirs, those below a directory of module_dirs, which may hold a tree of all
// kinds such as that of the file server, then that below extension_modules, and last those that the
// kind's option names; with enable_deprecated_module_search_path_priority of the option features the
// last two change places (salt/loader/__init__.py, _module_dirs).
func Directories(opts *data.Map) map[string][]string {
	root := opts.Text("extension_modules")
	if root == "" {
		root = filepath.Join(opts.Text("cachedir"), "extmods")
	}
	dirs := map[string][]string{}
	trees := data.TextsOf(opts.Value("module_dirs"))
	first, _ := opts.Value(FirstDirs).(*data.Map)
	features, _ := opts.Value("features").(*data.Map)
	namedFirst := data.Truth(features.Value("enable_deprecated_module_search_path_priority"))
	for _, kind := range Kinds() {
		synced, named := []string{filepath.Join(root, kind.Name)}, data.TextsOf(opts.Value(kind.Option))
		if namedFirst {
			synced, named = named, synced
		}
		dirs[kind.Name] = slices.Concat(data.TextsOf(first.Value(kind.Name)), below(trees, kind.Name),
			synced, named)
	}
	return dirs
}

// below returns the directories of a kind in trees; that of the last tree comes first.
func below(trees []string, kind string) []string {
	var dirs []string
	for _, tree := range slices.Backward(trees) {
		for _, dir := range []string{filepath.Join(tree, kind), filepath.Join(tree, "_"+kind)} {
			if paths.IsDir(dir) {
				dirs = append(dirs, dir)
				break
			}
		}
	}
	return dirs
}

// FileNames returns the sorted names of the plug-ins in directories, without loading them.
func FileNames(dirs []string) []string {
	var names []string
	for name := range pluginPaths(dirs) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// HasPlugin reports whether directories have a file for the plug-in of a name, without loading it:
// the file of that name, or, if anyName is true, one that mentions the name and so may call itself
// by it.
func HasPlugin(dirs []string, name string, anyName bool) bool {
	paths := pluginPaths(dirs)
	if _, ok := paths[name]; ok || !anyName {
		return ok
	}
	for _, path := range paths {
		if mentions(path, name) {
			return true
		}
	}
	return false
}

// Version returns a number that changes when a file of directories by kind is written, added or
// removed.
func Version(dirs map[string][]string) uint64 {
	sum := fnv.New64a()
	for _, kind := range Kinds() {
		for _, dir := range dirs[kind.Name] {
			if target, err := filepath.EvalSymlinks(dir); err == nil {
				dir = target // WalkDir follows no links
			}
			_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return nil // a missing directory has no files
				case d.IsDir() && d.Name() == "__pycache__":
					return fs.SkipDir
				case d.IsDir():
					return nil
				}
				if info, err := os.Stat(path); err == nil {
					fmt.Fprintln(sum, path, info.Size(), info.ModTime().UnixNano())
				}
				return nil
			})
		}
	}
	return sum.Sum64()
}

// pluginPaths returns the path of each plug-in in directories by the name of its file; the first
// directory counts most.
func pluginPaths(dirs []string) map[string]string {
	found := map[string]string{}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			name, path := e.Name(), filepath.Join(dir, e.Name())
			switch base, isPython := strings.CutSuffix(name, ".py"); {
			case strings.HasPrefix(name, "_") || strings.HasPrefix(name, "."):
				continue
			case isPython:
				name = base
			case isFile(filepath.Join(path, "__init__.py")):
			case strings.HasSuffix(name, ".so"): // own.so, own.abi3.so, own.cpython-311-x86_64-linux-gnu.so
				name, _, _ = strings.Cut(name, ".")
			default:
				continue
			}
			if _, ok := found[name]; !ok {
				found[name] = path
			}
		}
	}
	return found
}
