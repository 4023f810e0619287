package pki

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	noted map[string]time.Time // when an id was noted last, whether that is to be written or not
	dirty bool

	writing sync.Mutex // held while a list is written; whoever notes a key does not wait for that
}

// sightingPause is how much later a key has to be seen again for that to be written: who is denied comes every ten seconds.
const sightingPause = time.Minute

// OpenSightings returns those in a master's cachedir. A file that cannot be read counts as none.
func OpenSightings(cacheDir string) *Sightings {
	s := &Sightings{dir: cacheDir, most: defaultMaxPending, noted: map[string]time.Time{}}
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

// Note tells of a key that was denied just now. Of one that comes again and again each minute counts once.
func (s *Sightings) Note(id, keyName, from string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, known := s.byID[id]
	if !known && len(s.byID) >= s.most {
		return
	}
	s.noted[id] = now
	switch {
	case seen.Key != keyName:
		seen = Sighting{Key: keyName, First: now.UTC()}
	case now.Sub(seen.Last) < sightingPause:
		return
	}
	seen.Last, seen.From = now.UTC(), from
	s.byID[id] = seen
	s.dirty = true
}

// Flush writes what has changed, and drops ids that keep does not name, which is what was there at a time: what was noted since
// then stays.
func (s *Sightings) Flush(keep func(id string) bool, at time.Time) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	list := s.changed(keep, at)
	if list == nil {
		return nil
	}
	text, err := json.Marshal(list)
	if err == nil {
		err = s.write(text)
	}
	if err != nil {
		s.mu.Lock()
		s.dirty = true
		s.mu.Unlock()
		return fmt.Errorf("keep when keys were denied: %w", err)
	}
	return nil
}

// changed drops ids, and returns what is to be written then; nil is nothing.
func (s *Sightings) changed(keep func(id string) bool, at time.Time) map[string]Sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.byID {
		if !keep(id) && s.noted[id].Before(at) {
			delete(s.byID, id)
			delete(s.noted, id)
			s.dirty = true
		}
	}
	if !s.dirty {
		return nil
	}
	s.dirty = false
	return maps.Clone(s.byID)
}

func (s *Sightings) write(text []byte) error {
	r, err := enter(s.dir)
	if err != nil {
		return err
	}
	defer r.leave()
	return r.replace(sightingsFile, text, 0o600)
}
