package mirror

import (
	"cmp"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/brineproject/brine/internal/atomicfile"
)

// defaultBlobs is the default limit for the bytes of blobs on the disk.
const defaultBlobs = 2 << 30

// Blobs caches blobs of mirrors as plain files, so that reading a piece of a large one costs no
// more than its bytes. The least recently used blobs are evicted. Several goroutines and processes
// may use one directory.
type Blobs struct {
	Dir  string
	Most int64 // limit in bytes, not counting the newest blob; 0 means 2 GiB

	same  singleflight.Group
	mu    sync.Mutex
	added int64 // bytes since they were counted
	known bool  // they were counted
}

// Open opens a blob of a mirror. The file may be removed while it is open. The caller closes it.
func (b *Blobs) Open(ctx context.Context, m *Mirror, h Hash) (*os.File, error) {
	for try := 0; ; try++ {
		f, err := os.Open(b.path(h))
		if err == nil {
			now := time.Now()
			_ = os.Chtimes(b.path(h), now, now) // only affects the order of eviction
			return f, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || try == 2 {
			return nil, err
		}
		done := b.same.DoChan(h.String(), func() (any, error) { return nil, b.fill(m, h) })
		select {
		case r := <-done:
			if r.Err != nil {
				return nil, r.Err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (b *Blobs) path(h Hash) string { return filepath.Join(b.Dir, h.String()) }

// fill writes a blob to its file, after checking its hash.
func (b *Blobs) fill(m *Mirror, h Hash) error {
	size, err := m.Size(h)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		return err
	}
	err = atomicfile.Fill(b.path(h), atomicfile.Options{Prefix: "new-"},
		func(f *os.File) error { return m.checkedCopy(f, h, size) })
	if err != nil {
		return err
	}
	b.bound(size, h)
	return nil
}

// checkedCopy writes a blob to f. It fails if the bytes do not match the blob's hash.
func (m *Mirror) checkedCopy(f *os.File, h Hash, size int64) error {
	sum := sha1.New()
	fmt.Fprintf(sum, "blob %d\x00", size)
	err := m.Copy(both{f, sum}, h)
	if err == nil && Hash(sum.Sum(nil)) != h {
		err = fmt.Errorf("the mirror of %s is damaged: blob %s has other bytes", m.addr.show, h)
	}
	return err
}

// both writes to a file and to a hash.
type both struct {
	file *os.File
	sum  interface{ Write([]byte) (int, error) }
}

func (w both) Write(p []byte) (int, error) {
	_, _ = w.sum.Write(p) // never fails
	return w.file.Write(p)
}

// bound evicts files once enough bytes were added since its last run.
func (b *Blobs) bound(size int64, but Hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := b.Most
	if most <= 0 {
		most = defaultBlobs
	}
	if b.added += size; b.known && b.added < most/8 {
		return
	}
	b.added, b.known = 0, true
	entries, err := os.ReadDir(b.Dir)
	if err != nil {
		return
	}
	var files []os.FileInfo
	var total int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(x, y os.FileInfo) int { return cmp.Compare(x.ModTime().UnixNano(), y.ModTime().UnixNano()) })
	for _, f := range files {
		if total <= most {
			return
		}
		if f.Name() != but.String() && os.Remove(filepath.Join(b.Dir, f.Name())) == nil {
			total -= f.Size()
		}
	}
}
