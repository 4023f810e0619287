package cp

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

type pushArgs struct {
	Path         string
	KeepSymlinks bool `default:"False"`
	UploadPath   any  `default:"None"`
	RemoveSource bool `default:"False"`
}

// push sends a file of the minion to the master, which stores it in its cache, below
// minions/ID/files. It returns whether the master accepted the file. The master's option file_recv
// must be on, and the file smaller than file_recv_max_size.
//
// keep_symlinks : False
//
//	Use the given path on the master instead of the path with symbolic links resolved.
//
// upload_path : None
//
//	A different path on the master.
//
// remove_source : False
//
//	Remove the file on the minion afterwards.
//
// CLI Example:
//
//	salt '*' cp.push /etc/fstab
//	salt '*' cp.push /etc/system-release keep_symlinks=True
//	salt '*' cp.push /etc/fstab upload_path='/new/path/fstab'
//	salt '*' cp.push /tmp/filename remove_source=True
func (m *module) push(ctx context.Context, a pushArgs) (any, error) {
	if strings.Contains(a.Path, "../") || !filepath.IsAbs(a.Path) {
		return false, nil
	}
	file := a.Path
	if !a.KeepSymlinks {
		file = realPath(file)
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return false, nil //nolint:nilerr // as Salt
	}
	as := file
	if data.Truth(a.UploadPath) {
		if as = data.Str(a.UploadPath); strings.Contains(as, "../") {
			return false, nil
		}
	}
	if m.env.Host.Masters == nil {
		return nil, loader.Execution("cp.push: %w", fileclient.ErrNoMaster)
	}
	size, _ := m.env.Option("file_buffer_size").(int64)
	taken, err := fileclient.Push(ctx, m.env.Host.Masters.Request, file, uploadParts(as), int(size))
	switch {
	case err != nil:
		return nil, saltError(err)
	case !taken:
		m.env.Log.Error("cp.push Failed transfer failed. Ensure master has 'file_recv' set to 'True' and that the file is not larger than the " +
			"'file_recv_size_max' setting on the master.")
		return false, nil
	case a.RemoveSource:
		if err := os.Remove(file); err != nil {
			m.env.Log.WithError(err).Errorf("cp.push failed to remove file '%s'", file)
			return false, nil
		}
	}
	return true, nil
}

// realPath returns a path with links resolved, as far as it exists.
func realPath(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		return real
	}
	return filepath.Clean(file)
}

// uploadParts returns the parts of a path on the master.
func uploadParts(as string) []string {
	as = strings.TrimLeft(as, string(filepath.Separator))
	clean := filepath.Clean(as)
	clean = clean[len(filepath.VolumeName(clean)):]
	return slices.DeleteFunc(strings.Split(filepath.ToSlash(clean), "/"),
		func(p string) bool { return p == "" })
}

type pushDirArgs struct {
	Path       string
	Glob       any `default:"None"`
	UploadPath any `default:"None"`
}

// pushDir sends the files below a directory of the minion to the master, as cp.push does for one
// file. It stops at the first file that the master rejects.
//
// glob : None
//
//	Only files whose names match.
//
// upload_path : None
//
//	A different directory on the master.
//
// CLI Example:
//
//	salt '*' cp.push_dir /etc/modprobe.d/ glob='*.conf'
//	salt '*' cp.push_dir /usr/lib/mysql upload_path='/newmysql/path'
func (m *module) pushDir(ctx context.Context, a pushDirArgs) (any, error) {
	if strings.Contains(a.Path, "../") || !filepath.IsAbs(a.Path) {
		return false, nil
	}
	dir := realPath(a.Path)
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() {
		return m.push(ctx, pushArgs{Path: dir, UploadPath: a.UploadPath})
	}
	files := below(dir)
	if a.Glob != nil {
		glob := match.CompileGlob(data.Str(a.Glob))
		files = slices.DeleteFunc(files,
			func(f string) bool { return !glob.Match(filepath.Base(f)) })
	}
	if len(files) == 0 {
		return false, nil
	}
	for _, file := range files {
		var as any
		if data.Truth(a.UploadPath) {
			rel := filepath.ToSlash(strings.TrimPrefix(file, dir))
			as = path.Join("/", strings.Trim(data.Str(a.UploadPath), "/"), strings.Trim(rel, "/"))
		}
		if v, err := m.push(ctx, pushArgs{Path: file, UploadPath: as}); err != nil ||
			!data.Truth(v) {
			return v, err
		}
	}
	return true, nil
}

// below returns the files below a directory as Python's os.walk names them. Links to directories
// are not followed and not included.
func below(dir string) []string {
	var files []string
	_ = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // unreadable directories are skipped
		}
		if d.Type()&fs.ModeSymlink != 0 {
			if info, err := os.Stat(file); err == nil && info.IsDir() {
				return nil
			}
		}
		files = append(files, file)
		return nil
	})
	return files
}
