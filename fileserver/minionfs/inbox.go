package minionfs

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/pki"
)

// Limits for the files that one minion may push.
const (
	maxParts          = 64     // parts of a path
	maxNamesPerMinion = 20_000 // files and directories
	longest           = 255    // bytes of a name

	minTotalBytes  = 1 << 30 // for all files, or
	maxFilesOfSize = 10      // files of the largest allowed size, whichever is more

	fullFor = time.Minute // a full inbox is not counted again before
)

// Errors of Receive.
var (
	// ErrPath is wrapped for an invalid path, or one that leads through something other than
	// directories.
	ErrPath = errors.New("invalid path of a pushed file")
	// ErrTooLarge is wrapped for a file that would exceed its maximum size.
	ErrTooLarge = errors.New("pushed file is too large")
	// ErrTooMany is wrapped when a minion has reached its limit of files.
	ErrTooMany = errors.New("minion has pushed too many files")
	// ErrTooMuch is wrapped when a minion has reached its limit of bytes.
	ErrTooMuch = errors.New("minion has pushed too many bytes")
	// ErrOrder is wrapped for a piece that does not continue the existing file.
	ErrOrder = errors.New("piece of a pushed file is out of order")
)

// A Piece is part of a file that a minion pushes. The first one has Loc 0 and replaces any earlier
// file.
type Piece struct {
	Minion string
	Path   []string // parts
	Loc    int64    // offset of Data in the file
	Data   []byte
	Max    int64 // maximum size of the file in bytes
}

// An Inbox stores files that minions push. It is safe for concurrent use.
type Inbox struct {
	dir      string
	maxNames int   // limit of names per minion
	minBytes int64 // bytes that a minion may push at least
	now      func() time.Time
	seed     maphash.Seed

	busy [64]sync.Mutex // by minion

	mu   sync.Mutex
	used map[string]usage // by minion, as far as it was counted
}

// A usage is what a minion has pushed.
type usage struct {
	names int
	bytes int64
	full  time.Time // when it was last counted and over the limit
}

// NewInbox returns the inbox in a master's cachedir.
func NewInbox(cacheDir string) *Inbox {
	return &Inbox{dir: folder(cacheDir), maxNames: maxNamesPerMinion, minBytes: minTotalBytes,
		now: time.Now, seed: maphash.MakeSeed(), used: map[string]usage{}}
}

// Receive stores a piece. A piece that arrives twice is written twice, to the same place. Files are
// readable only for the master's user.
func (in *Inbox) Receive(p Piece) error {
	if err := p.check(); err != nil {
		return fmt.Errorf("push of minion %q: %w", p.Minion, err)
	}
	busy := &in.busy[maphash.String(in.seed, p.Minion)%uint64(len(in.busy))]
	busy.Lock()
	defer busy.Unlock()
	if err := in.write(p); err != nil {
		return fmt.Errorf("push of %q by minion %q: %w", path.Join(p.Path...), p.Minion, err)
	}
	return nil
}

func (p Piece) check() error {
	if err := pki.ValidID(p.Minion); err != nil {
		return err
	}
	if len(p.Path) == 0 || len(p.Path) > maxParts {
		return fmt.Errorf("%w: %d parts", ErrPath, len(p.Path))
	}
	for _, part := range p.Path {
		if part == "." || !filepath.IsLocal(part) || strings.ContainsAny(part, "/\x00") ||
			!utf8.ValidString(part) || len(part) > longest {
			return fmt.Errorf("%w: %.100q", ErrPath, part)
		}
	}
	if p.Loc < 0 || p.Loc > p.Max-int64(len(p.Data)) {
		return fmt.Errorf("%w: %d bytes at %d, of %d", ErrTooLarge, len(p.Data), p.Loc, p.Max)
	}
	return nil
}

// write writes a piece to its file.
func (in *Inbox) write(p Piece) error {
	if err := os.MkdirAll(in.dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(in.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	name := path.Join(p.Minion, "files", path.Join(p.Path...))
	if err := in.reserveBytes(root, p, filepath.FromSlash(name)); err != nil {
		return err
	}
	if err := in.folders(root, p.Minion, path.Dir(name)); err != nil {
		return err
	}
	f, err := in.file(root, p, filepath.FromSlash(name))
	if err != nil {
		return err
	}
	_, err = f.WriteAt(p.Data, p.Loc)
	return errors.Join(err, f.Close())
}

// folders makes the directories above a file.
func (in *Inbox) folders(root *os.Root, minion, dir string) error {
	for i := 1; i <= len(dir); i++ {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		name := filepath.FromSlash(dir[:i])
		info, err := root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := in.reserve(root, minion, 1, 0, 0); err != nil {
				return err
			}
			if err := root.Mkdir(name, 0o700); err != nil {
				return err
			}
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%w: %q is not a directory", ErrPath, dir[:i])
		}
	}
	return nil
}

// file opens the file of a piece.
func (in *Inbox) file(root *os.Root, p Piece, name string) (*os.File, error) {
	const flags = os.O_WRONLY | syscall.O_NONBLOCK
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && p.Loc > 0:
		return nil, fmt.Errorf("%w: there is no file yet", ErrOrder)
	case errors.Is(err, fs.ErrNotExist):
		if err := in.reserve(root, p.Minion, 1, 0, 0); err != nil {
			return nil, err
		}
		return root.OpenFile(name, flags|os.O_CREATE|os.O_EXCL, 0o600)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: the path is not a regular file", ErrPath)
	case p.Loc > info.Size():
		return nil, fmt.Errorf("%w: the file has %d bytes, the piece is for byte %d", ErrOrder,
			info.Size(), p.Loc)
	case p.Loc == 0:
		return root.OpenFile(name, flags|os.O_TRUNC, 0)
	}
	return root.OpenFile(name, flags, 0)
}

// reserveBytes accounts for the bytes by which a piece changes the size of its file.
func (in *Inbox) reserveBytes(root *os.Root, p Piece, name string) error {
	var old int64
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
		old = info.Size()
	}
	growth := p.Loc + int64(len(p.Data)) - old
	if p.Loc > old || p.Loc > 0 && growth < 0 {
		return nil // the piece is rejected elsewhere, or lies within the file
	}
	return in.reserve(root, p.Minion, 0, growth, max(in.minBytes, maxFilesOfSize*p.Max))
}

// reserve adds names and bytes to the usage. If that exceeds a limit, the files are counted again,
// as others may have removed some. If it is still too much, that result stands for a while.
func (in *Inbox) reserve(root *os.Root, minion string, names int, bytes, most int64) error {
	in.mu.Lock()
	u, known := in.used[minion]
	in.mu.Unlock()
	over := in.checkLimits(u, names, bytes, most)
	if !known || over != nil && in.now().Sub(u.full).Abs() >= fullFor {
		var err error
		if u, err = in.count(root, minion); err != nil {
			return err
		}
		if over = in.checkLimits(u, names, bytes, most); over != nil {
			u.full = in.now()
		}
	}
	if over == nil {
		u.names += names
		u.bytes += bytes
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.used[minion] = u
	return over
}

// checkLimits returns the limit that is exceeded as an error, or nil. A change that frees room is
// always allowed.
func (in *Inbox) checkLimits(u usage, names int, bytes, most int64) error {
	switch {
	case names > 0 && u.names+names > in.maxNames:
		return fmt.Errorf("%w: %d", ErrTooMany, u.names)
	case bytes > 0 && u.bytes+bytes > most:
		return fmt.Errorf("%w: %d of %d", ErrTooMuch, u.bytes, most)
	}
	return nil
}

// count counts what a minion has pushed. It stops counting names at the limit.
func (in *Inbox) count(root *os.Root, minion string) (u usage, err error) {
	err = fs.WalkDir(root.FS(), path.Join(minion, "files"),
		func(_ string, e fs.DirEntry, err error) error {
			if u.names++; u.names > in.maxNames {
				return fs.SkipAll
			}
			if err == nil && e.Type().IsRegular() {
				if info, err := e.Info(); err == nil {
					u.bytes += info.Size()
				}
			}
			return nil
		})
	return u, err
}
