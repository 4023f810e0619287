package calls

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A BinPkg is the metadata of a package file.
type BinPkg struct {
	Name, Version, Arch string
}

// BinPkgInfo calls lowpkg.bin_pkg_info and returns the metadata of a package file. ok is false if
// the file is not a package.
func BinPkgInfo(ctx context.Context, env *loader.Env, path string) (p BinPkg, ok bool, err error) {
	info, err := loader.CallAs[*data.Map](ctx, env, "lowpkg.bin_pkg_info", []any{path}, nil)
	if err != nil || info == nil {
		return BinPkg{}, false, err
	}
	return BinPkg{info.Text("name"), info.Text("version"), info.Text("arch")}, true, nil
}

// PackageInfo calls lowpkg.info and returns information on installed packages by name.
func PackageInfo(
	ctx context.Context, env *loader.Env, names []any, more *data.Map,
) (*data.Map, error) {
	return loader.CallAs[*data.Map](ctx, env, "lowpkg.info", names, more)
}

// PackageOwner calls lowpkg.owner and returns the name of the package that owns a file, or "".
func PackageOwner(
	ctx context.Context, env *loader.Env, path string, more *data.Map,
) (string, error) {
	return loader.CallAs[string](ctx, env, "lowpkg.owner", []any{path}, more)
}

// PackageDiff calls lowpkg.diff and returns the difference between an installed file and the one in
// a package file, or "" if they are equal.
func PackageDiff(ctx context.Context, env *loader.Env, pkg, path string) (string, error) {
	return loader.CallAs[string](ctx, env, "lowpkg.diff", []any{pkg, path}, nil)
}

// PackageChecksum calls lowpkg.checksum and reports whether a package file is intact. root is an
// alternative root directory, or nil.
func PackageChecksum(
	ctx context.Context, env *loader.Env, path string, root any,
) (bool, error) {
	kwargs := data.NewMap("root", root)
	sound, err := loader.CallAs[*data.Map](ctx, env, "lowpkg.checksum", []any{path}, kwargs)
	return sound.Value(path) == true, err
}

// Unpurge calls lowpkg.unpurge, which cancels the pending purge of packages, and returns the
// changes by package.
func Unpurge(ctx context.Context, env *loader.Env, names []string) (*data.Map, error) {
	return dictionary(ctx, env, "lowpkg.unpurge", data.Values(names), nil)
}
