package cp

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
)

func isNoDirectory(err error) bool { return errors.Is(err, fileclient.ErrNoFolder) }

type cacheFileArgs struct {
	Path       string
	Saltenv    any  `default:"None"`
	SourceHash any  `default:"None"`
	VerifySSL  bool `name:"verify_ssl" default:"True"`
	UseETag    bool `name:"use_etag" default:"False"`
}

// cacheFile fetches the file of a URL into the minion's cache and returns its path, or False if
// there is no such file. A URL other than salt:// is fetched only once in a job.
//
// source_hash : None
//
//	For http, https and ftp: a cached copy with this hash is used without a download.
//
// verify_ssl : True
//
//	Whether the server must have a valid certificate.
//
// use_etag : False
//
//	For http and https: ask the server, by the ETag header, whether the cached copy is still
//	current.
//
// CLI Example:
//
//	salt '*' cp.cache_file salt://path/to/file
//	salt '*' cp.cache_file salt://foo/bar.conf?saltenv=config
func (m *module) cacheFile(ctx context.Context, a cacheFileArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	key := "cp.cache_file_|-" + a.Path + "_|-" + m.saltenv(a.Saltenv)
	path, env := m.splitURL(a.Path, a.Saltenv)
	onceOnly := isRemote(path)
	if file := known(ctx, key); onceOnly && file != "" {
		return file, nil
	}
	got, err := c.CacheFile(ctx, path, env,
		fileclient.Fetch{SourceHash: hashText(a.SourceHash), Insecure: !a.VerifySSL,
			UseETag: a.UseETag})
	switch {
	case missing(err):
		m.env.Log.Errorf("Unable to cache file '%s' from saltenv '%s'.",
			fileclient.Redact(path), env)
		return false, nil
	case err != nil:
		return nil, saltError(err)
	}
	if onceOnly {
		loader.ContextOf(ctx).Set(key, got)
	}
	return got, nil
}

// isRemote reports whether the server of a URL does not provide hashes (salt/utils/files.py,
// REMOTE_PROTOS).
func isRemote(url string) bool {
	switch fileclient.Scheme(url) {
	case "http", "https", "ftp", "swift", "s3":
		return true
	}
	return false
}

// known returns the file that this job cached under a key, if the file still exists.
func known(ctx context.Context, key string) string {
	v, _ := loader.ContextOf(ctx).Get(key)
	file, _ := v.(string)
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return file
}

type cacheDestArgs struct {
	URL     string
	Saltenv any `default:"None"`
}

// cacheDest returns the path that the file of a URL has in the minion's cache, whether or not it is
// there.
//
// CLI Example:
//
//	salt '*' cp.cache_dest https://foo.com/bar.rpm
//	salt '*' cp.cache_dest salt://my/file
//	salt '*' cp.cache_dest salt://my/file saltenv=dev
func (m *module) cacheDest(_ context.Context, a cacheDestArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	dest, err := c.CacheDest(a.URL, m.saltenv(a.Saltenv))
	if err != nil {
		return "Invalid path", nil //nolint:nilerr // Salt's answer
	}
	return dest, nil
}

type cacheFilesArgs struct {
	Paths   any
	Saltenv any `default:"None"`
}

// cacheFiles fetches the files of URLs, a list or separated by commas, into the minion's cache. It
// returns their paths, with False for missing files.
//
// CLI Example:
//
//	salt '*' cp.cache_files salt://pathto/file1,salt://pathto/file1
//	salt '*' cp.cache_files salt://foo/bar.conf?saltenv=config1,salt://foo/bar.conf?saltenv=config2
func (m *module) cacheFiles(ctx context.Context, a cacheFilesArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	urls, err := textList(a.Paths, ",")
	if err != nil {
		return nil, err
	}
	paths, err := c.CacheFiles(ctx, urls, m.saltenv(a.Saltenv))
	return orFalse(paths), saltError(err)
}

// textList returns a list of strings. A single string is split at the separator.
func textList(v any, separator string) ([]string, error) {
	switch v := v.(type) {
	case string:
		if separator == "" {
			return []string{v}, nil
		}
		return strings.Split(v, separator), nil
	case []any:
		list := make([]string, len(v))
		for i, item := range v {
			list[i] = data.Str(item)
		}
		return list, nil
	}
	return nil, loader.Invocation("expected a string or a list of strings, not %s", data.Repr(v))
}

// orFalse returns paths with False in place of empty ones.
func orFalse(paths []string) []any {
	out := data.Values(paths)
	for i, p := range paths {
		if p == "" {
			out[i] = false
		}
	}
	return out
}

type cacheDirArgs struct {
	Path         string
	Saltenv      any  `default:"None"`
	IncludeEmpty bool `default:"False"`
	IncludePat   any  `default:"None"`
	ExcludePat   any  `default:"None"`
}

// cacheDir fetches all files below a directory of the file server into the minion's cache, and
// returns their paths.
//
// include_empty : False
//
//	Also create empty directories.
//
// include_pat, exclude_pat : None
//
//	Only files that match, or only files that do not: a glob for the path, or E@ and a regular
//	expression; or a list of these.
//
// CLI Example:
//
//	salt '*' cp.cache_dir salt://path/to/dir
//	salt '*' cp.cache_dir salt://path/to/dir include_pat='E@*.py$'
func (m *module) cacheDir(ctx context.Context, a cacheDirArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	choice := fileclient.Choice{Empty: a.IncludeEmpty}
	if data.Truth(a.IncludePat) {
		choice.Include, err = textList(a.IncludePat, "")
	}
	if err == nil && data.Truth(a.ExcludePat) {
		choice.Exclude, err = textList(a.ExcludePat, "")
	}
	if err != nil {
		return nil, err
	}
	if fileclient.Scheme(a.Path) != "salt" {
		return nil, unsupported(a.Path)
	}
	paths, err := c.CacheDir(ctx, a.Path, m.saltenv(a.Saltenv), choice)
	return data.Values(paths), saltError(err)
}

type envArgs struct {
	Saltenv any `default:"None"`
}

// cacheMaster fetches all files of an environment of the file server into the minion's cache, and
// returns their paths.
//
// CLI Example:
//
//	salt '*' cp.cache_master
func (m *module) cacheMaster(ctx context.Context, a envArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	paths, err := c.CacheMaster(ctx, m.saltenv(a.Saltenv))
	return orFalse(paths), saltError(err)
}

type pathArgs struct {
	Path string
}

// cacheLocalFile copies a file on the minion into its cache. It returns the path of the copy, or an
// empty string if there is no such file.
//
// CLI Example:
//
//	salt '*' cp.cache_local_file /etc/hosts
func (m *module) cacheLocalFile(ctx context.Context, a pathArgs) (any, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(a.Path); err != nil {
		return "", nil //nolint:nilerr // as Salt
	}
	if cached := c.IsCached(a.Path, m.saltenv(nil)); cached != "" {
		own, ownErr := c.Hash(ctx, a.Path, "")
		copied, copyErr := c.Hash(ctx, cached, "")
		if ownErr == nil && copyErr == nil && own == copied {
			return cached, nil
		}
	}
	file, err := c.CacheLocal(a.Path)
	if err != nil {
		return nil, saltError(err)
	}
	return file, nil
}
