package fileserver

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/brineproject/brine/crypto"
)

const (
	hashesKept = 1 << 16
	hashBuffer = 256 << 10
)

// hashes caches hashes by version, and limits how many are computed at once.
type hashes struct {
	slots chan struct{}

	mu   sync.Mutex
	sums *lru[hashKey, string]
}

type hashKey struct{ backend, version, kind string }

func newHashes() *hashes {
	return &hashes{slots: make(chan struct{}, max(16, 2*runtime.GOMAXPROCS(0))),
		sums: newLRU[hashKey, string](hashesKept, nil)}
}

func (h *hashes) get(k hashKey) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sums.get(k)
}

func (h *hashes) set(k hashKey, sum string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sums.set(k, sum)
}

// Hash returns the hash of a file. Concurrent requests for the same version share one computation.
func (s *Server) Hash(ctx context.Context, path, env string) (Hash, error) {
	h, _, err := s.HashAndStat(ctx, path, env)
	return h, err
}

// HashAndStat returns the hash of a file and its Stat, which is nil if the backend has none.
func (s *Server) HashAndStat(ctx context.Context, path, env string) (Hash, *Stat, error) {
	o := s.opts.Load()
	for try := 1; ; try++ {
		f, err := find(ctx, o.Backends, path, env)
		if err != nil {
			return Hash{}, nil, err
		}
		sum, err := s.hash(ctx, f, o.HashType)
		switch {
		case err == nil, sum != "" && try == attempts: // the file is being written to all the time
			return Hash{Type: o.HashType, Sum: sum}, f.Stat, nil
		case !errors.Is(err, ErrChanged) || try == attempts:
			return Hash{}, nil, fmt.Errorf("hash %q: %w", shown(f.Rel), err)
		}
	}
}

// hash returns the hash of a file that was found. If it returns both a hash and an error that wraps
// ErrChanged, the file was written to meanwhile.
func (s *Server) hash(ctx context.Context, f *Found, kind string) (string, error) {
	if f.Version == "" {
		return s.compute(ctx, f, kind)
	}
	key := hashKey{f.Backend, f.Version, kind}
	if sum, ok := s.hashes.get(key); ok {
		return sum, nil
	}
	// A caller may stop waiting; the computation goes on for the others.
	done := s.same.DoChan(f.Backend+"\x00"+f.Version+"\x00"+kind, func() (any, error) {
		sum, err := s.compute(context.WithoutCancel(ctx), f, kind)
		if err == nil {
			s.hashes.set(key, sum)
		}
		return sum, err
	})
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-done:
		sum, _ := r.Val.(string)
		return sum, r.Err
	}
}

// compute reads a file and returns its hash.
func (s *Server) compute(ctx context.Context, f *Found, kind string) (string, error) {
	state, err := crypto.NewHash(kind)
	if err != nil {
		return "", err
	}
	select {
	case s.hashes.slots <- struct{}{}:
		defer func() { <-s.hashes.slots }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	file, err := f.backend.Open(ctx, f)
	if err != nil {
		return "", err
	}
	defer file.Close()
	r := &ctxReader{ctx, io.NewSectionReader(file, 0, file.Size())}
	n, err := io.CopyBuffer(state, r, make([]byte, min(hashBuffer, file.Size()+1)))
	if err != nil {
		return "", err
	}
	if n < file.Size() {
		return "", fmt.Errorf("%w: only %d of %d bytes could be read", ErrChanged, n, file.Size())
	}
	return hex.EncodeToString(state.Sum(nil)), file.Check()
}

// ctxReader reads until its context ends.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
