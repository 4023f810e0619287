package pki

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	dir string

	mu    sync.RWMutex
	byID  map[string]proved
	dirty bool

	writing sync.Mutex // held while the file is written; requests do not wait for that
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
	v := &Versions{dir: cacheDir, byID: map[string]proved{}}
	text, err := v.read()
	if err == nil && text != nil {
		err = json.Unmarshal(text, &v.byID)
	}
	if err != nil || v.byID == nil {
		v.byID = map[string]proved{}
	}
	if err != nil {
		return v, fmt.Errorf("versions by which minions proved their ids: %s: %w", versionsFile, err)
	}
	return v, nil
}

// read returns the text of the file, nil where there is none.
func (v *Versions) read() ([]byte, error) {
	r, err := enter(v.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.leave()
	f, err := r.root.Open(versionsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, maxVersions)
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
	v.writing.Lock()
	defer v.writing.Unlock()
	list := v.changed()
	if list == nil {
		return nil
	}
	text, err := json.Marshal(list)
	if err == nil {
		err = v.write(text)
	}
	if err != nil {
		v.mu.Lock()
		v.dirty = true
		v.mu.Unlock()
		return fmt.Errorf("keep by which versions minions proved their ids: %w", err)
	}
	return nil
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

func (v *Versions) write(text []byte) error {
	r, err := enter(v.dir)
	if err != nil {
		return err
	}
	defer r.leave()
	return r.replace(versionsFile, text, 0o600)
}
