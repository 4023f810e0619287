// Package syndics knows the syndics of a master: the daemons that connect lower masters to it, and
// the minions behind each.
//
// A syndic announces itself when it has signed in, and names minions in two ways. The syndics of
// Salt pass on the events of their lower masters, which name the minions of each job. Those of Brine
// also send an [Inventory] of all minions that their lower master has accepted.
//
// The master keeps one file for each syndic, CACHEDIR/syndics/ID. Salt's programs only look whether
// it exists (salt/client/__init__.py, get_cli_event_returns); here it is JSON with the minions, so
// that a restarted master still knows who speaks for whom.
//
// A minion that two syndics name goes to the first of them. If the operator has named the keys that may act
// as syndics, both speak for it, as in a fleet whose minions have two lower masters.
package syndics

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/pki"
)

// Limits on what syndics may announce.
const (
	MaxMinions = 500_000  // behind one syndic, in all tiers below it
	maxFile    = 64 << 20 // bytes
)

// ErrFull is wrapped by errors of changes that would exceed MaxMinions.
var ErrFull = errors.New("too many minions behind one syndic")

// An Inventory is what a syndic of Brine says about its lower master.
type Inventory struct {
	Minions []string            `json:"minions"`           // accepted by the lower master
	Syndics map[string][]string `json:"syndics,omitempty"` // minions behind the syndics of that master
}

// all returns the valid ids of the minions in all tiers, sorted.
func (i Inventory) all() []string {
	ids := slices.Clone(i.Minions)
	for _, nested := range i.Syndics {
		ids = append(ids, nested...)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return pki.ValidID(id) != nil })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// prefix begins the names of temporary files.
const prefix = ".syndic-"

// A Registry knows the syndics of a master. Several goroutines may use it.
type Registry struct {
	dir   string
	share func() bool // whether several syndics may speak for one minion

	mu     sync.Mutex
	known  map[string]*syndic
	behind map[string][]string // the syndics that speak for a minion
}

// A syndic is one syndic with the minions behind it.
type syndic struct {
	complete bool            // exact holds all minions behind it
	exact    []string        // minions of its last inventory, sorted
	minions  map[string]bool // all for which it may speak
	claims   map[string]bool // further ones that it has named, for which another syndic speaks
	here     bool            // it is connected
	minion   bool            // a minion with the same id has sent returns to this master
	dirty    bool            // the file must be written again
}

// content is what the file of a syndic holds.
type content struct {
	Complete bool     `json:"complete"`
	Minions  []string `json:"minions"`
	Named    []string `json:"named,omitempty"` // in jobs only
	Minion   bool     `json:"minion,omitempty"`
	Here     bool     `json:"connected,omitempty"`
}

// Open returns the registry in a directory, which it creates. share is called for a minion that
// another syndic speaks for, and reports whether both may. Files that cannot be read are left out, and
// named in the error beside a usable registry.
func Open(dir string, share func() bool) (*Registry, error) {
	r := &Registry{dir: dir, share: share, known: map[string]*syndic{}, behind: map[string][]string{}}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, fmt.Errorf("make the directory of syndics: %w", err)
	}
	damaged, err := r.load()
	return r, errors.Join(damaged, err)
}

// load reads the files. damaged is about those that cannot be read: their syndics are known, without
// minions.
func (r *Registry) load() (damaged, err error) {
	files, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, fmt.Errorf("list syndics: %w", err)
	}
	var errs []error
	for _, f := range files {
		id := f.Name()
		if pki.ValidID(id) != nil || !f.Type().IsRegular() || strings.HasPrefix(id, prefix) {
			continue
		}
		c, err := read(filepath.Join(r.dir, id))
		if err != nil {
			errs = append(errs, fmt.Errorf("read which minions are behind syndic %s: %w", id, err))
		}
		r.restore(id, c)
	}
	return errors.Join(errs...), nil
}

// read reads the file of a syndic. An empty one is of Salt's master.
func read(name string) (c content, err error) {
	f, err := os.Open(name)
	if err != nil {
		return c, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return c, err
	}
	if info.Size() > maxFile {
		return c, fmt.Errorf("it has %d bytes, more than %d", info.Size(), maxFile)
	}
	text := make([]byte, info.Size())
	if _, err := f.ReadAt(text, 0); err != nil {
		return c, err
	}
	return parse(text)
}

// parse reads the content of a file.
func parse(text []byte) (c content, err error) {
	if err := json.Unmarshal(text, &c); err != nil {
		return content{}, err
	}
	invalid := func(id string) bool { return pki.ValidID(id) != nil }
	c.Minions = slices.DeleteFunc(c.Minions, invalid)
	c.Named = slices.DeleteFunc(c.Named, invalid)
	if len(c.Minions)+len(c.Named) > MaxMinions {
		return content{}, ErrFull
	}
	return c, nil
}

func (r *Registry) restore(id string, c content) {
	s := r.get(id)
	s.complete, s.minion, s.here = c.Complete, c.Minion, c.Here
	s.exact = slices.Compact(slices.Sorted(slices.Values(c.Minions)))
	r.link(id, s, s.exact)
	r.link(id, s, c.Named)
}

// get returns a syndic, which becomes known. The caller holds mu.
func (r *Registry) get(id string) *syndic {
	s := r.known[id]
	if s == nil {
		s = &syndic{minions: map[string]bool{}, claims: map[string]bool{}}
		r.known[id] = s
	}
	return s
}

// link lets a syndic speak for minions, and returns those that another one speaks for. The caller
// holds mu.
func (r *Registry) link(id string, s *syndic, minions []string) (taken []string) {
	for _, m := range minions {
		switch {
		case s.minions[m]:
		case len(r.behind[m]) > 0 && !r.share():
			taken = append(taken, m)
			if len(s.claims) < MaxMinions {
				s.claims[m] = true
			}
		default:
			delete(s.claims, m)
			s.minions[m], s.dirty = true, true
			r.behind[m] = append(r.behind[m], id)
		}
	}
	return taken
}

// addExact adds a minion to the last inventory.
func (s *syndic) addExact(m string) {
	if at, there := slices.BinarySearch(s.exact, m); !there {
		s.exact = slices.Insert(slices.Clone(s.exact), at, m)
	}
}

// unlink takes that right back. A syndic that has named the minion too, as after a move of the minion,
// speaks for it from now on. The caller holds mu.
func (r *Registry) unlink(id string, s *syndic, minion string) {
	delete(s.minions, minion)
	left := slices.DeleteFunc(r.behind[minion], func(other string) bool { return other == id })
	if len(left) > 0 {
		r.behind[minion] = left
		return
	}
	delete(r.behind, minion)
	for _, other := range slices.Sorted(maps.Keys(r.known)) {
		if next := r.known[other]; next.claims[minion] && other != id {
			r.link(other, next, []string{minion})
			if next.complete {
				next.addExact(minion)
			}
			return
		}
	}
}

// Announce makes a syndic known, and its file exist. fresh reports whether it was not known.
func (r *Registry) Announce(id string) (fresh bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[id] != nil {
		return false, nil
	}
	s := r.get(id)
	return true, r.write(id, s)
}

// Is reports whether id is a syndic that has announced itself.
func (r *Registry) Is(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[id] != nil
}

// NoteMinion notes that there is a minion with the id of a syndic, which runs jobs.
func (r *Registry) NoteMinion(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.known[id]; s != nil && !s.minion {
		s.minion, s.dirty = true, true
	}
}

// SetConnected notes whether a syndic is connected, for those who read the files.
func (r *Registry) SetConnected(id string, is bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.known[id]; s != nil && s.here != is {
		s.here, s.dirty = is, true
	}
}

// Minion reports whether NoteMinion was called for a syndic.
func (r *Registry) Minion(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.known[id]
	return s != nil && s.minion
}

// All returns the ids of all syndics, sorted.
func (r *Registry) All() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.known))
}

// Empty reports whether there is no syndic.
func (r *Registry) Empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.known) == 0
}

// Replace sets the minions behind a syndic to those of its inventory. Others that it has named in
// jobs before are behind it no more. It returns those that another syndic speaks for. The error wraps
// ErrFull if there are too many; then nothing changes.
func (r *Registry) Replace(id string, inventory Inventory) (taken []string, err error) {
	ids := inventory.all()
	if len(ids) > MaxMinions {
		return nil, fmt.Errorf("%w: %d", ErrFull, len(ids))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.get(id)
	if s.complete && slices.Equal(s.exact, ids) && len(s.minions) == len(ids) {
		return nil, nil
	}
	for m := range s.minions {
		if _, stays := slices.BinarySearch(ids, m); !stays {
			r.unlink(id, s, m)
		}
	}
	s.complete, s.dirty = false, true
	clear(s.claims)
	taken = r.link(id, s, ids)
	s.complete = true
	s.exact = slices.DeleteFunc(ids, func(m string) bool { return !s.minions[m] })
	return taken, nil
}

// Add lets a syndic speak for minions that it has named in a job, as far as their ids are valid. It
// returns those that another syndic speaks for. The error wraps ErrFull if there are too many.
func (r *Registry) Add(id string, minions []string) (taken []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.get(id)
	for _, m := range minions {
		if s.minions[m] || pki.ValidID(m) != nil {
			continue
		}
		if len(s.minions) >= MaxMinions {
			return taken, fmt.Errorf("%w: %d", ErrFull, len(s.minions))
		}
		before := len(taken)
		taken = append(taken, r.link(id, s, []string{m})...)
		s.dirty = s.dirty || len(taken) == before
	}
	return taken, nil
}

// Speaks reports whether a minion is behind a syndic.
func (r *Registry) Speaks(id, minion string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.known[id]
	return s != nil && s.minions[minion]
}

// Above returns the syndics that a minion is behind.
func (r *Registry) Above(minion string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.behind[minion])
}

// Exact returns the minions of the last inventory of a syndic, sorted. complete is false for
// syndics that send none. The list must not be changed.
func (r *Registry) Exact(id string) (minions []string, complete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.known[id]
	if s == nil {
		return nil, false
	}
	return s.exact, s.complete
}

// Behind returns all minions behind a syndic, sorted: those of its inventory, and those that it has
// named in jobs.
func (r *Registry) Behind(id string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.known[id]
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.minions))
}

// Prune forgets the syndics for which keep returns false, with their files.
func (r *Registry) Prune(keep func(id string) bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for id, s := range r.known {
		if keep(id) {
			continue
		}
		for m := range s.minions {
			r.unlink(id, s, m)
		}
		delete(r.known, id)
		err := os.Remove(filepath.Join(r.dir, id))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("forget syndic %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// Flush writes the files of syndics that have changed.
func (r *Registry) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for id, s := range r.known {
		if s.dirty {
			errs = append(errs, r.write(id, s))
		}
	}
	return errors.Join(errs...)
}

// write writes the file of a syndic. The caller holds mu.
func (r *Registry) write(id string, s *syndic) error {
	c := content{Complete: s.complete, Minions: s.exact, Minion: s.minion, Here: s.here}
	for m := range s.minions {
		if _, exact := slices.BinarySearch(s.exact, m); !exact {
			c.Named = append(c.Named, m)
		}
	}
	slices.Sort(c.Named)
	text, err := json.Marshal(c)
	if err == nil {
		err = atomicfile.Write(filepath.Join(r.dir, id), text,
			atomicfile.Options{Mode: 0o644, Prefix: prefix})
	}
	if err != nil {
		return fmt.Errorf("write which minions are behind syndic %s: %w", id, err)
	}
	s.dirty = false
	return nil
}

// A Syndic is a syndic as it is on disk.
type Syndic struct {
	ID       string
	Complete bool     // it has sent an inventory
	Minion   bool     // there is a minion with the same id, which runs jobs
	Here     bool     // it was connected a second ago, if the master runs
	Minions  []string // behind it, sorted
}

// Read returns the syndics in the directory of a registry, sorted by id. A missing directory has none.
// Files that cannot be read count as those of syndics without minions.
func Read(dir string) ([]Syndic, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r := &Registry{dir: dir, share: func() bool { return true }, known: map[string]*syndic{},
		behind: map[string][]string{}}
	if _, err := r.load(); err != nil {
		return nil, err
	}
	var all []Syndic
	for _, id := range r.All() {
		s := r.known[id]
		all = append(all, Syndic{ID: id, Complete: s.complete, Minion: s.minion || s.minions[id], Here: s.here,
			Minions: r.Behind(id)})
	}
	return all, nil
}
