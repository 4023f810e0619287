package archive

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type zipArgs struct {
	ZipFile  any
	Sources  any
	Template any  `default:"None"`
	Cwd      any  `default:"None"`
	Runas    any  `default:"None"`
	Zip64    bool `default:"False"`
}

// zip packs files and directories into a ZIP archive and returns their names in it.
//
// sources
//
//	A list, or separated by commas; wildcards are expanded. Relative paths need cwd.
//
// cwd
//
//	The directory that names in the archive are relative to. Default: /.
//
// zip64 : False
//
//	No effect: large archives are always supported.
//
// template, runas
//
//	A template engine for the paths, and the user to read and write as.
//
// CLI Example:
//
//	salt '*' archive.zip /tmp/zipfile.zip /tmp/sourcefile1,/tmp/sourcefile2
func (m *module) zip(ctx context.Context, a zipArgs) (any, error) {
	who, err := m.account(ctx, a.Runas)
	if err != nil {
		return nil, err
	}
	if err := m.rendered(ctx, a.Template, &a.ZipFile, &a.Sources); err != nil {
		return nil, err
	}
	list, err := sources(a.Sources)
	if err != nil {
		return nil, err
	}
	cwd, err := base(a.Cwd, list)
	if err != nil {
		return nil, err
	}
	var p packer
	err = as(who, func() error { return p.pack(data.Str(a.ZipFile), cwd, list) })
	if err != nil {
		return nil, loader.Execution("Exception encountered creating zipfile: %w",
			loader.OSError(err))
	}
	return data.Values(p.names), nil
}

// base returns the directory that names are relative to. It rejects relative paths if cwd is not
// given.
func base(cwd any, sources []string) (string, error) {
	if data.Truth(cwd) {
		dir, ok := cwd.(string)
		if !ok || !filepath.IsAbs(dir) {
			return "", loader.Invocation("cwd must be absolute")
		}
		return dir, nil
	}
	if slices.ContainsFunc(sources, func(s string) bool { return !filepath.IsAbs(s) }) {
		return "", loader.Invocation("Relative paths require the 'cwd' parameter")
	}
	return "", nil
}

// A packer writes a ZIP archive and records the names in it.
type packer struct {
	z     *zip.Writer
	names []string
}

// pack creates the archive. It replaces a link with the archive's name, since another user may have
// put it into a shared directory.
func (p *packer) pack(file, cwd string, sources []string) error {
	info, err := os.Lstat(file)
	keep := err == nil && info.Mode().IsRegular()
	return atomicfile.Fill(file, atomicfile.Options{Mode: 0o666 &^ umask(), Keep: keep},
		func(f *os.File) error { return p.write(f, cwd, sources) })
}

func (p *packer) write(f *os.File, cwd string, sources []string) error {
	var err error
	p.z = zip.NewWriter(f)
	for _, source := range sources {
		if cwd != "" && !filepath.IsAbs(source) {
			source = filepath.Join(cwd, source)
		}
		if err == nil {
			err = p.add(source, cwd)
		}
	}
	return errors.Join(err, p.z.Close())
}

// add packs a file, or a directory with everything below it. Missing files are skipped.
func (p *packer) add(source, cwd string) error {
	info, err := os.Stat(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return p.file(source, relative(source, cwd))
	}
	return p.folder(source, cwd)
}

// directory packs a directory: itself, its files, and then its directories. Links to directories
// are not followed.
func (p *packer) folder(dir, cwd string) error {
	name := relative(dir, cwd)
	if err := p.entry(dir, name+"/", nil); err != nil {
		return err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var below []string
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		switch info, err := os.Stat(path); {
		case err != nil:
			return err
		case info.IsDir() && e.Type()&fs.ModeSymlink == 0:
			below = append(below, path)
		case info.IsDir():
		default:
			if err := p.file(path, filepath.ToSlash(filepath.Join(name, e.Name()))); err != nil {
				return err
			}
		}
	}
	for _, path := range below {
		if err := p.folder(path, cwd); err != nil {
			return err
		}
	}
	return nil
}

func (p *packer) file(path, name string) error {
	f, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return p.entry(path, name, f)
}

// openRegular opens a file unless it is a pipe or a device.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New(path + " is not a regular file")
	}
	return os.Open(path)
}

func (p *packer) entry(path, name string, content io.Reader) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	h, err := zip.FileInfoHeader(info)
	if err != nil {
		return err
	}
	if h.Name = name; content != nil {
		h.Method = zip.Deflate
	}
	w, err := p.z.CreateHeader(h)
	if err == nil && content != nil {
		_, err = io.Copy(w, content)
	}
	if err == nil {
		p.names = append(p.names, name)
	}
	return err
}

// relative returns the name of a path in the archive.
func relative(path, cwd string) string {
	from := "/"
	if cwd != "" && strings.HasPrefix(path, cwd) {
		from = cwd
	}
	rel, err := filepath.Rel(from, path)
	if err != nil {
		return strings.TrimLeft(filepath.ToSlash(path), "/")
	}
	return filepath.ToSlash(rel)
}

// An account is the user that files are read and written as.
type account struct{ uid, gid int }

func (m *module) account(ctx context.Context, runas any) (*account, error) {
	if !data.Truth(runas) {
		return nil, nil
	}
	u, ok, err := calls.UserInfo(ctx, m.env, runas)
	if err != nil {
		return nil, err
	}
	if !ok || u.UID < 0 || u.GID < 0 {
		return nil, loader.Invocation("User '%s' does not exist", data.Str(runas))
	}
	return &account{int(u.UID), int(u.GID)}, nil
}
