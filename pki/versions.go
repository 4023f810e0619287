package pki

import (
	"fmt"
	"maps"
	"sync"

	"github.com/brineproject/brine/crypto"
)

// versionsFile lies in the master's cachedir. It is JSON: an object by id of objects with the fields version and fingerprint.
const versionsFile = "proved_versions"

// maxVersions bounds the file, in bytes: 100,000 minions have 14 MB.
const maxVersions = 64 << 20

// Versions keep the highest version of the protocol by which each minion proved its id, over restarts of the master. What is
// known of an id is of one key: another key of the id has proved nothing. Several goroutines may use Versions.
type Versions struct {
	file *record[proved]

	mu    sync.RWMutex
	byID  map[string]proved
	dirty bool
}

// proved is what is known of a minion.
type proved struct {
	Version int    `json:"version"`
	Key     string `json:"fingerprint"` // as KeyName

	parsed *crypto.PublicKey // the key that was last found to have the fingerprint; nil where none was yet
}

// OpenVersions returns those in a master's cachedir. The error says why the file of before could not be read: then nothing is
// known yet, and the Versions can be used all the same.
func OpenVersions(cacheDir string) (*Versions, error) {
	v := &Versions{file: &record[proved]{dir: cacheDir, name: versionsFile, most: maxVersions}}
	var err error
	if v.byID, err = v.file.load(); err != nil {
		return v, fmt.Errorf("read versions by which minions proved their ids: %w", err)
	}
	return v, nil
}

// Proved tells that minion id proved to hold key in a request of a version.
func (v *Versions) Proved(id string, key *crypto.PublicKey, version int) {
	if p, ok := v.of(id, key); ok && p.Version >= version {
		return
	}
	name := KeyName(key)
	v.mu.Lock()
	defer v.mu.Unlock()
	if p := v.byID[id]; p.Key != name || p.Version < version {
		v.byID[id], v.dirty = proved{Version: version, Key: name, parsed: key}, true
	}
}

// Highest returns the highest version by which minion id proved to hold key, 0 where it never did.
func (v *Versions) Highest(id string, key *crypto.PublicKey) int {
	p, _ := v.of(id, key)
	return p.Version
}

// of returns what is known of a minion with a key.
func (v *Versions) of(id string, key *crypto.PublicKey) (proved, bool) {
	v.mu.RLock()
	p, ok := v.byID[id]
	v.mu.RUnlock()
	switch {
	case !ok:
		return proved{}, false
	case p.parsed == key:
		return p, true
	case p.Key != KeyName(key):
		return proved{}, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := v.byID[id]; now.Key == p.Key {
		now.parsed = key
		v.byID[id] = now
	}
	return p, true
}

// Prune drops the minions that keep does not name, as after a key was deleted.
func (v *Versions) Prune(keep func(id string) bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id := range v.byID {
		if !keep(id) {
			delete(v.byID, id)
			v.dirty = true
		}
	}
}

// Flush writes the file when something has changed.
func (v *Versions) Flush() error {
	if err := v.file.flush(v.changed, v.setDirty); err != nil {
		return fmt.Errorf("write versions by which minions proved their ids: %w", err)
	}
	return nil
}

func (v *Versions) setDirty() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dirty = true
}

// changed returns what is to be written; nil is nothing.
func (v *Versions) changed() map[string]proved {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.dirty {
		return nil
	}
	v.dirty = false
	return maps.Clone(v.byID)
}
