package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/unpack"
	"github.com/brineproject/brine/loader"
)

type unzipArgs struct {
	ZipFile      any
	Dest         any
	Excludes     any  `default:"None"`
	Options      any  `default:"None"`
	Template     any  `default:"None"`
	Runas        any  `default:"None"`
	TrimOutput   any  `default:"False"`
	Password     any  `default:"None"`
	ExtractPerms bool `default:"True"`
}

// unzip unpacks a ZIP archive and returns the names of its members.
//
// excludes
//
//	Members to leave out: a list, or separated by commas.
//
// options
//
//	Ignored; archive.cmd_unzip has options.
//
// trim_output : False
//
//	How many names to return; True means 100.
//
// password
//
//	The password of the archive.
//
// extract_perms : True
//
//	Set the modes that files and directories have in the archive.
//
// template, runas
//
//	A template engine for the paths, and the user to read and write as.
//
// CLI Example:
//
//	salt '*' archive.unzip /tmp/zipfile.zip /home/strongbad/ excludes=file_1,file_2
//	salt '*' archive.unzip /tmp/zipfile.zip /home/strongbad/ password='BadPassword'
func (m *module) unzip(ctx context.Context, a unzipArgs) (any, error) {
	who, err := m.account(ctx, a.Runas)
	if err != nil {
		return nil, err
	}
	if err := m.rendered(ctx, a.Template, &a.ZipFile, &a.Dest); err != nil {
		return nil, err
	}
	u := &unzipper{excludes: loader.SplitList(a.Excludes), perms: a.ExtractPerms &&
		runtime.GOOS != "windows", ctx: ctx}
	if data.Truth(a.Password) {
		u.password = []byte(data.Str(a.Password))
	}
	err = as(who, func() error { return u.unpack(data.Str(a.ZipFile), data.Str(a.Dest)) })
	if err != nil {
		return nil, loader.Execution("Exception encountered unpacking zipfile: %w",
			loader.OSError(err))
	}
	return trimmed(data.Values(u.names), a.TrimOutput), nil
}

// An unzipper unpacks one archive.
type unzipper struct {
	ctx      context.Context //nolint:containedctx // lives as long as one call
	excludes []string
	password []byte
	perms    bool
	names    []string
	folder   *unpack.Folder
}

func (u *unzipper) unpack(file, dest string) error {
	z, err := zip.OpenReader(file)
	if err != nil && z == nil {
		if errors.Is(err, zip.ErrFormat) {
			return errors.New("File is not a zip file") //nolint:staticcheck // Python's text
		}
		return err
	}
	defer z.Close()
	members := slices.DeleteFunc(slices.Clone(z.File),
		func(f *zip.File) bool { return slices.Contains(u.excludes, f.Name) })
	for _, f := range members {
		if _, err := unpack.Local(f.Name); err != nil {
			return err
		}
		u.names = append(u.names, f.Name)
	}
	if err := makeDir(dest); err != nil {
		return err
	}
	if u.folder, err = unpack.OpenFolder(dest); err != nil {
		return err
	}
	if err = u.room(members); err == nil {
		err = u.put(members)
	}
	return errors.Join(err, u.folder.Close())
}

func (u *unzipper) room(members []*zip.File) error {
	var needed int64
	for _, f := range members {
		if f.UncompressedSize64 > 1<<62 {
			return fmt.Errorf("%s claims a size of %d bytes", f.Name, f.UncompressedSize64)
		}
		needed = min(1<<62, needed) + u.folder.Needs(f.Name, int64(f.UncompressedSize64))
	}
	return u.folder.Room(needed)
}

func (u *unzipper) put(members []*zip.File) error {
	for _, f := range members {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		if err := u.member(f); err != nil {
			return err
		}
	}
	return nil
}

func (u *unzipper) member(f *zip.File) error {
	name, err := unpack.Local(f.Name)
	if err != nil {
		return err
	}
	perm := fs.FileMode(f.ExternalAttrs>>16) & 0o777
	if !u.perms || f.ExternalAttrs>>16 == 0 {
		perm = 0o666 &^ umask()
		if strings.HasSuffix(f.Name, "/") {
			perm = 0o777 &^ umask()
		}
	} else {
		perm |= special(f.ExternalAttrs >> 16)
	}
	if strings.HasSuffix(f.Name, "/") {
		return u.folder.Dir(name, perm, u.perms)
	}
	r, err := u.open(f)
	if err != nil {
		return err
	}
	defer r.Close()
	if f.ExternalAttrs>>16&kindMask == kindLink && runtime.GOOS != "windows" {
		return u.link(name, r)
	}
	return u.folder.File(name, perm, r)
}

// special returns the setuid, setgid and sticky bits of a mode.
func special(bits uint32) (mode fs.FileMode) {
	for bit, flag := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid,
		0o1000: fs.ModeSticky} {
		if bits&bit != 0 {
			mode |= flag
		}
	}
	return mode
}

// maxTarget is the maximum length of a symbolic link's target, as in the kernel.
const maxTarget = 4096

func (u *unzipper) link(name string, r io.Reader) error {
	target, err := io.ReadAll(io.LimitReader(r, maxTarget+1))
	if err == nil && (len(target) > maxTarget || bytes.ContainsRune(target, 0)) {
		err = fmt.Errorf("cannot create the symbolic link %s", name)
	}
	if err != nil {
		return err
	}
	return u.folder.Symlink(name, string(target))
}

func (u *unzipper) open(f *zip.File) (io.ReadCloser, error) {
	switch {
	case !encrypted(f):
		return f.Open()
	case len(u.password) == 0:
		return nil, fmt.Errorf("File %s is encrypted, password required for extraction", data.Repr(f.Name)) //nolint:staticcheck // Python's text
	}
	return decrypted(f, u.password)
}

// usualMask is used if the umask of the process cannot be read.
const usualMask fs.FileMode = 0o022

func makeDir(dir string) error { return os.MkdirAll(dir, 0o777) }
