package calls

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Source is a file for the module cp to fetch into the cache. Fields with their zero value are
// not passed on.
type Source struct {
	Path     any  // salt://, http://, file:// and so on, or an absolute path
	SaltEnv  any  // saltenv: environment of the file
	Hash     any  // source_hash: use the cached copy if it has this hash
	NoVerify bool // verify_ssl False: accept any server certificate
	UseETag  bool // use_etag: ask an HTTP server whether the cached copy is still current
}

// CacheFile calls cp.cache_file and returns the path of the cached copy, or "" if there is no such
// file.
func CacheFile(ctx context.Context, env *loader.Env, s Source) (string, error) {
	var w words
	w.add("source_hash", s.Hash != nil, s.Hash)
	w.add("verify_ssl", s.NoVerify, false)
	w.add("use_etag", s.UseETag, true)
	return Found[string](ctx, env, "cp.cache_file", with(s.Path, s.SaltEnv), w.kwargs)
}

// IsCached calls cp.is_cached and returns the path of the cached copy, or "" if there is none.
func IsCached(ctx context.Context, env *loader.Env, path, saltenv any) (string, error) {
	return Found[string](ctx, env, "cp.is_cached", with(path, saltenv), nil)
}

// HashFile calls cp.hash_file and returns a dictionary with the hsum and hash_type of a file. The
// dictionary is empty if there is no such file.
func HashFile(ctx context.Context, env *loader.Env, path, saltenv any) (*data.Map, error) {
	return Found[*data.Map](ctx, env, "cp.hash_file", with(path, saltenv), nil)
}

// GetFile calls cp.get_file, which copies a file to dest. It returns the destination, or "" if
// there is no such file.
func GetFile(ctx context.Context, env *loader.Env, path, dest string, saltenv any) (string, error) {
	return Found[string](ctx, env, "cp.get_file", with(path, dest, saltenv), nil)
}

// GetURL calls cp.get_url and returns the path of a copy of the file, or "" if there is no such
// file.
func GetURL(ctx context.Context, env *loader.Env, path, saltenv any) (string, error) {
	var w words
	w.add("saltenv", saltenv != nil, saltenv)
	return Found[string](ctx, env, "cp.get_url", []any{path}, w.kwargs)
}

// GetURLText calls cp.get_url with the destination None and returns the content of a file. ok is
// false if there is no such file.
func GetURLText(
	ctx context.Context, env *loader.Env, path string,
) (text string, ok bool, err error) {
	v, err := env.Call(ctx, "cp.get_url", []any{path, nil}, nil)
	if err != nil || v == nil || v == false {
		return "", false, err
	}
	text, err = loader.ResultAs[string]("cp.get_url", v)
	return text, err == nil, err
}

// A Template is a file for the module cp to render. Fields with their zero value are not passed on,
// except Dest.
type Template struct {
	Path     any
	Dest     string    // destination file: "" for a new file
	Engine   any       // template: name of the engine, jinja by default
	SaltEnv  any       // saltenv
	Context  any       // context: variables
	Defaults any       // defaults: variables that Context overrides
	More     *data.Map // further variables; the fields above override them
}

// GetTemplate calls cp.get_template and returns the path of the rendered file, or "" if there is no
// such template.
func GetTemplate(ctx context.Context, env *loader.Env, t Template) (string, error) {
	w := words{&data.Map{}}
	w.kwargs.Update(t.More)
	w.add("path", true, t.Path)
	w.add("dest", true, t.Dest)
	w.add("template", t.Engine != nil, t.Engine)
	w.add("saltenv", t.SaltEnv != nil, t.SaltEnv)
	w.add("context", t.Context != nil, t.Context)
	w.add("defaults", t.Defaults != nil, t.Defaults)
	return Found[string](ctx, env, "cp.get_template", nil, w.kwargs)
}

// StatFile calls cp.stat_file and returns the mode of a file as octal digits, or "" if there is no
// such file.
func StatFile(ctx context.Context, env *loader.Env, path string, saltenv any) (string, error) {
	var w words
	w.add("saltenv", saltenv != nil, saltenv)
	w.add("octal", true, true)
	return Found[string](ctx, env, "cp.stat_file", []any{path}, w.kwargs)
}

// ListMaster calls cp.list_master and returns the files of an environment. With a prefix, it
// returns only the files below it.
func ListMaster(
	ctx context.Context, env *loader.Env, saltenv any, below ...string,
) ([]string, error) {
	return listed(ctx, env, "cp.list_master", saltenv, below)
}

// ListMasterDirs is like ListMaster for directories; it calls cp.list_master_dirs.
func ListMasterDirs(
	ctx context.Context, env *loader.Env, saltenv any, below ...string,
) ([]string, error) {
	return listed(ctx, env, "cp.list_master_dirs", saltenv, below)
}

// ListMasterSymlinks calls cp.list_master_symlinks and returns the links below a path with their
// targets.
func ListMasterSymlinks(
	ctx context.Context, env *loader.Env, saltenv any, below string,
) (*data.Map, error) {
	return Found[*data.Map](ctx, env, "cp.list_master_symlinks", []any{saltenv, below}, nil)
}

func listed(
	ctx context.Context, env *loader.Env, fun string, saltenv any, below []string,
) ([]string, error) {
	list, err := Found[[]any](ctx, env, fun, append([]any{saltenv}, data.Values(below)...), nil)
	if err != nil {
		return nil, err
	}
	files := make([]string, len(list))
	for i, v := range list {
		text, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("%s: returned %s in its list, expected str",
				fun, loader.TypeName(v))
		}
		files[i] = text
	}
	return files, nil
}
