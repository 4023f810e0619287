package pillar

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// maxEnvs is the limit of saved environments of one minion.
const maxEnvs = 64

// A Saved caches whole pillars for some time, regardless of changes: the option pillar_cache
// (salt/pillar/__init__.py, PillarCache). With pillar_cache_backend disk they are in
// CACHEDIR/pillar_cache/ID, in the form of salt/utils/cache.py, CacheDisk. With memory they are in
// this process; in Salt each request then has a cache of its own. Files are readable for the
// master's user only. The nil Saved is always empty. Several goroutines may use it.
type Saved struct {
	ttl  time.Duration
	dir  string // "" means memory
	now  func() time.Time
	mu   sync.Mutex
	held map[string]*saving // of memory
}

// A saving holds the pillars of one minion.
type saving struct {
	pillars *data.Map // by environment, nil for none
	at      time.Time // time of the last one
}

// OpenSaved returns the cache configured by the options pillar_cache_backend and pillar_cache_ttl.
func OpenSaved(opts *data.Map) (*Saved, error) {
	seconds, _ := opts.Value("pillar_cache_ttl").(int64)
	s := &Saved{ttl: time.Duration(seconds) * time.Second, now: time.Now,
		held: map[string]*saving{}}
	switch backend := opts.Text("pillar_cache_backend"); backend {
	case "memory":
		return s, nil
	case "disk":
		s.dir = filepath.Join(opts.Text("cachedir"), "pillar_cache")
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return nil, fmt.Errorf("pillar_cache: %w", err)
		}
		return s, nil
	default:
		return nil, fmt.Errorf("pillar_cache_backend: %q is neither disk nor memory", backend)
	}
}

// Get returns the pillar of a minion for an environment, "" for none.
func (s *Saved) Get(id, env string) (*data.Map, bool) {
	if s == nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	held, err := s.load(id)
	if err != nil || s.now().Sub(held.at) > s.ttl {
		return nil, false
	}
	p, ok := held.pillars.Value(textOrNil(env)).(*data.Map)
	return p, ok
}

// Put stores the pillar of a minion.
func (s *Saved) Put(id, env string, pillar *data.Map) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, err := s.load(id)
	if err != nil {
		return err
	}
	next := &saving{pillars: held.pillars.Clone(), at: s.now()}
	if next.at.Sub(held.at) > s.ttl || next.pillars.Len() >= maxEnvs {
		next.pillars = data.NewMap()
	}
	next.pillars.Set(textOrNil(env), pillar)
	return s.store(id, next)
}

// Clear deletes the pillars of a minion.
func (s *Saved) Clear(id string) error {
	if s == nil || pki.ValidID(id) != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, id)
	if s.dir == "" {
		return nil
	}
	if err := os.Remove(filepath.Join(s.dir, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("clear pillar_cache: %w", err)
	}
	return nil
}

// Prune deletes the pillars of the minions for which keep returns false.
func (s *Saved) Prune(keep func(id string) bool) error {
	if s == nil {
		return nil
	}
	var errs []error
	for _, id := range s.ids() {
		if !keep(id) {
			errs = append(errs, s.Clear(id))
		}
	}
	return errors.Join(errs...)
}

func (s *Saved) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id := range s.held {
		ids = append(ids, id)
	}
	if s.dir == "" {
		return ids
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids
}

// load returns the pillars of a minion; empty if there are none or they cannot be decoded.
func (s *Saved) load(id string) (*saving, error) {
	if err := pki.ValidID(id); err != nil {
		return nil, err
	}
	empty := &saving{pillars: data.NewMap()}
	if s.dir == "" {
		if held := s.held[id]; held != nil {
			return held, nil
		}
		return empty, nil
	}
	raw, err := os.ReadFile(filepath.Join(s.dir, id))
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read pillar_cache: %w", err)
	}
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	m, ok := v.(*data.Map)
	if err != nil || !ok {
		return empty, nil
	}
	return readSaving(m, id), nil
}

// readSaving decodes the content of a file.
func readSaving(m *data.Map, id string) *saving {
	all, _ := m.Value("CacheDisk_data").(*data.Map)
	times, _ := m.Value("CacheDisk_cachetime").(*data.Map)
	pillars, _ := all.Value(id).(*data.Map)
	at, ok := times.Value(id).(float64)
	if pillars == nil || !ok || at < 0 || at > 1e11 {
		return &saving{pillars: data.NewMap()}
	}
	return &saving{pillars: pillars, at: time.UnixMicro(int64(at * 1e6))}
}

func (s *Saved) store(id string, held *saving) error {
	if s.dir == "" {
		s.held[id] = held
		return nil
	}
	at := float64(held.at.UnixMicro()) / 1e6
	raw, err := payload.MarshalBin(data.NewMap("CacheDisk_data", data.NewMap(id, held.pillars),
		"CacheDisk_cachetime", data.NewMap(id, at)))
	if err != nil {
		return fmt.Errorf("pillar_cache: %w", err)
	}
	return atomicfile.Write(filepath.Join(s.dir, id), raw, atomicfile.Options{})
}
