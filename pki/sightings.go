package pki

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"
)

// sightingsFile lies in the master's cachedir.
const sightingsFile = "denied_keys"

// maxSightings bounds the file, in bytes: 10,000 of them have 3 MB.
const maxSightings = 16 << 20

// A Sighting says when a key came for an id that has another one.
type Sighting struct {
	Key   string    `json:"fingerprint"` // as KeyName
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	From  string    `json:"from"` // address of the last one
}

// Sightings keep for each id the last key that was denied. Several goroutines may use them.
type Sightings struct {
	dir  string
	most int

	mu    sync.Mutex
	byID  map[string]Sighting
	dirty bool
}

// OpenSightings returns those in a master's cachedir. A file that cannot be read counts as none.
func OpenSightings(cacheDir string) *Sightings {
	s := &Sightings{dir: cacheDir, most: defaultMaxPending}
	var err error
	if s.byID, err = ReadSightings(cacheDir); err != nil || s.byID == nil {
		s.byID = map[string]Sighting{}
	}
	return s
}

// ReadSightings returns what a master has written, by id.
func ReadSightings(cacheDir string) (map[string]Sighting, error) {
	r, err := enter(cacheDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.leave()
	f, err := r.root.Open(sightingsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readAtMost(f, maxSightings)
	if err != nil {
		return nil, err
	}
	byID := map[string]Sighting{}
	if err := json.Unmarshal(text, &byID); err != nil {
		return nil, fmt.Errorf("%s: %w", sightingsFile, err)
	}
	return byID, nil
}

// Note tells of a key that was denied just now.
func (s *Sightings) Note(id, keyName, from string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, known := s.byID[id]
	if !known && len(s.byID) >= s.most {
		return
	}
	if seen.Key != keyName {
		seen = Sighting{Key: keyName, First: now.UTC()}
	}
	seen.Last, seen.From = now.UTC(), from
	s.byID[id] = seen
	s.dirty = true
}

// Flush writes what has changed, and drops ids that keep does not name.
func (s *Sightings) Flush(keep func(id string) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.byID {
		if !keep(id) {
			delete(s.byID, id)
			s.dirty = true
		}
	}
	if !s.dirty {
		return nil
	}
	text, err := json.Marshal(s.byID)
	if err == nil {
		err = s.write(text)
	}
	if err != nil {
		return fmt.Errorf("keep when keys were denied: %w", err)
	}
	s.dirty = false
	return nil
}

func (s *Sightings) write(text []byte) error {
	r, err := enter(s.dir)
	if err != nil {
		return err
	}
	defer r.leave()
	return r.replace(sightingsFile, text, 0o600)
}
