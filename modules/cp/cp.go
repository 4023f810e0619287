// Package cp is Salt's module cp: it copies files to the minion, from the master's file server and
// other servers, and from the minion to the master (salt/modules/cp.py).
//
// get.go copies files to a given destination, template.go renders them on the way, cache.go copies
// them into the minion's cache, list.go lists files, push.go sends files to the master, and recv.go
// receives files from the program salt-cp. The package fileclient does the transfers.
//
// As in Salt, a file on disk, given by its path or file://, is not copied; its path is returned.
// Differences from Salt: Files appear atomically and are checked against the server's hash. Only
// the minion's user can read a cached file, also one from a web server. s3:// and swift:// are not
// supported. jinja is the only template engine. The destination of cp.get_template cannot be a
// directory. The hash of a missing path is an empty dictionary; Salt returns a list of that and
// None. Functions that fetch many files do not skip names with a ?.
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

// Plugin returns the module cp, which fetches and renders files with the parts in b.
func Plugin(b render.Brought) loader.Plugin {
	return loader.Plugin{Name: "cp",
		New: func(env *loader.Env) (*loader.Module, error) { return newModule(env, b) }}
}

type module struct {
	env   *loader.Env
	parts func() (*render.Engine, *fileclient.Client, error)
}

func newModule(env *loader.Env, b render.Brought) (*loader.Module, error) {
	m := &module{env: env}
	m.parts = lazyParts(env, b)
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

// lazyParts returns a function for the engine and the file client of env, which are created on
// first use.
func lazyParts(
	env *loader.Env, b render.Brought,
) func() (*render.Engine, *fileclient.Client, error) {
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

// saltenv returns the requested environment, or else the minion's.
func (m *module) saltenv(asked any) string {
	for _, v := range []any{asked, m.env.Option("saltenv")} {
		if data.Truth(v) {
			return data.Str(v)
		}
	}
	return "base"
}

// splitURL splits a URL into the URL without its environment and the environment to use. One named
// in the URL takes precedence over asked.
func (m *module) splitURL(url string, asked any) (bare, env string) {
	if bare, env = fileclient.SplitEnv(url); env != "" {
		return bare, env
	}
	return bare, m.saltenv(asked)
}

// missing reports whether an error means that the file, or the directory for it, does not exist.
// Salt returns False then.
func missing(err error) bool {
	return errors.Is(err, fileclient.ErrNotFound) || errors.Is(err, fileclient.ErrNoFolder)
}

// unsupported returns the error for a path that is not a salt:// URL.
func unsupported(path string) error {
	return loader.Exception("salt.exceptions.MinionError", "Unsupported path: %s", path)
}

// saltError converts an error of the file client to Salt's exception for it.
func saltError(err error) error {
	var relative *fileclient.PathError
	var fetch *fileclient.FetchError
	var scheme *fileclient.SchemeError
	var known *loader.Error
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err,
		context.DeadlineExceeded):
		return err
	case errors.As(err, &relative):
		return loader.Execution("%w", relative)
	case errors.As(err, &scheme) && supportedBySalt(scheme.URL):
		return loader.Execution("cannot fetch %s: s3:// and swift:// are not supported, only salt://, http://, https://, ftp:// and file://",
			fileclient.Redact(scheme.URL))
	case errors.As(err, &scheme):
		return loader.Exception("ValueError", "%w", scheme)
	case errors.As(err, &fetch):
		return loader.Exception("salt.exceptions.MinionError", "%w", fetch)
	}
	return loader.OSError(err)
}

// supportedBySalt reports whether Salt supports the scheme of a URL. States written for Salt may
// use it.
func supportedBySalt(url string) bool {
	return strings.HasPrefix(url, "s3:") || strings.HasPrefix(url, "swift:")
}
