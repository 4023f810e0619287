// Package fileserver is Salt's runner fileserver: it lists the file server's files, and maintains
// its sources (salt/runners/fileserver.py).
package fileserver

import (
	"context"
	"errors"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/loader"
)

// An InMaster calls a runner on the master of this host, and returns the result. running is false
// if no master runs.
type InMaster func(ctx context.Context, fun string, kwargs *data.Map) (result any, running bool, err error)

// Plugin returns the runner fileserver over the file server s. In a program beside the master,
// master calls the running one, which has a file server of its own; nil means that s is the
// master's.
func Plugin(s *fileserver.Server, master InMaster) loader.Plugin {
	return loader.Plugin{Name: "fileserver", New: func(env *loader.Env) (*loader.Module, error) {
		if s == nil {
			return nil, errors.New("no file server is configured")
		}
		m := &module{env, s, master}
		return &loader.Module{Funcs: append(m.lists(), m.sources()...)}, nil
	}}
}

type module struct {
	env    *loader.Env
	files  *fileserver.Server
	master InMaster
}

func (m *module) lists() []loader.Func {
	return []loader.Func{
		loader.F("dir_list", m.dirList),
		loader.F("empty_dir_list", m.emptyDirList),
		loader.F("envs", m.envs),
		loader.F("file_list", m.fileList),
		loader.F("symlink_list", m.symlinkList),
	}
}

type envsArgs struct {
	Backend any  `default:"None"`
	Sources bool `default:"False"`
}

// envs returns the environments of the file server.
//
// backend
//
//	Only these backends: a list or comma-separated names; with a minus before each, all others.
//
// sources
//
//	True returns the names of the backends instead, as Salt does.
//
// CLI Example:
//
//	salt-run fileserver.envs
//	salt-run fileserver.envs backend=roots,git
//	salt-run fileserver.envs git
func (m *module) envs(ctx context.Context, a envsArgs) (any, error) {
	if a.Sources {
		var names []string
		for _, b := range m.files.Select(backends(a.Backend)...) {
			names = append(names, b.Name())
		}
		slices.Sort(names)
		return data.Values(names), nil
	}
	envs, err := m.files.Envs(ctx, backends(a.Backend)...)
	return data.Values(envs), err
}

type listArgs struct {
	Saltenv string `default:"'base'"`
	Backend any    `default:"None"`
}

// fileList returns the files of an environment.
//
// saltenv
//
//	The environment.
//
// backend
//
//	As in fileserver.envs.
//
// CLI Example:
//
//	salt-run fileserver.file_list
//	salt-run fileserver.file_list saltenv=prod
//	salt-run fileserver.file_list base hg,roots
//	salt-run fileserver.file_list -git
func (m *module) fileList(ctx context.Context, a listArgs) (any, error) {
	return m.list(ctx, a, fileserver.Files)
}

// dirList returns the directories of an environment.
//
// CLI Example:
//
//	salt-run fileserver.dir_list
//	salt-run fileserver.dir_list saltenv=dev backend=git
func (m *module) dirList(ctx context.Context, a listArgs) (any, error) {
	return m.list(ctx, a, fileserver.Dirs)
}

// emptyDirList returns the directories of an environment that hold no files.
//
// CLI Example:
//
//	salt-run fileserver.empty_dir_list
//	salt-run fileserver.empty_dir_list saltenv=prod
func (m *module) emptyDirList(ctx context.Context, a listArgs) (any, error) {
	return m.list(ctx, a, fileserver.EmptyDirs)
}

func (m *module) list(ctx context.Context, a listArgs, kind fileserver.Kind) (any, error) {
	paths, err := m.files.List(ctx,
		fileserver.ListOf{Env: a.Saltenv, Kind: kind, Backends: backends(a.Backend)})
	return data.Values(paths), err
}

// symlinkList returns the symbolic links of an environment with their targets.
//
// CLI Example:
//
//	salt-run fileserver.symlink_list
//	salt-run fileserver.symlink_list saltenv=prod
func (m *module) symlinkList(ctx context.Context, a listArgs) (any, error) {
	return m.files.Symlinks(ctx, fileserver.ListOf{Env: a.Saltenv, Backends: backends(a.Backend)})
}

// backends parses the argument backend.
func backends(v any) []string {
	if !data.Truth(v) {
		return nil
	}
	return loader.SplitList(v)
}
