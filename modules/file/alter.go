package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
)

type touchArgs struct {
	Name  string
	Atime any `default:"None"`
	Mtime any `default:"None"`
}

// touch creates an empty file if it does not exist, and otherwise sets its times.
//
// atime, mtime
//
//	The times of the last read and write, in seconds since 1970. Default: now.
//
// CLI Example:
//
//	salt '*' file.touch /var/log/emptyfile
func touch(ctx context.Context, a touchArgs) (any, error) {
	name := home(a.Name)
	now := time.Now()
	atime, err := timeOf(a.Atime, now)
	if err != nil {
		return nil, err
	}
	mtime, err := timeOf(a.Mtime, now)
	if err != nil {
		return nil, err
	}
	if !paths.Exists(name) {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666&^umask(ctx))
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return nil, loader.Execution("%s", reason(err))
		}
	}
	if err := os.Chtimes(name, atime, mtime); err != nil {
		return nil, loader.Execution("%s", reason(err))
	}
	return paths.Exists(name), nil
}

func timeOf(v any, now time.Time) (time.Time, error) {
	if v == nil {
		return now, nil
	}
	seconds, isFloat := v.(float64)
	if !isFloat {
		n, err := strconv.ParseInt(data.Str(v), 10, 64)
		if err != nil {
			return now, loader.Invocation("atime and mtime must be integers")
		}
		return time.Unix(n, 0), nil
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)), nil
}

type removeArgs struct {
	Path   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// remove removes a file, a link, or a directory with its content, and reports whether it existed.
//
// CLI Example:
//
//	salt '*' file.remove /tmp/foo
func remove(_ context.Context, a removeArgs) (any, error) {
	name := home(a.Path)
	if !filepath.IsAbs(name) {
		return nil, loader.Invocation("File path must be absolute: %s", name)
	}
	_, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return notThere(name)
	}
	if within := a.Kwargs.Value("within"); err == nil && within != nil {
		err = removeIn(within, name)
	} else if err == nil {
		err = removeAll(name)
	}
	if err != nil {
		return nil, loader.Execution("Could not remove '%s': %w", name, osError(err))
	}
	return true, nil
}

// removeIn removes a path below the directory within.
func removeIn(within any, path string) error {
	s, err := spotOf(within, path)
	if err != nil {
		return err
	}
	defer s.Close()
	err = s.removeAll()
	if known, ok := errors.AsType[*fs.PathError](err); ok {
		known.Path = path
	}
	return err
}

type symlinkArgs struct {
	Src    string
	Path   string
	Force  bool `default:"False"`
	Atomic bool `default:"False"`
}

// symlink makes a symbolic link at path that points to src.
//
// force : False
//
//	Replace an existing link or file.
//
// atomic : False
//
//	The same, but atomically.
//
// CLI Example:
//
//	salt '*' file.symlink /path/to/file /path/to/link
func symlink(_ context.Context, a symlinkArgs) (any, error) {
	link := home(a.Path)
	if !filepath.IsAbs(link) {
		return nil, loader.Invocation("Link path must be absolute: %s", link)
	}
	over := a.Force || a.Atomic
	if to, err := os.Readlink(link); err == nil {
		if filepath.Clean(to) == filepath.Clean(a.Src) {
			return true, nil
		}
		if !over {
			return nil, loader.Execution("Found existing symlink: %s", link)
		}
	} else if paths.Exists(link) && !over {
		return nil, loader.Execution("Existing path is not a symlink: %s", link)
	}
	if info, err := os.Lstat(link); err == nil && info.IsDir() && !a.Atomic {
		return nil, osError(&fs.PathError{Op: "unlink", Path: link, Err: syscall.EISDIR})
	}
	if err := relink(a.Src, link, over); err != nil {
		return nil, loader.Execution("Could not create '%s'", link)
	}
	return true, nil
}

// relink makes a link. With over set it replaces an existing file.
func relink(to, link string, over bool) error {
	if _, err := os.Lstat(link); !over || err != nil {
		return os.Symlink(to, link)
	}
	return atomicLink(to, link)
}

// atomicLink replaces a file or link with a link.
func atomicLink(to, link string) error {
	dir, err := os.MkdirTemp(filepath.Dir(link), "."+tempPrefix)
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, "link")
	if err = os.Symlink(to, temp); err == nil {
		err = os.Rename(temp, link)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

type linkArgs struct {
	Src  string
	Path string
}

// link makes a hard link to the file src at path.
//
// CLI Example:
//
//	salt '*' file.link /path/to/file /path/to/link
func link(_ context.Context, a linkArgs) (any, error) {
	src := home(a.Src)
	if !filepath.IsAbs(src) {
		return nil, loader.Invocation("File path must be absolute.")
	}
	if err := os.Link(src, a.Path); err != nil {
		return nil, loader.Execution("Could not create '%s': [Errno %d] %s: '%s' -> '%s'",
			a.Path, errno(err), reason(err), src, a.Path)
	}
	return true, nil
}

func errno(err error) int {
	number, _ := errors.AsType[syscall.Errno](err)
	return int(number)
}

type srcDstArgs struct {
	Src string
	Dst string
}

// rename renames a file or directory.
//
// CLI Example:
//
//	salt '*' file.rename /path/to/src /path/to/dst
func rename(_ context.Context, a srcDstArgs) (any, error) {
	src, dst := home(a.Src), home(a.Dst)
	if !filepath.IsAbs(src) {
		return nil, loader.Invocation("File path must be absolute.")
	}
	if err := os.Rename(src, dst); err != nil {
		return nil, loader.Execution("Could not rename '%s' to '%s'", src, dst)
	}
	return true, nil
}

type moveArgs struct {
	Src                   string
	Dst                   string
	DisallowCopyAndUnlink bool `default:"False"`
}

// move moves a file or directory, also to another file system. If dst is a directory, it moves into
// it.
//
// disallow_copy_and_unlink : False
//
//	Only rename; fail on another file system.
//
// CLI Example:
//
//	salt '*' file.move /path/to/src /path/to/dst
func move(ctx context.Context, a moveArgs) (any, error) {
	if a.DisallowCopyAndUnlink {
		return rename(ctx, srcDstArgs{a.Src, a.Dst})
	}
	src, dst := home(a.Src), home(a.Dst)
	if !filepath.IsAbs(src) {
		return nil, loader.Invocation("Source path must be absolute.")
	}
	if !filepath.IsAbs(dst) {
		return nil, loader.Invocation("Destination path must be absolute.")
	}
	if err := moved(src, dst); err != nil {
		return nil, loader.Execution("Unable to move '%s' to '%s': %w", src, dst, osError(err))
	}
	return data.NewMap("result", true, "comment", "'"+src+"' moved to '"+dst+"'"), nil
}

// moved moves a file like Python's shutil.move.
func moved(src, dst string) error {
	if paths.IsDir(dst) {
		dst = filepath.Join(dst, filepath.Base(src))
		if _, err := os.Lstat(dst); err == nil {
			return &fs.PathError{Op: "move", Path: dst, Err: syscall.EEXIST}
		}
	}
	err := os.Rename(src, dst)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	if err := copyTree(src, dst); err != nil {
		return err
	}
	return removeAll(src)
}

// copyTree copies a file, link or directory with its modes, owners and attributes.
func copyTree(src, dst string) error {
	return filepath.WalkDir(src, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return copyOne(name, filepath.Join(dst, rel), info)
	})
}

func copyOne(src, dst string, info fs.FileInfo) error {
	switch info.Mode().Type() {
	case fs.ModeDir:
		err := os.Mkdir(dst, 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return ownAs(dst, info)
	case fs.ModeSymlink:
		to, err := os.Readlink(src)
		if err == nil {
			err = relink(to, dst, true)
		}
		return err
	case 0:
		keep := func(f *os.File) error { return keepAs(f, src, info) }
		return atomicfile.Fill(dst, atomicfile.Options{Own: keep}, copyOf(src))
	}
	return &fs.PathError{Op: "copy", Path: src, Err: errors.ErrUnsupported}
}

// ownAs sets the owners and mode of a directory.
func ownAs(path string, info fs.FileInfo) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(keepAs(f, path, info), f.Close())
}

type copyArgs struct {
	Src            string
	Dst            string
	Recurse        bool `default:"False"`
	RemoveExisting bool `default:"False"`
}

// copy copies a file, or with recurse a directory. Owners and mode are kept.
//
// remove_existing : False
//
//	Remove an existing directory instead of copying into it.
//
// CLI Example:
//
//	salt '*' file.copy /path/to/src /path/to/dst recurse=True
func (m copies) copy(ctx context.Context, a copyArgs) (any, error) {
	src, dst := home(a.Src), home(a.Dst)
	if !filepath.IsAbs(src) {
		return nil, loader.Invocation("File path must be absolute.")
	}
	st, err := statsOf(statsArgs{Path: src, FollowSymlinks: true})
	if err != nil || !paths.Exists(src) {
		return nil, loader.Execution("No such file or directory '%s'", src)
	}
	if paths.IsDir(dst) || paths.IsDir(src) {
		if !a.Recurse {
			return nil, loader.Invocation("Cannot copy overwriting a directory without recurse flag set to true!")
		}
		if a.RemoveExisting {
			err = removeAll(dst)
		}
		if err == nil {
			err = copyTree(src, dst)
		}
	} else {
		err = place(realPath(dst, 0), placing{}, copyOf(src))
	}
	if err != nil {
		return nil, loader.Execution("Could not copy '%s' to '%s'", src, dst)
	}
	_, _, err = m.perms.set(ctx, permsArgs{Name: dst, User: st.Value("user"),
		Group: st.Value("group"),
		Mode:  st.Value("mode")})
	return true, err
}

type truncateArgs struct {
	Path   string
	Length int64
}

// truncate cuts a file to a length in bytes.
//
// CLI Example:
//
//	salt '*' file.truncate /path/to/file 512
func truncate(_ context.Context, a truncateArgs) (any, error) {
	if !paths.Exists(home(a.Path)) {
		return nil, osError(&fs.PathError{Op: "open", Path: home(a.Path), Err: syscall.ENOENT})
	}
	return nil, osError(os.Truncate(home(a.Path), a.Length))
}

type seekWriteArgs struct {
	Path   string
	Data   any
	Offset int64
}

// seekWrite writes bytes into a file at an offset and returns the number written.
//
// CLI Example:
//
//	salt '*' file.seek_write /path/to/file 'some data' 4096
func seekWrite(_ context.Context, a seekWriteArgs) (any, error) {
	f, err := os.OpenFile(home(a.Path), os.O_WRONLY, 0)
	if err != nil {
		return nil, osError(err)
	}
	body, err := encoded(a.Data, nil, "")
	n := 0
	if err == nil {
		n, err = f.WriteAt(body, a.Offset)
	}
	return int64(n), osError(errors.Join(err, f.Close()))
}

type linesArgs struct {
	Path   string
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// lines returns the lines to write, each with this end, and their number: the arguments, or those of
// the keyword args.
func (a linesArgs) lines(end string) (string, int) {
	list := a.Args
	switch v, ok := a.Kwargs.Get("args"); v := v.(type) {
	case []any:
		list = v
	default:
		if ok {
			list = []any{v}
		}
	}
	var text strings.Builder
	for _, line := range list {
		text.WriteString(data.Str(line) + end)
	}
	return text.String(), len(list)
}

func wrote(verb string, n int, path string) string {
	return verb + " " + strconv.Itoa(n) + ` lines to "` + path + `"`
}

// append appends lines to a file. It first ends an unfinished last line.
//
// CLI Example:
//
//	salt '*' file.append /etc/motd args="['a', 'b']"
func (edits) append(_ context.Context, a linesArgs) (any, error) {
	name := home(a.Path)
	body, err := os.ReadFile(name)
	if err != nil {
		return nil, osError(err)
	}
	end := paths.LineEnd
	// Python cannot look for two bytes at the end of one
	if len(body) >= len(end) && !bytes.HasSuffix(body, []byte(end)) {
		body = append(body, end...)
	}
	text, n := a.lines(end)
	if err := place(realPath(name, 0), placing{}, bytesOf(append(body, text...))); err != nil {
		return nil, osError(err)
	}
	return wrote("Wrote", n, name), nil
}

// prepend inserts lines at the beginning of a file.
//
// CLI Example:
//
//	salt '*' file.prepend /etc/motd args="['a', 'b']"
func (edits) prepend(ctx context.Context, a linesArgs) (any, error) {
	name := home(a.Path)
	body, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, osError(err)
	}
	text, n := a.lines("\n")
	if err := place(realPath(name, 0), placing{mode: 0o666 &^ umask(ctx)},
		bytesOf(append([]byte(text), body...))); err != nil {
		return nil, osError(err)
	}
	return wrote("Prepended", n, name), nil
}

// write replaces the content of a file with lines.
//
// CLI Example:
//
//	salt '*' file.write /etc/motd args="['a', 'b']"
func (edits) write(ctx context.Context, a linesArgs) (any, error) {
	name := home(a.Path)
	text, n := a.lines("\n")
	fill := func(f *os.File) error { _, err := io.WriteString(f, text); return err }
	if err := place(realPath(name, 0), placing{mode: 0o666 &^ umask(ctx)}, fill); err != nil {
		return nil, osError(err)
	}
	return wrote("Wrote", n, name), nil
}
