package cp

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
)

type getFileArgs struct {
	Path     string
	Dest     string
	Saltenv  any       `default:"None"`
	Makedirs bool      `default:"False"`
	Template any       `default:"None"`
	Gzip     any       `default:"None"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// getFile copies a file of the file server to the minion and returns its new path. It returns False
// if the directory of the destination is missing, and an empty string if there is no such file. A
// destination that is up to date is not copied again.
//
// path
//
//	A salt:// URL. It may name the environment: salt://foo/bar.conf?saltenv=config.
//
// dest
//
//	The destination file, or its directory.
//
// makedirs : False
//
//	Create the directory of the destination.
//
// template : None
//
//	A template engine, such as jinja, to render path and dest with.
//
// gzip : None
//
//	A number from 1 to 9: the server compresses the file, most at 9. This takes CPU time on both
//	sides.
//
// CLI Example:
//
//	salt '*' cp.get_file salt://path/to/file /minion/dest
//	salt '*' cp.get_file salt://foo/bar.conf /etc/foo/bar.conf saltenv=config
//	salt '*' cp.get_file "salt://{{grains.os}}/vimrc" /etc/vimrc template=jinja
func (m *module) getFile(ctx context.Context, a getFileArgs) (any, error) {
	level, err := gzipLevel(a.Gzip)
	if err != nil {
		return nil, err
	}
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	n, err := m.names(ctx, names{a.Path, a.Dest, a.Saltenv, a.Template, a.Kwargs})
	if err != nil {
		return nil, err
	}
	path, env := m.splitURL(n.path, a.Saltenv)
	if fileclient.Scheme(path) != "salt" {
		return m.getLocal(ctx, c, path, n.dest)
	}
	got, err := c.GetFile(ctx, path, n.dest,
		fileclient.Get{Env: env, Makedirs: a.Makedirs, Gzip: level})
	switch {
	case missing(err) && !isNoDirectory(err):
		return "", nil
	case missing(err):
		return false, nil
	case err != nil:
		return nil, saltError(err)
	}
	return got, nil
}

// getLocal is getFile for a file on disk, which it only compares.
func (m *module) getLocal(
	ctx context.Context, c *fileclient.Client, path, dest string,
) (any, error) {
	sum, err := c.Hash(ctx, path, "")
	if missing(err) {
		return "", nil
	}
	if err != nil {
		return nil, saltError(err)
	}
	if info, err := os.Stat(dest); err == nil && info.IsDir() || strings.HasSuffix(dest, "/") {
		dest = filepath.Join(dest, filepath.Base(path))
	}
	if have, err := c.Hash(ctx, dest, ""); err == nil && dest != "" && have == sum {
		return dest, nil
	}
	return nil, unsupported(path)
}

// gzipLevel reads the parameter gzip.
func gzipLevel(v any) (int, error) {
	if !data.Truth(v) {
		return 0, nil
	}
	level, err := loader.Int(v)
	if err != nil {
		return 0, err
	}
	if level < 1 || level > 9 {
		return 0, loader.Invocation("gzip must be a number from 1 to 9, not %d", level)
	}
	return int(level), nil
}

// envs returns the environments of the file server.
//
// CLI Example:
//
//	salt '*' cp.envs
func (m *module) envs(ctx context.Context, _ loader.NoArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	list, err := c.Envs(ctx)
	return data.Values(list), saltError(err)
}

type getDirArgs struct {
	Path     string
	Dest     string
	Saltenv  any       `default:"None"`
	Template any       `default:"None"`
	Gzip     any       `default:"None"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// getDir copies a directory of the file server with its contents into a directory of the minion. It
// returns the paths of the files and of empty directories.
//
// template, gzip : None
//
//	As in cp.get_file.
//
// CLI Example:
//
//	salt '*' cp.get_dir salt://path/to/dir/ /minion/dest
func (m *module) getDir(ctx context.Context, a getDirArgs) (any, error) {
	level, err := gzipLevel(a.Gzip)
	if err != nil {
		return nil, err
	}
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	n, err := m.names(ctx, names{a.Path, a.Dest, a.Saltenv, a.Template, a.Kwargs})
	if err != nil {
		return nil, err
	}
	if fileclient.Scheme(n.path) != "salt" {
		return nil, unsupported(n.path)
	}
	paths, err := c.GetDir(ctx, n.path, n.dest,
		fileclient.Get{Env: m.saltenv(a.Saltenv), Gzip: level})
	if err != nil {
		return nil, saltError(err)
	}
	return data.Values(paths), nil
}

type getURLArgs struct {
	Path       string
	Dest       any  `default:"''"`
	Saltenv    any  `default:"None"`
	Makedirs   bool `default:"False"`
	SourceHash any  `default:"None"`
}

// getURL copies the file of a URL to the minion and returns the new path. If there is no such file
// it returns False, or an empty string if the scheme is not salt.
//
// path
//
//	A URL with the scheme salt, http, https, ftp or file. For file://, or a path, the result is only
//	that path.
//
// dest
//
//	The destination file, or its directory. An empty string means a path in the minion's cache. With
//	None the result is the content of the file, and files from a web server are not cached.
//
// saltenv
//
//	The environment of a salt:// URL.
//
// makedirs : False
//
//	Create the directory of the destination.
//
// source_hash : None
//
//	For http, https and ftp: a cached copy with this hash is used without a download.
//
// CLI Example:
//
//	salt '*' cp.get_url salt://my/file /tmp/this_file_is_mine
//	salt '*' cp.get_url http://www.slashdot.org /tmp/index.html
func (m *module) getURL(ctx context.Context, a getURLArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	env := m.saltenv(a.Saltenv)
	f := fileclient.Fetch{SourceHash: hashText(a.SourceHash)}
	dest, isText := a.Dest.(string)
	if !isText {
		return m.content(ctx, c, a.Path, env, f)
	}
	got, err := c.GetURL(ctx, a.Path, dest,
		fileclient.GetURL{Get: fileclient.Get{Env: env, Makedirs: a.Makedirs}, Fetch: f})
	switch {
	case missing(err):
		m.logNotFetched(a.Path, env)
		if fileclient.Scheme(a.Path) != "salt" {
			return "", nil
		}
		return false, nil
	case err != nil:
		return nil, saltError(err)
	}
	return got, nil
}

// content is getURL without a destination: it returns only the content.
func (m *module) content(
	ctx context.Context, c *fileclient.Client, url, env string, f fileclient.Fetch,
) (any, error) {
	body, _, err := c.Content(ctx, url, env, f)
	switch {
	case missing(err):
		m.logNotFetched(url, env)
		return false, nil
	case err != nil:
		return nil, saltError(err)
	}
	if len(body) == 0 {
		m.logNotFetched(url, env)
	}
	return decoded(body)
}

func (m *module) logNotFetched(url, env string) {
	m.env.Log.Errorf("Unable to fetch file %s from saltenv %s.", fileclient.Redact(url), env)
}

// decoded returns content as a string.
func decoded(body []byte) (any, error) {
	if !utf8.Valid(body) {
		return nil, loader.Exception("UnicodeDecodeError", "the content is no text in UTF-8")
	}
	return string(body), nil
}

func hashText(v any) string {
	if v == nil {
		return ""
	}
	return data.Str(v)
}

type getFileStrArgs struct {
	Path    string
	Saltenv any `default:"None"`
}

// getFileStr fetches the file of a URL into the minion's cache. It returns its content as a string,
// or False if that failed.
//
// CLI Example:
//
//	salt '*' cp.get_file_str salt://my/file
func (m *module) getFileStr(ctx context.Context, a getFileStrArgs) (any, error) {
	v, err := m.cacheFile(ctx, cacheFileArgs{Path: a.Path, Saltenv: a.Saltenv, VerifySSL: true})
	file, ok := v.(string)
	if err != nil || !ok {
		return v, err
	}
	body, err := os.ReadFile(file)
	if err != nil {
		return false, nil //nolint:nilerr // as Salt
	}
	return decoded(body)
}
