package winrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/runners"
)

// maxDefinition is the limit in bytes of a file of definitions.
const maxDefinition = 16 << 20

type genrepoArgs struct {
	Opts      any  `default:"None"`
	FireEvent bool `default:"True"`
}

// genrepo compiles the definitions of Windows packages below winrepo_dir. It writes them to the file
// winrepo_cachefile there, and returns them: repo has the versions of each package, name_map the
// package of each full_name. Files that do not render are left out.
//
// opts
//
//	Not supported: only execution modules of Salt pass it.
//
// fire_event : True
//
//	Fire a progress event for each definition that cannot be used.
//
// CLI Example:
//
//	salt-run winrepo.genrepo
func (m *module) genrepo(ctx context.Context, a genrepoArgs) (any, error) {
	if err := noOptions(a.Opts); err != nil {
		return nil, err
	}
	dir, err := m.directory("winrepo_dir")
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	engine, err := m.engine()
	if err != nil {
		return nil, err
	}
	c := &compiler{module: m, engine: engine, fires: a.FireEvent, out: data.NewMap()}
	if err := c.walk(ctx, dir); err != nil {
		return nil, err
	}
	text, err := payload.MarshalBin(c.out)
	if err != nil {
		return nil, loader.Execution("write the compiled definitions: %w", err)
	}
	file := data.Str(m.env.Option("winrepo_cachefile"))
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	return c.out, loader.OSError(atomicfile.Write(file, text,
		atomicfile.Options{Mode: 0o644, KeepMode: true}))
}

// engine returns the engine that renders definitions, with the master's own file server.
func (m *module) engine() (*render.Engine, error) {
	env := *m.env
	env.Opts = env.Opts.Clone()
	env.Opts.Set("file_client", "local")
	e, _, err := render.ForEnv(&env, m.render)
	if err != nil {
		return nil, loader.Execution("prepare to render definitions: %w", err)
	}
	return e, nil
}

// A compiler compiles the files of one directory.
type compiler struct {
	*module
	engine *render.Engine
	fires  bool
	out    *data.Map
}

// walk compiles all files below dir that end in .sls, those of a directory before those below it.
func (c *compiler) walk(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return loader.OSError(err)
	}
	var below []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			below = append(below, path)
		case strings.HasSuffix(e.Name(), ".sls"):
			if err := c.file(ctx, path); err != nil {
				return err
			}
		}
	}
	for _, path := range below {
		if err := c.walk(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// file compiles one file. A file that cannot be read or rendered is logged and left out.
func (c *compiler) file(ctx context.Context, path string) error {
	content, err := c.rendered(ctx, path)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		c.env.Log.WithError(err).Warnf("winrepo: render %s: its packages are left out", path)
		return nil
	}
	if !data.Truth(content) {
		return nil
	}
	packages, ok := content.(*data.Map)
	if !ok {
		c.fail(ctx, path)
		return nil
	}
	repo, names := data.NewMap(), data.NewMap()
	for name, v := range packages.All() {
		versions, ok := v.(*data.Map)
		if !ok {
			c.fail(ctx, path)
			continue
		}
		repo.Set(name, c.versions(ctx, path, name, versions, names))
	}
	section(c.out, "repo").Update(repo)
	section(c.out, "name_map").Update(names)
	return nil
}

// rendered returns the content of a file.
func (c *compiler) rendered(ctx context.Context, path string) (any, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	case info.Size() > maxDefinition:
		return nil, fmt.Errorf("%d bytes are more than %d", info.Size(), maxDefinition)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.TrimSpace(string(text)) == "" {
		return nil, err
	}
	return c.engine.Render(ctx, render.Input{Text: string(text), Path: path, SaltEnv: "base"})
}

// versions returns the versions of a package with texts as their keys, and adds their names to
// names. A key that was not a text moves to the end, as in Salt.
func (c *compiler) versions(
	ctx context.Context, path string, name any, versions, names *data.Map,
) *data.Map {
	texts, others := data.NewMap(), data.NewMap()
	for version, v := range versions.All() {
		to := texts
		if _, ok := version.(string); !ok {
			to = others
		}
		to.Set(data.Str(version), v)
		about, _ := v.(*data.Map)
		full, ok := about.Get("full_name")
		if !ok || !data.Hashable(full) {
			c.fail(ctx, path)
			continue
		}
		names.Set(full, name)
	}
	texts.Update(others)
	return texts
}

// fail reports a file with a definition that cannot be used.
func (c *compiler) fail(ctx context.Context, path string) {
	text := fmt.Sprintf("Failed to compile %s.", path)
	c.env.Log.Warn(text)
	if c.fires {
		// nobody may be listening
		_ = runners.RunOf(ctx).Fire(ctx, "progress", data.NewMap("error", text))
	}
}

// section returns a dictionary of the result.
func section(of *data.Map, name string) *data.Map {
	m, ok := of.Value(name).(*data.Map)
	if !ok {
		m = data.NewMap()
		of.Set(name, m)
	}
	return m
}
