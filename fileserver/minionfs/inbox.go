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
	"unicode/utf8"

	"github.com/brineproject/brine/pki"
)

// Bounds of what one minion may push.
const (
	mostParts = 64     // of a path
	mostNames = 20_000 // files and folders
	longest   = 255    // bytes of a name
)

// Errors of Receive.
var (
	// ErrPath is wrapped for a path that is none, or leads through something else than folders.
	ErrPath = errors.New("invalid path of a pushed file")
	// ErrTooLarge is wrapped for a file that would get larger than it may.
	ErrTooLarge = errors.New("pushed file is too large")
	// ErrTooMany is wrapped when a minion has pushed all the files that it may.
	ErrTooMany = errors.New("minion has pushed too many files")
	// ErrOrder is wrapped for a piece that does not follow what is there.
	ErrOrder = errors.New("piece of a pushed file comes out of order")
)

// A Piece is one of a file that a minion pushes. The first has Loc 0 and replaces what there was.
type Piece struct {
	Minion string
	Path   []string // parts
	Loc    int64    // where Data begins
	Data   []byte
	Max    int64 // bytes that the file may have
}

// An Inbox takes files that minions push. Several goroutines may use it.
type Inbox struct {
	dir  string
	most int // names of a minion
	seed maphash.Seed

	busy [64]sync.Mutex // by minion

	mu    sync.Mutex
	names map[string]int // of each minion, as far as they were counted
}

// NewInbox returns the inbox of a master's cachedir.
func NewInbox(cacheDir string) *Inbox {
	return &Inbox{dir: folder(cacheDir), most: mostNames, seed: maphash.MakeSeed(), names: map[string]int{}}
}

// Receive takes a piece. A piece that comes twice is written twice, to the same place. Files are readable for the master's
// user alone.
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
	if len(p.Path) == 0 || len(p.Path) > mostParts {
		return fmt.Errorf("%w: %d parts", ErrPath, len(p.Path))
	}
	for _, part := range p.Path {
		if part == "." || !filepath.IsLocal(part) || strings.ContainsAny(part, "/\x00") || !utf8.ValidString(part) || len(part) > longest {
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

// folders makes those that lead to a file.
func (in *Inbox) folders(root *os.Root, minion, dir string) error {
	for i := 1; i <= len(dir); i++ {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		name := filepath.FromSlash(dir[:i])
		info, err := root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := in.count(root, minion); err != nil {
				return err
			}
			if err := root.Mkdir(name, 0o700); err != nil {
				return err
			}
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%w: %q is no folder", ErrPath, dir[:i])
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
		if err := in.count(root, p.Minion); err != nil {
			return nil, err
		}
		return root.OpenFile(name, flags|os.O_CREATE|os.O_EXCL, 0o600)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: there is something that is no file", ErrPath)
	case p.Loc > info.Size():
		return nil, fmt.Errorf("%w: the file has %d bytes, the piece is for byte %d", ErrOrder, info.Size(), p.Loc)
	case p.Loc == 0:
		return root.OpenFile(name, flags|os.O_TRUNC, 0)
	}
	return root.OpenFile(name, flags, 0)
}

// count counts one name more. When a minion has all it may, what is there is counted anew, as others may have taken
// files away.
func (in *Inbox) count(root *os.Root, minion string) error {
	in.mu.Lock()
	n, known := in.names[minion]
	in.mu.Unlock()
	if !known || n >= in.most {
		n = 0
		err := fs.WalkDir(root.FS(), path.Join(minion, "files"), func(string, fs.DirEntry, error) error {
			if n++; n > in.most {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.names[minion] = n + 1
	if n >= in.most {
		return fmt.Errorf("%w: %d", ErrTooMany, n)
	}
	return nil
}
