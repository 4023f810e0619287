package file

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type cachedArgs struct {
	Name           any
	SourceHash     any  `default:"''"`
	SourceHashName any  `default:"None"`
	SkipVerify     bool `default:"False"`
	Saltenv        any  `default:"'base'"`
	UseETag        bool `name:"use_etag" default:"False"`
}

// cached downloads a file to the minion's cache.
//
// name
//
//	A URL such as salt:// or http(s)://, or a path on the minion, which only has to exist.
//
// source_hash, source_hash_name, skip_verify, use_etag
//
//	As in file.managed.
//
// In test mode nothing is downloaded. The comments of test mode are those of Salt 3008.
//
//	https://www.example.org/vacuum/1.2.tgz:
//	  file.cached:
//	    - source_hash: md5=aa0ef1a6b4e2ea4b0d4c4e4f2a5fbb6a
func (m caches) cached(ctx context.Context, a cachedArgs) (any, error) {
	name, parsed := source(a.Name)
	if parsed == nil {
		return change.Failed(a.Name, "Only URLs or local file paths are valid input"), nil
	}
	if !a.SkipVerify && !data.Truth(a.SourceHash) && !a.UseETag && remote(parsed.Scheme) {
		return change.Failed(name, "Unable to verify upstream hash of source file "+redacted(name)+
			", please set source_hash or set skip_verify or use_etag to True"), nil
	}
	sum, complaint, err := m.sourceSum(ctx, a, name)
	switch {
	case err != nil:
		return nil, err
	case complaint != "":
		return change.Failed(name, complaint), nil
	case parsed.Scheme == "" || parsed.Scheme == "file":
		return m.localCached(ctx, a, name, parsed.Path, sum)
	case change.Test(ctx):
		return m.cacheForecast(ctx, a, name, sum)
	}
	return m.fetched(ctx, a, name, sum)
}

// source returns a URL or path with its parsed form. The latter is nil if it is neither.
func source(v any) (string, *url.URL) {
	name, ok := v.(string)
	if !ok {
		return "", nil
	}
	scheme, rest, ok := strings.Cut(name, ":")
	if !ok || !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`).MatchString(scheme) {
		return name, &url.URL{Path: name}
	}
	u := &url.URL{Scheme: strings.ToLower(scheme), Path: rest}
	if host, ok := strings.CutPrefix(rest, "//"); ok {
		host, path, _ := strings.Cut(host, "/")
		if strings.Contains(host, "[") != strings.Contains(host, "]") {
			return name, nil
		}
		u.Host, u.Path = host, "/"+path
	}
	return name, u
}

func remote(scheme string) bool {
	switch scheme {
	case "http", "https", "ftp", "swift", "s3":
		return true
	}
	return false
}

// redacted returns a URL without user and password.
func redacted(url string) string {
	return regexp.MustCompile(`(?i)(https?)://.*@`).ReplaceAllString(url, "$1://<redacted>@")
}

// A fileSum is the hash that a file must have. An empty hsum means none.
type fileSum struct{ kind, hsum string }

// sourceSum returns the required hash, or a message if it is invalid.
func (m caches) sourceSum(ctx context.Context, a cachedArgs, name string) (fileSum, string, error) {
	kind, _ := m.env.Option("hash_type").(string)
	if !data.Truth(a.SourceHash) {
		return fileSum{kind: kind}, "", nil
	}
	sum, err := loader.CallAs[*data.Map](ctx, m.env, "file.get_source_sum", nil,
		data.NewMap("source", name, "source_hash", a.SourceHash,
			"source_hash_name", a.SourceHashName, "saltenv", a.Saltenv))
	if loader.KindOf(err) == loader.KindExecution {
		return fileSum{}, err.Error(), nil
	}
	if err == nil && sum.Len() == 0 {
		return fileSum{}, "Failed to get source hash from " + data.Str(a.SourceHash) +
			". This may be a bug. If this error persists, please report it and set skip_verify to True to work around it.", nil
	}
	if t := sum.Text("hash_type"); t != "" {
		kind = t
	}
	return fileSum{kind, sum.Text("hsum")}, "", err
}

func (m caches) hash(ctx context.Context, path, kind string) (string, error) {
	return calls.GetHash(ctx, m.env, path, kind)
}

// localCached returns the result for a file of the minion, with its hash.
func (m caches) localCached(
	ctx context.Context, a cachedArgs, name, path string, sum fileSum,
) (any, error) {
	full := realPath(home(path))
	switch {
	case !paths.Exists(full):
		return change.Failed(name, "File "+full+" is not present on the minion"), nil
	case a.SkipVerify || sum.hsum == "":
		return change.Unchanged(name, "File "+full+" is present on the minion"), nil
	}
	has, err := m.hash(ctx, full, sum.kind)
	switch {
	case err != nil:
		return nil, err
	case has == sum.hsum:
		return change.Unchanged(name,
			"File "+full+" is present on the minion and has hash "+has), nil
	}
	return change.Failed(name, "File "+full+" is present on the minion, but the hash ("+has+
		") does not match the specified hash ("+sum.hsum+")"), nil
}

// realPath resolves the links in a path as far as it exists.
func realPath(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if path == "/" {
		return path
	}
	return filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path))
}

// cacheForecast returns the result of test mode.
func (m caches) cacheForecast(
	ctx context.Context, a cachedArgs, name string, sum fileSum,
) (any, error) {
	copied, err := calls.IsCached(ctx, m.env, name, a.Saltenv)
	if err != nil {
		return nil, err
	}
	switch {
	case copied == "":
		return change.Would(name, nil, "File will be cached: "+name), nil
	case sum.hsum == "":
		return change.Would(name, nil, "No hash found. File will be cached: "+name), nil
	default:
		has, err := m.hash(ctx, copied, sum.kind)
		if err != nil {
			return nil, err
		}
		if has == sum.hsum {
			return change.Unchanged(name, "File already cached: "+name), nil
		}
		return change.Would(name, nil, "Hashes don't match.\nFile will be cached: "+name), nil
	}
}

// fetched downloads the file to the cache if the cached copy differs.
func (m caches) fetched(ctx context.Context, a cachedArgs, name string, sum fileSum) (any, error) {
	before, err := m.cachedHash(ctx, a, name, sum.kind)
	if err != nil {
		return nil, err
	}
	wanted := any(nil)
	if sum.hsum != "" {
		wanted = sum.hsum
	}
	path, err := calls.CacheFile(ctx, m.env, calls.Source{
		Path: name, SaltEnv: a.Saltenv, Hash: wanted, UseETag: a.UseETag,
	})
	switch {
	case err != nil:
		return change.Failed(name, redacted(err.Error())), nil
	case path == "":
		return change.Failed(name, "Failed to cache "+redacted(name)+
			", check minion log for more information"), nil
	}
	after, err := m.hash(ctx, path, sum.kind)
	if err != nil {
		return nil, err
	}
	changes := data.NewMap()
	if before != any(after) {
		changes.Set("hash", change.OldNew(before, after))
	}
	switch {
	case a.SkipVerify || sum.hsum == "":
		return change.New(name, true, changes, "File is cached to "+path), nil
	case after == sum.hsum:
		return change.New(name, true, changes, "File is already cached to "+path+
			" with hash "+after), nil
	}
	return change.New(name, false, changes, "File is cached to "+path+", but the hash ("+after+
		") does not match the specified hash ("+sum.hsum+")"), nil
}

// cachedHash returns the hash of the cached copy, nil if there is none.
func (m caches) cachedHash(ctx context.Context, a cachedArgs, name, kind string) (any, error) {
	path, err := calls.IsCached(ctx, m.env, name, a.Saltenv)
	if err != nil || path == "" {
		return nil, err
	}
	return m.hash(ctx, path, kind)
}

type notCachedArgs struct {
	Name    any
	Saltenv any `default:"'base'"`
}

// notCached removes a file from the minion's cache.
//
// name
//
//	The URL of the file.
//
//	https://www.example.org/vacuum/1.2.tgz:
//	  file.not_cached: []
func (m caches) notCached(ctx context.Context, a notCachedArgs) (change.Result, error) {
	name, parsed := source(a.Name)
	switch {
	case parsed == nil:
		return change.Refuse(a.Name, "Only URLs or local file paths are valid input")
	case parsed.Scheme == "" || parsed.Scheme == "file":
		comment := "File " + realPath(home(parsed.Path)) + " is a local path, no action taken"
		return change.Leave(name, comment)
	}
	return change.Thing[string]{
		Name: name,
		Look: func(ctx context.Context) (string, error) {
			path, err := calls.IsCached(ctx, m.env, name, a.Saltenv)
			return path, change.Raise(err)
		},
		Wants: func(path string) *data.Map {
			return change.When(path != "", data.NewMap("deleted", true))
		},
		Apply: func(_ context.Context, path string) error {
			if err := os.Remove(path); err != nil {
				return change.Reason(fmt.Sprintf("Failed to delete %s: %s", path,
					loader.OSError(err)))
			}
			return nil
		},
		Say: func(o change.Outcome[string]) any {
			switch o.Stage {
			case change.StageSame:
				return name + " is not cached"
			case change.StageWould:
				return o.Before + " is set for deletion"
			case change.StageDone:
				return o.Before + " was deleted"
			}
			return nil
		},
	}.Ensure(ctx)
}
