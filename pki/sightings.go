package pki

import (
	"fmt"
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
	file *record[Sighting]
	most int

	mu    sync.Mutex
	byID  map[string]Sighting
	noted map[string]time.Time // when an id was noted last, whether that is to be written or not
	dirty bool
}

// sightingPause is how much later a key has to be seen again for that to be written: who is denied comes every ten seconds.
const sightingPause = time.Minute

// OpenSightings returns those in a master's cachedir. A file that cannot be read counts as none.
func OpenSightings(cacheDir string) *Sightings {
	s := &Sightings{file: sightingsIn(cacheDir), most: defaultMaxPending, noted: map[string]time.Time{}}
	s.byID, _ = s.file.load() // empty with an error
	return s
}

// ReadSightings returns what a master has written, by id.
func ReadSightings(cacheDir string) (map[string]Sighting, error) { return sightingsIn(cacheDir).load() }

func sightingsIn(cacheDir string) *record[Sighting] {
	return &record[Sighting]{dir: cacheDir, name: sightingsFile, most: maxSightings}
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
