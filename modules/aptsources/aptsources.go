// Package aptsources is the part of Salt's module pkg that manages the sources and keys of apt:
// pkg.list_repos, pkg.mod_repo and related functions (salt/modules/aptpkg.py). The functions for
// packages are in the provider aptpkg.
//
// Sources are the lines of /etc/apt/sources.list and of the .list files in sources.list.d, and the
// stanzas of its .sources files (deb822, sources.list(5)). A stanza counts as one source for each
// combination of its types, URIs and suites.
//
// Differences from Salt 3006.0, which rewrites every file whenever one source changes: Only changed
// files are written, each as a whole. The rest of their content stays, including options such as
// trusted=yes. Slashes at the end of a URI do not make it a different source, as in 3007. A source
// without signed-by is rejected for lack of apt-key only if a key is to be added. Keys are
// dearmored without the program gpg. Keys from key servers are stored in the format that apt reads,
// not as a keybox. Stanzas of .sources files are supported; 3006 and 3007 ignore them.
package aptsources

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the functions for sources. They work in the Debian family.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "pkg", File: "aptsources",
		New: newModule}
}

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

// path returns the path of a system file below the root.
func (m *module) path(p string) string { return filepath.Join("/", m.env.Root, p) }

func (m *module) grain(name string) string { return m.env.GrainsNow().Text(name) }

// has reports whether a program is installed.
func (m *module) has(ctx context.Context, program string) (bool, error) {
	return loader.CallAs[bool](ctx, m.env, "cmd.which", []any{program}, nil)
}

// run runs a program without a shell. r has the other arguments of cmd.run_all.
func (m *module) run(ctx context.Context, r calls.Run, command ...string) (calls.Ran, error) {
	r.Argv = command
	return calls.RunAll(ctx, m.env, r)
}
