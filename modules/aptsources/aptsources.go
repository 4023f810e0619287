// Package aptsources is the part of Salt's module pkg that keeps the sources and the keys of apt: pkg.list_repos, pkg.mod_repo and their
// siblings (salt/modules/aptpkg.py). It stands beside the provider aptpkg, whose other functions are those of packages.
//
// Sources are lines of /etc/apt/sources.list and of the .list files in sources.list.d, and the stanzas of its .sources files (deb822,
// sources.list(5)). A stanza counts as one source for each of its types, URIs and suites.
//
// What differs from Salt 3006.0, which rewrites every file whenever one source changes: only the files that change are written, each as
// a whole, and what stands in them beside the source stays, options such as trusted=yes among them. Slashes at the end of a URI make no
// other source, as in 3007. A source without signed-by is refused for want of apt-key only where a key is to be added. Keys lose their
// armor without the program gpg, and those of key servers come to their file in the form that apt reads, not as a keybox. Stanzas of
// .sources files are known; 3006 and 3007 do not see them.
package aptsources

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the functions for sources. They work in the family of Debian.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pkg", File: "aptsources", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if env.GrainsNow().Text("os_family") != "Debian" {
		return nil, errors.New("The pkg module could not be loaded: unsupported OS family") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("add_repo_key", m.addRepoKey),
		loader.F("del_repo", m.delRepo),
		loader.F("del_repo_key", m.delRepoKey),
		loader.F("expand_repo_def", m.expandRepoDef),
		loader.F("get_repo", m.getRepo),
		loader.F("get_repo_keys", m.getRepoKeys),
		loader.F("list_repos", m.listRepos),
		loader.F("mod_repo", m.modRepo),
	}}, nil
}

// path returns where a file of the system lies.
func (m *module) path(p string) string { return filepath.Join("/", m.env.Root, p) }

func (m *module) grain(name string) string { return m.env.GrainsNow().Text(name) }

// has reports whether there is a program.
func (m *module) has(ctx context.Context, program string) (bool, error) {
	v, err := m.env.Call(ctx, "cmd.which", []any{program}, nil)
	return data.Truth(v), err
}

// An outcome is what a run of a program gave.
type outcome struct {
	code           int64
	stdout, stderr string
}

// run runs a program without a shell.
func (m *module) run(ctx context.Context, words *data.Map, command ...any) (outcome, error) {
	kwargs := data.NewMap("python_shell", false)
	kwargs.Update(words)
	v, err := m.env.Call(ctx, "cmd.run_all", []any{command}, kwargs)
	if err != nil {
		return outcome{}, err
	}
	all, _ := v.(*data.Map)
	code, _ := all.Value("retcode").(int64)
	return outcome{code, all.Text("stdout"), all.Text("stderr")}, nil
}

// refresh has apt read the lists anew.
func (m *module) refresh(ctx context.Context) error {
	_, err := m.env.Call(ctx, "pkg.refresh_db", nil, nil)
	return err
}
