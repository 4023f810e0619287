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
	"github.com/brineproject/brine/modules/calls"
)

// download downloads packages from the repositories. For each name it returns the path and the
// repository. Packages that failed are listed under _error.
//
// refresh : False
//
//	True: refresh the repositories first.
//
// root
//
//	A directory to use as the root directory.
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
		sound, err := calls.PackageChecksum(ctx, m.env, info.Text("path"), root)
		if err != nil {
			return nil, err
		}
		if sound {
			got.Set(name, info)
		}
	}
	if got.Len() == 0 {
		return nil, loader.Execution("Unable to download packages: %s",
			strings.Join(data.Texts(names), ", "))
	}
	if failed := slices.DeleteFunc(data.Texts(names),
		func(n string) bool { return got.Has(n) }); len(failed) > 0 {
		got.Set("_error", "The following package(s) failed to download: "+
			strings.Join(failed, ", "))
	}
	return got, nil
}

// fetched returns the name of a downloaded package, and its path and repository.
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

// diff returns how files differ from those in their packages, which it downloads for the
// comparison. An identical file is Unchanged, a file without a package Not managed, and a missing
// file N/A.
//
// CLI Example:
//
//	salt '*' pkg.diff /etc/apache2/httpd.conf /etc/sudoers
func (m *module) diff(ctx context.Context, a pathsArgs) (any, error) {
	kwargs := packages.Own(a.Kwargs)
	ret, of, names := &data.Map{}, map[string]string{}, []any{}
	for _, path := range data.Texts(a.Paths) {
		name, err := calls.PackageOwner(ctx, m.env, path, kwargs)
		if err != nil {
			return nil, err
		}
		if name != "" {
			of[path] = name
			if !slices.Contains(names, any(name)) {
				names = append(names, name)
			}
			continue
		}
		text, err := m.unowned(path)
		if err != nil {
			return nil, err
		}
		ret.Set(path, text)
	}
	if len(names) == 0 {
		return ret, nil
	}
	got, err := m.fetch(ctx, names, kwargs)
	if err != nil {
		return nil, err
	}
	for _, path := range data.Texts(a.Paths) {
		name, ok := of[path]
		if !ok {
			continue
		}
		info, ok := got.Value(name).(*data.Map)
		if !ok {
			return nil, loader.Execution("%s", got.Text("_error"))
		}
		text, err := calls.PackageDiff(ctx, m.env, info.Text("path"), path)
		if err != nil {
			return nil, err
		}
		if text == "" {
			text = "Unchanged"
		}
		ret.Set(path, text)
	}
	return ret, nil
}

// unowned returns the text for a file without a package, depending on whether the file exists.
func (m *module) unowned(path string) (string, error) {
	_, err := os.Lstat(m.path(nil, path))
	if errors.Is(err, fs.ErrNotExist) {
		return "N/A", nil
	}
	if err != nil {
		return "", loader.Execution("check a file: %w", err)
	}
	return "Not managed", nil
}

type rootKwargs struct {
	Root   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// listDownloaded returns the packages in zypper's cache, by name and version: path, size, and time.
//
// CLI Example:
//
//	salt '*' pkg.list_downloaded
func (m *module) listDownloaded(ctx context.Context, a rootKwargs) (any, error) {
	return m.downloaded(ctx, a.Root)
}

func (m *module) downloaded(ctx context.Context, root any) (*data.Map, error) {
	ret := &data.Map{}
	err := filepath.WalkDir(m.path(root, "/var/cache/zypp/packages"),
		func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".rpm") {
				return err
			}
			info, ok, err := calls.BinPkgInfo(ctx, m.env, path)
			if err != nil || !ok {
				return err
			}
			s, err := e.Info()
			if err != nil {
				return err
			}
			packages.AddDownloaded(ret, info, path, s.Size(), time.Unix(changedAt(s), 0).UTC())
			return nil
		})
	if err != nil {
		return nil, loader.Execution("list downloaded packages: %w", err)
	}
	return ret, nil
}
