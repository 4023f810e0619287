// Package cp is Salt's module cp: it brings files to the minion, from the master's file server and other servers, and from the minion
// to the master (salt/modules/cp.py).
//
// get.go brings files to a place of the caller's, template.go renders them on the way, cache.go brings them to the minion's cache, list.go
// tells what there is, push.go sends files to the master, and recv.go takes what the program salt-cp sends. The work is that of fileclient.
//
// What is odd, and as in Salt: a file on the disk, by its path or file://, is not copied but its path returned. What differs: files
// are whole when they appear and are compared with the hash that the server told; a file in the cache belongs to the minion's user
// alone, also when it comes from a web server; s3:// and swift:// are not known; jinja is the only template engine; a directory is
// no destination of cp.get_template; the hash of a path that is not there is an empty dictionary,
// where Salt's is a list of that and None; a file whose name holds a ? is not left out by those functions that get many.
package cp

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// Plugin returns the module cp, which gets files and renders with what b has.
func Plugin(b render.Brought) loader.Plugin {
	return loader.Plugin{Name: "cp", New: func(env *loader.Env) (*loader.Module, error) { return newModule(env, b) }}
}

type module struct {
	env   *loader.Env
	parts func() (*render.Engine, *fileclient.Client, error)
}

func newModule(env *loader.Env, b render.Brought) (*loader.Module, error) {
	m := &module{env: env}
	m.parts = onceParts(env, b)
	return &loader.Module{Funcs: []loader.Func{
		loader.F("cache_dest", m.cacheDest),
		loader.F("cache_dir", m.cacheDir),
		loader.F("cache_file", m.cacheFile),
		loader.F("cache_files", m.cacheFiles),
		loader.F("cache_local_file", m.cacheLocalFile),
		loader.F("cache_master", m.cacheMaster),
		loader.F("envs", m.envs),
		loader.F("get_dir", m.getDir),
		loader.F("get_file", m.getFile),
		loader.F("get_file_str", m.getFileStr),
		loader.F("get_template", m.getTemplate),
		loader.F("get_url", m.getURL),
		loader.F("hash_file", m.hashFile),
		loader.F("is_cached", m.isCached),
		loader.F("list_master", m.listMaster),
		loader.F("list_master_dirs", m.listMasterDirs),
		loader.F("list_master_symlinks", m.listMasterSymlinks),
		loader.F("list_minion", m.listMinion),
		loader.F("list_states", m.listStates),
		loader.F("push", m.push),
		loader.F("push_dir", m.pushDir),
		loader.F("recv", m.recv),
		loader.F("recv_chunked", m.recvChunked),
		loader.F("stat_file", m.statFile),
	}}, nil
}

// onceParts returns the engine and the file client of env, which are made when they are first needed.
func onceParts(env *loader.Env, b render.Brought) func() (*render.Engine, *fileclient.Client, error) {
	type made struct {
		engine *render.Engine
		client *fileclient.Client
	}
	once := sync.OnceValues(func() (made, error) {
		e, c, err := render.ForEnv(env, b)
		if err != nil {
			return made{}, loader.Execution("cp: %w", err)
		}
		return made{e, c}, nil
	})
	return func() (*render.Engine, *fileclient.Client, error) {
		m, err := once()
		return m.engine, m.client, err
	}
}

// client returns the file client.
func (m *module) client() (*fileclient.Client, error) {
	_, c, err := m.parts()
	return c, err
}

// saltenv returns the environment that is asked for, or else that of the minion.
func (m *module) saltenv(asked any) string {
	for _, v := range []any{asked, m.env.Option("saltenv")} {
		if data.Truth(v) {
			return data.Str(v)
		}
	}
	return "base"
}

// where returns a URL without its environment, and which counts: that of the URL before the one that is asked for.
func (m *module) where(url string, asked any) (bare, env string) {
	if bare, env = fileclient.SplitEnv(url); env != "" {
		return bare, env
	}
	return bare, m.saltenv(asked)
}

// missing reports whether an error says that there is no such file, or no directory for it. Salt returns False then.
func missing(err error) bool {
	return errors.Is(err, fileclient.ErrNotFound) || errors.Is(err, fileclient.ErrNoFolder)
}

// unsupported is the error for what is no salt:// URL.
func unsupported(path string) error {
	return loader.Exception("salt.exceptions.MinionError", "Unsupported path: %s", path)
}

// told returns an error of the file client as Salt's exception of it.
func told(err error) error {
	var relative *fileclient.PathError
	var fetch *fileclient.FetchError
	var scheme *fileclient.SchemeError
	var known *loader.Error
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &relative):
		return loader.Execution("%w", relative)
	case errors.As(err, &scheme) && ofSalts(scheme.URL):
		return loader.Execution("cannot fetch %s: this version gets no files of s3:// and swift://, only of salt://, http://, https://, ftp:// and file://",
			fileclient.Redact(scheme.URL))
	case errors.As(err, &scheme):
		return loader.Exception("ValueError", "%w", scheme)
	case errors.As(err, &fetch):
		return loader.Exception("salt.exceptions.MinionError", "%w", fetch)
	}
	return loader.OSError(err)
}

// ofSalts reports whether Salt can get files of a URL's scheme, so that a state that worked with it may ask for one.
func ofSalts(url string) bool {
	return strings.HasPrefix(url, "s3:") || strings.HasPrefix(url, "swift:")
}
