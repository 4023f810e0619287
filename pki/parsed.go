package pki

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/brineproject/brine/crypto"
)

// settled is how old a file must be before its parsed key is kept: one that was written twice within a tick of the
// file system's clock looks the same.
const settled = 2 * time.Second

// parsed keeps the parsed form of key files that have not changed since. It holds public keys only.
type parsed struct {
	mu    sync.RWMutex
	limit int
	keys  map[string]parsedKey
}

type parsedKey struct {
	info fs.FileInfo // nil as long as the file is too new to be known by it
	sum  [sha256.Size]byte
	key  *crypto.PublicKey
}

func newParsed(limit int) *parsed {
	return &parsed{limit: limit, keys: map[string]parsedKey{}}
}

// get returns the key of the file that info tells of, or nil.
func (p *parsed) get(id string, info fs.FileInfo) *crypto.PublicKey {
	p.mu.RLock()
	k, ok := p.keys[id]
	p.mu.RUnlock()
	if !ok || k.info == nil || !sameFile(k.info, info) {
		return nil
	}
	return k.key
}

// of returns the key that the file of an id was parsed to last, if it had this text, or nil. All who keep the key of a minion keep
// the same one then.
func (p *parsed) of(id string, text []byte) *crypto.PublicKey {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if k, ok := p.keys[id]; ok && k.sum == sha256.Sum256(text) {
		return k.key
	}
	return nil
}

// sameFile reports whether a file has not been replaced or written to.
func sameFile(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b) && changed(a).Equal(changed(b))
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

// dropOne makes room: which one hardly matters, as a master has a cache for all of its minions.
func (p *parsed) dropOne() {
	for id := range p.keys {
		delete(p.keys, id)
		return
	}
}
