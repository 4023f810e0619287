package mirror

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// Limits for reading a repository.
const (
	cached   = 8 * cache.MiByte // objects in memory, for each mirror
	streamed = 1 << 20          // larger objects are never in memory whole
	maxTree  = 16 << 20
	maxHead  = 1 << 20 // of a commit
)

// An Entry is one name in a tree.
type Entry struct {
	Name string
	Mode uint32
	Hash Hash
}

// Kinds of entries. Others, such as submodules, are none of these.
func (e Entry) Dir() bool  { return e.Mode&0o170000 == 0o040000 }
func (e Entry) Link() bool { return e.Mode == 0o120000 }
func (e Entry) File() bool { return e.Mode&0o170000 == 0o100000 }

// store reads objects one at a time: go-git's storage is not safe for concurrent use.
type store struct {
	mu      sync.Mutex
	objects *filesystem.Storage
}

func openStore(gitDir string) *store {
	return &store{objects: filesystem.NewStorageWithOptions(osfs.New(gitDir),
		cache.NewObjectLRU(cached), filesystem.Options{LargeObjectThreshold: streamed})}
}

// use calls f with the object storage. If f cannot read an object, use opens the current packs and
// calls f once more, since git may have merged packs meanwhile.
func (m *Mirror) use(f func(*filesystem.Storage) error) error {
	for again := false; ; again = true {
		s := m.current(again)
		s.mu.Lock()
		err := f(s.objects)
		s.mu.Unlock()
		if err == nil || again {
			return m.wrapError(err)
		}
	}
}

func (m *Mirror) current(fresh bool) *store {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.store == nil || fresh {
		m.store = openStore(m.gitDir())
	}
	return m.store
}

func (m *Mirror) wrapError(err error) error {
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		err = errors.Join(ErrMissing, err)
	}
	if err != nil {
		err = fmt.Errorf("read the mirror of %s: %w", m.addr.show, err)
	}
	return err
}

// Tree returns the entries of a tree, in git's order. Entries whose names are not valid file names
// are left out.
func (m *Mirror) Tree(h Hash) ([]Entry, error) {
	text, err := m.read(plumbing.TreeObject, h, maxTree)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(text)
	if err != nil {
		return nil, fmt.Errorf("read the mirror of %s: tree %s: %w", m.addr.show, h, err)
	}
	return entries, nil
}

// Commit returns the tree of a commit.
func (m *Mirror) Commit(h Hash) (Hash, error) {
	text, err := m.read(plumbing.CommitObject, h, maxHead)
	if err != nil {
		return Hash{}, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	tree, ok := ParseHash(strings.TrimPrefix(line, "tree "))
	if !ok {
		return Hash{}, fmt.Errorf("read the mirror of %s: commit %s names no tree", m.addr.show, h)
	}
	return tree, nil
}

// Size returns the size of a blob in bytes.
func (m *Mirror) Size(h Hash) (n int64, err error) {
	err = m.use(func(s *filesystem.Storage) error {
		n, err = s.EncodedObjectSize(plumbing.Hash(h))
		return err
	})
	return n, err
}

// Blob returns a blob of at most that many bytes.
func (m *Mirror) Blob(h Hash, most int64) ([]byte, error) {
	return m.read(plumbing.BlobObject, h, most)
}

func (m *Mirror) read(kind plumbing.ObjectType, h Hash, most int64) (text []byte, err error) {
	err = m.use(func(s *filesystem.Storage) error {
		o, err := s.EncodedObject(kind, plumbing.Hash(h))
		if err != nil {
			return err
		}
		if o.Size() > most {
			return fmt.Errorf("%s %s has %d bytes, more than %d", kind, h, o.Size(), most)
		}
		var out bytes.Buffer
		err = copyObject(&out, o)
		text = out.Bytes()
		return err
	})
	return text, err
}

// Copy writes a blob of any size to w. It does not block other reads.
func (m *Mirror) Copy(w io.Writer, h Hash) error {
	s := openStore(m.gitDir())
	o, err := s.objects.EncodedObject(plumbing.BlobObject, plumbing.Hash(h))
	if err == nil {
		err = copyObject(w, o)
	}
	return m.wrapError(err)
}

func copyObject(w io.Writer, o plumbing.EncodedObject) error {
	r, err := o.Reader()
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, r.Close())
}

// errTree is the error for malformed or truncated trees.
var errTree = errors.New("malformed tree")

// parseTree parses a tree: mode in octal, space, name, zero byte, hash
// (Documentation/gitformat-pack; git's tree-walk.c).
func parseTree(b []byte) ([]Entry, error) {
	var entries []Entry
	for len(b) > 0 {
		var e Entry
		i := bytes.IndexByte(b, ' ')
		if i < 1 || i > 6 {
			return nil, errTree
		}
		for _, c := range b[:i] {
			if c < '0' || c > '7' {
				return nil, errTree
			}
			e.Mode = e.Mode<<3 | uint32(c-'0')
		}
		b = b[i+1:]
		i = bytes.IndexByte(b, 0)
		if i < 0 || len(b) < i+1+len(e.Hash) {
			return nil, errTree
		}
		e.Name = string(b[:i])
		e.Hash = Hash(b[i+1 : i+1+len(e.Hash)])
		b = b[i+1+len(e.Hash):]
		if e.Name != "" && e.Name != "." && e.Name != ".." && !strings.Contains(e.Name, "/") {
			entries = append(entries, e)
		}
	}
	return entries, nil
}
