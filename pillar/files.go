package pillar

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/render"
)

// maxDepth is the limit of nested directories in pillar_roots.
const maxDepth = 64

// Files gives access to the files of pillar. Several goroutines may use it.
type Files interface {
	render.Files
	// Envs returns the environments, in the order of the configuration.
	Envs() []string
	// List returns the paths of all files of an environment, relative to its roots, sorted and
	// without duplicates; none if there is no such environment.
	List(ctx context.Context, env string) ([]string, error)
}

// Roots returns the directories of the option pillar_roots. As in Salt they may contain shell
// wildcards. If the requested environment is not in the option, __env__ is replaced by it, also in
// directory names (salt/pillar/__init__.py, Pillar.__gen_opts). The environment must be a plain
// name, because it becomes part of a path.
func Roots(opts *data.Map) func(env string) Files {
	return func(env string) Files {
		f := folders{roots: render.Roots{}, dynamic: isDynamic(opts)}
		for name, dirs := range rootsFor(opts, env).All() {
			f.add(data.Str(name), data.TextsOf(dirs))
		}
		return f
	}
}

// isDynamic reports whether the directories depend on the requested environment.
func isDynamic(opts *data.Map) bool {
	roots, _ := opts.Value("pillar_roots").(*data.Map)
	return roots.Has("__env__")
}

// rootsFor returns the option pillar_roots with __env__ replaced.
func rootsFor(opts *data.Map, env string) *data.Map {
	roots, _ := opts.Value("pillar_roots").(*data.Map)
	dynamic, ok := roots.Get("__env__")
	if !ok {
		return roots
	}
	roots = roots.Clone()
	roots.Delete("__env__")
	if roots.Has(env) || !isName(env) {
		return roots
	}
	dirs := []any{}
	for _, dir := range data.TextsOf(dynamic) {
		dirs = append(dirs, strings.ReplaceAll(dir, "__env__", env))
	}
	roots.Set(env, dirs)
	return roots
}

// isName reports whether a requested environment is a plain name, which may become part of a path.
func isName(env string) bool {
	return env != "" && !strings.HasPrefix(env, ".") && !strings.ContainsAny(env, "/\\*?[]\x00")
}

type folders struct {
	envs    []string
	roots   render.Roots
	dynamic bool // the directories are those of one environment
}

func (f *folders) add(env string, dirs []string) {
	f.envs = append(f.envs, env)
	f.roots[env] = []string{}
	for _, dir := range dirs {
		found, err := filepath.Glob(dir)
		if err != nil || len(found) == 0 || !strings.ContainsAny(dir, "*?[") {
			found = []string{dir}
		}
		f.roots[env] = append(f.roots[env], found...)
	}
}

// Envs implements Files.
func (f folders) Envs() []string { return f.envs }

// Get implements Files.
func (f folders) Get(ctx context.Context, name, env string) (render.File, error) {
	return f.roots.Get(ctx, name, env)
}

// List implements Files.
func (f folders) List(ctx context.Context, env string) ([]string, error) {
	names, _, err := f.walk(ctx, env, time.Now())
	return names, err
}

// walk returns the files of an environment, sorted, and the version of each: the first file of a
// path counts.
func (f folders) walk(
	ctx context.Context, env string, now time.Time,
) ([]string, map[string]string, error) {
	versions := map[string]string{}
	for _, root := range f.roots[env] {
		w := walk{root: root, now: now, found: versions}
		if err := w.folder(ctx, "", nil); err != nil {
			return nil, nil, err
		}
	}
	return slices.Sorted(maps.Keys(versions)), versions, nil
}

// A walk lists a directory and follows symbolic links, but not into a directory that encloses the
// link.
type walk struct {
	root  string
	now   time.Time
	found map[string]string // version by path
}

func (w *walk) folder(ctx context.Context, name string, above []os.FileInfo) error {
	at := filepath.Join(w.root, filepath.FromSlash(name))
	st, err := os.Stat(at)
	if errors.Is(err, os.ErrNotExist) && name == "" {
		return nil
	}
	if err != nil || len(above) > maxDepth ||
		slices.ContainsFunc(above, func(a os.FileInfo) bool { return os.SameFile(a, st) }) {
		return err
	}
	entries, err := os.ReadDir(at)
	if errors.Is(err, os.ErrPermission) {
		return nil // as in Salt, its content counts as missing
	}
	if err != nil {
		return fmt.Errorf("list the files of pillar_roots: %w", err)
	}
	for _, e := range entries {
		if err := w.entry(ctx, path.Join(name, e.Name()),
			append(slices.Clip(above), st)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (w *walk) entry(ctx context.Context, name string, above []os.FileInfo) error {
	st, err := os.Stat(filepath.Join(w.root, filepath.FromSlash(name)))
	switch {
	case err != nil: // a broken link, or a file that was just removed
		return nil
	case st.IsDir():
		return w.folder(ctx, name, above)
	case st.Mode().IsRegular():
		if _, twice := w.found[name]; !twice {
			w.found[name] = versionOf(w.root, st, w.now)
		}
	}
	return nil
}

// slsNames returns the names of the SLS among files, sorted.
func slsNames(files []string) []string {
	var names []string
	for _, name := range files {
		base, ok := strings.CutSuffix(name, ".sls")
		if !ok {
			continue
		}
		base = strings.TrimSuffix(base, "/init")
		names = append(names, strings.ReplaceAll(base, "/", "."))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// An sls is a file and how it was found.
type sls struct {
	text string
	path string
	init bool // it is the init.sls of a directory
}

// find returns the file of an SLS; nil if there is none (Client.get_state).
func find(ctx context.Context, files Files, name, env string) (*sls, error) {
	base := strings.ReplaceAll(name, ".", "/")
	for _, rel := range []string{base + ".sls", base + "/init.sls"} {
		s, err := read(ctx, files, rel, env)
		if s != nil || err != nil {
			return s, err
		}
	}
	return nil, nil
}

// read returns a file; nil if it does not exist.
func read(ctx context.Context, files Files, rel, env string) (*sls, error) {
	f, err := files.Get(ctx, strings.TrimPrefix(rel, "/"), env)
	if errors.Is(err, fileclient.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := f.Read()
	if err != nil {
		return nil, err
	}
	return &sls{text: string(text), path: f.Path, init: strings.HasSuffix(rel, "/init.sls")}, nil
}
