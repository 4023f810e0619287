package pki

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/brineproject/brine/crypto"
)

// settled is the minimum age of a file before its parsed key is cached. A file written twice within
// a clock tick of the file system would look unchanged.
const settled = 2 * time.Second

// parsed caches the parsed keys of unchanged key files. It holds public keys only.
type parsed struct {
	mu    sync.RWMutex
	limit int
	keys  map[string]parsedKey
}

type parsedKey struct {
	info fs.FileInfo // nil while the file is too new to be identified by it
	sum  [sha256.Size]byte
	key  *crypto.PublicKey
}

func newParsed(limit int) *parsed {
	return &parsed{limit: limit, keys: map[string]parsedKey{}}
}

// get returns the key of the file described by info, or nil.
func (p *parsed) get(id string, info fs.FileInfo) *crypto.PublicKey {
	p.mu.RLock()
	k, ok := p.keys[id]
	p.mu.RUnlock()
	if !ok || k.info == nil || !sameFile(k.info, info) {
		return nil
	}
	return k.key
}

// of returns the last parsed key of an id if its file had this text, or nil. Thus all holders of a
// minion's key share one object.
func (p *parsed) of(id string, text []byte) *crypto.PublicKey {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if k, ok := p.keys[id]; ok && k.sum == sha256.Sum256(text) {
		return k.key
	}
	return nil
}

// sameFile reports whether a file was neither replaced nor written to.
func sameFile(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b) &&
		changed(a).Equal(changed(b))
}

func (p *parsed) put(id string, info fs.FileInfo, text []byte, key *crypto.PublicKey) {
	if time.Since(info.ModTime()) < settled || time.Since(changed(info)) < settled {
		info = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.keys[id]; !ok && len(p.keys) >= p.limit {
		p.dropOne()
	}
	p.keys[id] = parsedKey{info, sha256.Sum256(text), key}
}

// dropOne evicts an entry. Which one hardly matters, since a master's cache has room for all of its
// minions.
func (p *parsed) dropOne() {
	for id := range p.keys {
		delete(p.keys, id)
		return
	}
}
