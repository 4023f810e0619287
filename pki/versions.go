package pki

import (
	"fmt"
	"maps"
	"sync"

	"github.com/brineproject/brine/crypto"
)

// versionsFile is the file name in the master's cachedir. It holds a JSON object of objects with
// the fields version and fingerprint, by id.
const versionsFile = "proved_versions"

// maxVersions limits the file size, in bytes: 100,000 minions take 14 MB.
const maxVersions = 64 << 20

// Versions record the highest protocol version with which each minion proved its identity, across
// restarts of the master. An entry is valid for one key of the id only. Versions are safe for
// concurrent use.
type Versions struct {
	file *record[proved]

	mu    sync.RWMutex
	byID  map[string]proved
	dirty bool
}

// proved is the entry of a minion.
type proved struct {
	Version int    `json:"version"`
	Key     string `json:"fingerprint"` // see KeyName

	parsed *crypto.PublicKey // key last found to match the fingerprint; nil if none was yet
}

// OpenVersions returns the versions in a master's cachedir. If the file cannot be read, it returns
// an error together with empty Versions that can be used.
func OpenVersions(cacheDir string) (*Versions, error) {
	v := &Versions{file: &record[proved]{dir: cacheDir, name: versionsFile, most: maxVersions}}
	var err error
	if v.byID, err = v.file.load(); err != nil {
		return v, fmt.Errorf("read versions by which minions proved their ids: %w", err)
	}
	return v, nil
}

// Proved records that minion id proved possession of key in a request with the given version.
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

// Highest returns the highest version with which minion id proved possession of key, or 0.
func (v *Versions) Highest(id string, key *crypto.PublicKey) int {
	p, _ := v.of(id, key)
	return p.Version
}

// of returns the entry of a minion with a key.
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

// Prune drops minions that keep rejects, such as those whose key was deleted.
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

// Flush writes the file if something has changed.
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

// changed returns the entries to write, or nil.
func (v *Versions) changed() map[string]proved {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.dirty {
		return nil
	}
	v.dirty = false
	return maps.Clone(v.byID)
}
