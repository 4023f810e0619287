package fileserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Limits for files that stay open.
const (
	maxPins       = 4096
	maxOpen       = 128
	pinsOfAClient = 64
	pinLife       = 2 * time.Minute
	// after the client got the end of the file: pieces may arrive out of order
	pinAfter = 5 * time.Second
)

// openFiles keeps files open between pieces. A pin belongs to one client and path, and holds the
// version that the client began with. Pins of the same version share one open file.
type openFiles struct {
	mu      sync.Mutex
	pins    *lru[pinKey, *pin]
	clients map[string][]pinKey // pins of each client, the oldest first
	shared  map[hashKey]*openFile
	open    int // files that pins hold
}

type pinKey struct{ client, env, path string }

type pin struct {
	taken
	used time.Time
}

// taken is an open file and the path that it was requested by. One file may have several paths,
// through links.
type taken struct {
	*openFile
	rel string
}

// openFile is a file that is closed when nobody uses it.
type openFile struct {
	File
	key   hashKey
	users int // pins, and reads in progress
	pins  int
}

func newOpenFiles() *openFiles {
	o := &openFiles{clients: map[string][]pinKey{}, shared: map[hashKey]*openFile{}}
	o.pins = newLRU(maxPins, o.unpinned)
	return o
}

// unpinned is called by the lru for pins that are dropped; o.mu is held.
func (o *openFiles) unpinned(k pinKey, p *pin) {
	o.clients[k.client] = slices.DeleteFunc(o.clients[k.client],
		func(other pinKey) bool { return other == k })
	if len(o.clients[k.client]) == 0 {
		delete(o.clients, k.client)
	}
	if p.pins--; p.pins == 0 {
		o.open--
	}
	o.unuse(p.openFile)
}

// unuse ends one use of a file; o.mu is held.
func (o *openFiles) unuse(f *openFile) {
	if f.users--; f.users > 0 {
		return
	}
	if o.shared[f.key] == f {
		delete(o.shared, f.key)
	}
	_ = f.Close() // opened for reading only
}

func (o *openFiles) release(f *openFile) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unuse(f)
}

// pinned returns the file of a pin.
func (o *openFiles) pinned(k pinKey) (taken, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, ok := o.pins.get(k)
	if !ok || time.Since(p.used) > pinLife {
		return taken{}, false
	}
	p.used = time.Now()
	p.users++
	return p.taken, true
}

// sameVersion returns an open file of the version that was found.
func (o *openFiles) sameVersion(found *Found) (*openFile, bool) {
	if found.Version == "" {
		return nil, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	f, ok := o.shared[hashKey{backend: found.Backend, version: found.Version}]
	if ok {
		f.users++
	}
	return f, ok
}

// add registers a file that was just opened.
func (o *openFiles) add(file File, found *Found) *openFile {
	f := &openFile{File: file, users: 1,
		key: hashKey{backend: found.Backend, version: found.Version}}
	o.mu.Lock()
	defer o.mu.Unlock()
	if found.Version != "" {
		o.shared[f.key] = f // if two were opened at once, the first is no longer shared
	}
	return f
}

// pin keeps a file open for a client.
func (o *openFiles) pin(k pinKey, f taken) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p, ok := o.pins.get(k); ok && p.taken == f {
		p.used = time.Now()
		return
	}
	o.pins.drop(k)
	if own := o.clients[k.client]; len(own) >= pinsOfAClient {
		o.pins.drop(own[0])
	}
	f.users++
	if f.pins++; f.pins == 1 {
		o.open++
	}
	o.clients[k.client] = append(o.clients[k.client], k)
	o.pins.set(k, &pin{f, time.Now()})
	o.makeRoom(pinLife)
}

// finished makes the pin of a client that has its whole file go before pins of unfinished
// downloads.
func (o *openFiles) finished(k pinKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p, ok := o.pins.peek(k); ok {
		p.used = time.Now().Add(pinAfter - pinLife)
		o.pins.last(k)
	}
}

// makeRoom drops pins that are too old, and further ones while too many files are open; o.mu is
// held.
func (o *openFiles) makeRoom(life time.Duration) {
	for {
		_, p, ok := o.pins.oldest()
		if !ok || o.open <= maxOpen && time.Since(p.used) <= life {
			return
		}
		o.pins.dropOldest()
	}
}

func (o *openFiles) sweep(idle time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.makeRoom(idle)
}

func (o *openFiles) closeAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.pins.len() > 0 {
		o.pins.dropOldest()
	}
	clear(o.shared) // files being read now are no longer shared
}

// acquire returns the file for a request and marks it as used. It is the version that the client
// began with, or the current one.
func (s *Server) acquire(ctx context.Context, backends []Backend, r Request) (taken, error) {
	key := pinKey{r.Client, r.Env, r.Path}
	if r.Client != "" && r.Loc > 0 {
		if f, ok := s.files.pinned(key); ok {
			return f, nil
		}
	}
	f, err := s.open(ctx, backends, r)
	if err == nil && r.Client != "" {
		s.files.pin(key, f)
	}
	return f, err
}

// open finds and opens a file.
func (s *Server) open(ctx context.Context, backends []Backend, r Request) (taken, error) {
	for try := 1; ; try++ {
		found, err := find(ctx, backends, r.Path, r.Env)
		if err != nil {
			return taken{}, err
		}
		if f, ok := s.files.sameVersion(found); ok {
			return taken{f, found.Rel}, nil
		}
		file, err := found.backend.Open(ctx, found)
		switch {
		case err == nil:
			return taken{s.files.add(file, found), found.Rel}, nil
		case !errors.Is(err, ErrChanged) || try == attempts:
			return taken{}, fmt.Errorf("open %q: %w", shown(found.Rel), err)
		}
	}
}
