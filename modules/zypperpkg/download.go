package zypperpkg

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
)

// download fetches packages from the repositories, and returns by name where each lies and which repository it is of. What could not be
// fetched stands under _error.
//
// refresh : False
//
//	True: ask the repositories again first.
//
// root
//
//	A directory to take for /.
//
// CLI Example:
//
//	salt '*' pkg.download httpd postfix
func (m *module) download(ctx context.Context, a packagesArgs) (any, error) {
	if len(a.Packages) == 0 {
		return nil, loader.Invocation("No packages specified")
	}
	return m.fetch(ctx, a.Packages, a.Kwargs)
}

func (m *module) fetch(ctx context.Context, names []any, kwargs *data.Map) (*data.Map, error) {
	if err := packages.Names(names...); err != nil {
		return nil, err
	}
	root := kwargs.Value("root")
	if data.Truth(kwargs.Value("refresh")) {
		if err := m.maybeRefresh(ctx, true, root); err != nil {
			return nil, err
		}
	}
	nodes, err := m.all(ctx, call{root: root}, append([]any{"download"}, names...)...)
	if err != nil {
		return nil, err
	}
	got := &data.Map{}
	for _, group := range groups(nodes, "download-result") {
		name, info := fetched(group)
		whole, err := m.env.Call(ctx, "lowpkg.checksum", []any{info.Value("path")}, data.NewMap("root", root))
		if err != nil {
			return nil, err
		}
		if sums, ok := whole.(*data.Map); ok && sums.Value(info.Value("path")) == true {
			got.Set(name, info)
		}
	}
	if got.Len() == 0 {
		return nil, loader.Execution("Unable to download packages: %s", strings.Join(data.Texts(names), ", "))
	}
	if failed := slices.DeleteFunc(data.Texts(names), func(n string) bool { return got.Has(n) }); len(failed) > 0 {
		got.Set("_error", "The following package(s) failed to download: "+strings.Join(failed, ", "))
	}
	return got, nil
}

// fetched returns the name of a package, and where it lies.
func fetched(group []node) (name string, info *data.Map) {
	info = &data.Map{}
	for _, n := range group {
		switch n.name {
		case "name":
			name = strings.TrimSpace(n.text)
		case "repository":
			info.Set("repository-name", n.attrs.Text("name"))
			info.Set("repository-alias", n.attrs.Text("alias"))
		case "localfile":
			info.Set("path", n.attrs.Text("path"))
		}
	}
	return name, info
}

// diff returns how files differ from those of their packages, which are fetched for that. A file that is the same is Unchanged, one of
// no package Not managed, and one that is not there N/A.
//
// CLI Example:
//
//	salt '*' pkg.diff /etc/apache2/httpd.conf /etc/sudoers
func (m *module) diff(ctx context.Context, a pathsArgs) (any, error) {
	kwargs := packages.Own(a.Kwargs)
	ret, of, names := &data.Map{}, map[string]string{}, []any{}
	for _, path := range a.Paths {
		v, err := m.env.Call(ctx, "lowpkg.owner", []any{path}, kwargs)
		if err != nil {
			return nil, err
		}
		if name := data.Str(v); data.Truth(v) {
			of[data.Str(path)] = name
			if !slices.Contains(names, any(name)) {
				names = append(names, name)
			}
			continue
		}
		said, err := m.unowned(data.Str(path))
		if err != nil {
			return nil, err
		}
		ret.Set(data.Str(path), said)
	}
	if len(names) == 0 {
		return ret, nil
	}
	got, err := m.fetch(ctx, names, kwargs)
	if err != nil {
		return nil, err
	}
	for _, path := range a.Paths {
		name, ok := of[data.Str(path)]
		if !ok {
			continue
		}
		info, ok := got.Value(name).(*data.Map)
		if !ok {
			return nil, loader.Execution("%s", got.Text("_error"))
		}
		v, err := m.env.Call(ctx, "lowpkg.diff", []any{info.Value("path"), path}, nil)
		if err != nil {
			return nil, err
		}
		if !data.Truth(v) {
			v = "Unchanged"
		}
		ret.Set(data.Str(path), v)
	}
	return ret, nil
}

// unowned says of a file of no package whether it is there.
func (m *module) unowned(path string) (string, error) {
	_, err := os.Lstat(m.path(nil, path))
	if errors.Is(err, fs.ErrNotExist) {
		return "N/A", nil
	}
	if err != nil {
		return "", loader.Execution("look at a file: %w", err)
	}
	return "Not managed", nil
}

type rootKwargs struct {
	Root   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// listDownloaded returns the packages that zypper has fetched, by name and version: path, size, and since when.
//
// CLI Example:
//
//	salt '*' pkg.list_downloaded
func (m *module) listDownloaded(ctx context.Context, a rootKwargs) (any, error) {
	return m.downloaded(ctx, a.Root)
}

func (m *module) downloaded(ctx context.Context, root any) (*data.Map, error) {
	ret := &data.Map{}
	err := filepath.WalkDir(m.path(root, "/var/cache/zypp/packages"), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".rpm") {
			return err
		}
		v, err := m.env.Call(ctx, "lowpkg.bin_pkg_info", []any{path}, nil)
		info, ok := v.(*data.Map)
		if err != nil || !ok {
			return err // what is no package is nil
		}
		s, err := e.Info()
		if err != nil {
			return err
		}
		versions, ok := ret.Value(info.Value("name")).(*data.Map)
		if !ok {
			versions = &data.Map{}
			ret.Set(info.Value("name"), versions)
		}
		since := changedAt(s)
		versions.Set(info.Value("version"), data.NewMap("path", path, "size", s.Size(), "creation_date_time_t", since,
			"creation_date_time", time.Unix(since, 0).UTC().Format("2006-01-02T15:04:05")))
		return nil
	})
	if err != nil {
		return nil, loader.Execution("list what zypper has fetched: %w", err)
	}
	return ret, nil
}
