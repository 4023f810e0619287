package pki

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

// sightingsFile is the file name in the master's cachedir.
const sightingsFile = "denied_keys"

// maxSightings limits the file size, in bytes: 10,000 entries take 3 MB.
const maxSightings = 16 << 20

// A Sighting records when a key came for an id that has another one.
type Sighting struct {
	Key   string    `json:"fingerprint"` // see KeyName
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	From  string    `json:"from"` // last source address
}

// Sightings record the last denied key per id. They are safe for concurrent use.
type Sightings struct {
	file *record[Sighting]
	most int

	mu    sync.Mutex
	byID  map[string]Sighting
	noted map[string]time.Time // time of the last call of Note per id, whether it is written or not
	dirty bool
}

// sightingPause is the minimum interval between recorded sightings of a key; denied minions retry
// every ten seconds.
const sightingPause = time.Minute

// OpenSightings returns the sightings in a master's cachedir. An unreadable file counts as empty.
func OpenSightings(cacheDir string) *Sightings {
	s := &Sightings{file: sightingsIn(cacheDir), most: defaultMaxPending,
		noted: map[string]time.Time{}}
	s.byID, _ = s.file.load() // empty on error
	return s
}

// ReadSightings returns the sightings that a master has written, by id.
func ReadSightings(cacheDir string) (map[string]Sighting, error) {
	return sightingsIn(cacheDir).load()
}

func sightingsIn(cacheDir string) *record[Sighting] {
	return &record[Sighting]{dir: cacheDir, name: sightingsFile, most: maxSightings}
}

// Note records a key that was just denied. Repetitions count once a minute.
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

// Flush writes changes and drops ids that keep rejects. keep reflects the state at the time at;
// sightings noted later are kept.
func (s *Sightings) Flush(keep func(id string) bool, at time.Time) error {
	err := s.file.flush(func() map[string]Sighting { return s.changed(keep, at) }, s.setDirty)
	if err != nil {
		return fmt.Errorf("write when keys were denied: %w", err)
	}
	return nil
}

func (s *Sightings) setDirty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty = true
}

// changed drops ids and returns the entries to write, or nil.
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
