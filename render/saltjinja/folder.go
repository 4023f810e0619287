package saltjinja

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// A Folder renders templates in one directory of this host. It is for sources outside of the file
// server that have a Jinja environment of their own: undefined names print as nothing, and
// templates import files below the directory (FileSystemLoader of Jinja). It is safe for concurrent
// use.
type Folder struct {
	dir    string
	engine *render.Engine // nil for plain Jinja
	env    *jinja.Environment
}

// NewFolder returns the templates of a directory. With an engine they have Salt's filters, tests
// and tags; with nil only Jinja's own.
func NewFolder(dir string, e *render.Engine) (*Folder, error) {
	o := jinja.Options{Undefined: jinja.Lenient, Loader: folderLoader(dir)}
	if e != nil {
		o.Finalize, o.Filters, o.Tests, o.Globals, o.Tags = finalize, filters(), tests(),
			globals(), tags()
	}
	env, err := jinja.New(o)
	if err != nil {
		return nil, err
	}
	return &Folder{dir, e, env}, nil
}

// Render renders the template of that name, a path below the directory with slashes. The values in
// names are those of package data; all templates see them, including imported ones.
func (f *Folder) Render(ctx context.Context, name string, names map[string]any) (string, error) {
	if f.engine != nil {
		ctx = context.WithValue(ctx, stateKey{}, newState(&render.Step{Engine: f.engine}))
	}
	t, err := f.env.Load(ctx, name)
	if err != nil {
		return "", err
	}
	return t.RenderWith(ctx, nil, names)
}

// Functions returns the value of __salt__ in templates: the functions of an engine, by name.
func Functions(env *loader.Env) any { return aliasedLoader{env} }

// maxTemplate is the maximum size of a Folder's template, in bytes.
const maxTemplate = 16 << 20

// A folderLoader finds templates below a directory.
type folderLoader string

// ID implements jinja.Loader.
func (d folderLoader) ID() string { return string(d) }

// Find implements jinja.Loader. A name that leads out of the directory is not found; symbolic links
// are followed.
func (d folderLoader) Find(_ context.Context, name, _ string) (jinja.Source, error) {
	if slices.Contains(strings.Split(name, "/"), "..") {
		return jinja.Source{}, jinja.ErrNotFound
	}
	at := filepath.Join(string(d), filepath.FromSlash(path.Clean("/"+name)))
	st, err := os.Stat(at)
	if err != nil || !st.Mode().IsRegular() {
		return jinja.Source{}, jinja.ErrNotFound
	}
	if st.Size() > maxTemplate {
		return jinja.Source{}, fmt.Errorf("template %s has more than %d bytes", at, maxTemplate)
	}
	version := strconv.FormatInt(st.ModTime().UnixNano(), 36) + "." +
		strconv.FormatInt(st.Size(), 36)
	return jinja.Source{Name: name, Version: version, Read: func() (string, error) {
		b, err := os.ReadFile(at)
		return string(b), err
	}}, nil
}

// Traverse returns the function traverse_dict_and_list for templates: data, key, default=None,
// delimiter=':'.
func Traverse() jinja.Func {
	return func(c *jinja.Call) (any, error) {
		args, err := c.Bind("traverse_dict_and_list", "data", "key", "default=", "delimiter=")
		if err != nil {
			return nil, err
		}
		in, err := jinja.Export(args[0])
		if err != nil {
			return nil, err
		}
		key, err := c.Str(args[1])
		if err != nil {
			return nil, err
		}
		delim := ":"
		if jinja.Given(args[3]) {
			if delim, err = c.Str(args[3]); err != nil {
				return nil, err
			}
		}
		switch v, ok := data.Lookup(in, key, delim); {
		case ok:
			return jinja.Import(v), nil
		case jinja.Given(args[2]):
			return args[2], nil
		}
		return nil, nil
	}
}
