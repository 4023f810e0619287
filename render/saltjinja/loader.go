package saltjinja

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/render"
)

// A saltLoader finds imported templates: in the file roots of the environment, or next to the
// source if there is no environment (salt/utils/jinja.py, SaltCacheLoader). Its state is in the
// context, so that all renderings can share it.
type saltLoader struct{}

// ID implements jinja.Loader. The versions of its sources distinguish environments and roots.
func (saltLoader) ID() string { return "salt" }

// Find implements jinja.Loader. Within a rendering, the same name always finds the same template.
func (saltLoader) Find(ctx context.Context, name, _ string) (jinja.Source, error) {
	st := stateOf(ctx)
	if src, ok := st.found[name]; ok {
		return src, nil
	}
	f, err := st.find(ctx, name)
	if errors.Is(err, fileclient.ErrNotFound) || errors.Is(err, fileclient.ErrPath) {
		return jinja.Source{}, jinja.ErrNotFound
	}
	if err != nil {
		return jinja.Source{}, fmt.Errorf("template %s: %w", name, err)
	}
	src := jinja.Source{Name: name, Read: func() (string, error) { return readText(f) }}
	if f.Version != "" {
		src.Version = f.Path + "\x00" + f.Version
	}
	st.found[name], st.paths[name] = src, f.Path
	return src, nil
}

func readText(f render.File) (string, error) {
	b, err := f.Read()
	return string(b), err
}

func (st *state) find(ctx context.Context, name string) (render.File, error) {
	first, _, _ := strings.Cut(name, "/")
	relative := first == "." || first == ".."
	if saltenv, _ := st.vars["saltenv"].(string); saltenv != "" {
		return st.findIn(ctx, name, saltenv, relative)
	}
	if st.step.Path == "" || !filepath.IsLocal(name) {
		return render.File{}, fileclient.ErrNotFound
	}
	beside := render.Roots{"": {filepath.Dir(st.step.Path)}}
	return beside.Get(ctx, name, "")
}

// findIn finds a template in an environment. From then on relative names are resolved from it,
// unless it was found by a relative name itself.
func (st *state) findIn(
	ctx context.Context, name, saltenv string, relative bool,
) (render.File, error) {
	full, at := path.Clean(name), strings.TrimLeft(path.Clean("/"+name), "/")
	if relative {
		dir, ok := st.place["tpldir"].(string)
		full = path.Join(dir, name)
		if at = full; !ok || at == ".." || strings.HasPrefix(at, "../") {
			st.warn("Discarded template path %q: attempts to ascend outside of salt://", name)
			return render.File{}, fileclient.ErrNotFound
		}
	}
	f, err := st.step.Engine.Files().Get(ctx, strings.TrimLeft(at, "/"), saltenv)
	if errors.Is(err, fileclient.ErrNotFound) && filepath.IsAbs(full) {
		if own, failed := st.findOwn(ctx, full, saltenv); failed == nil {
			at, f, err = full, own, nil
		}
	}
	if err == nil || errors.Is(err, fileclient.ErrNotFound) {
		st.move(at, name, relative)
	}
	return f, err
}

// findOwn finds a template by its absolute path on this host, below a directory that the options
// name for the environment.
func (st *state) findOwn(ctx context.Context, full, saltenv string) (render.File, error) {
	for _, option := range []string{"file_roots", "pillar_roots"} {
		roots, _ := st.option(option).(*data.Map)
		dirs, _ := roots.Value(saltenv).([]any)
		for _, dir := range dirs {
			rel, err := filepath.Rel(data.Str(dir), full)
			if err != nil || !filepath.IsLocal(rel) {
				continue
			}
			if f, err := (render.Roots{"": {data.Str(dir)}}).Get(ctx, filepath.ToSlash(rel),
				""); !errors.Is(err, fileclient.ErrNotFound) {
				return f, err
			}
		}
	}
	return render.File{}, fileclient.ErrNotFound
}

// move makes a template the place that imported templates see.
func (st *state) move(at, name string, relative bool) {
	dir := path.Dir(at)
	file := at
	if relative {
		file = name
		if was, ok := st.place["tpldir"].(string); ok {
			dir = was
		}
	}
	dot := dir
	if dir == "." && !relative {
		dot = ""
	}
	st.place["tpldir"], st.place["tplfile"], st.place["tpldot"] = dir, file,
		strings.ReplaceAll(dot, "/", ".")
}
