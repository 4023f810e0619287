// Package keyring does with the keys of a master what operators ask for: it lists, shows, accepts, rejects and deletes them,
// and clears up afterwards (salt/key.py). The program salt-key and the wheel module key both work through it.
package keyring

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/pki"
)

// Options say how a Ring works.
type Options struct {
	Tree     *pki.Dir
	CacheDir string // of the master
	// PreserveCaches keeps what the master knows of minions whose keys go (preserve_minion_cache); PreserveAccepted only for
	// accepted keys that are deleted (preserve_minions).
	PreserveCaches, PreserveAccepted bool
	// Rotate asks the master for a new session key after keys were rejected or deleted (rotate_aes_key).
	Rotate bool
	// Changed is told of each key that was changed: accept, reject or delete. It may be nil.
	Changed func(act, id string)
}

// A Ring is the keys of a master, for whoever looks after them. It keeps nothing in memory.
type Ring struct{ o Options }

// New returns a Ring.
func New(o Options) *Ring { return &Ring{o} }

// Tree returns the keys themselves.
func (r *Ring) Tree() *pki.Dir { return r.o.Tree }

// local is what Salt calls the master's own keys, in place of the directory of a state.
const local = "local"

// A Shelf is a directory of the key tree with the names of keys in it.
type Shelf struct {
	State pki.State // Unknown for the master's own keys
	IDs   []string
}

// Name returns Salt's name of the directory.
func (s Shelf) Name() string {
	if s.State == pki.Unknown {
		return local
	}
	return s.State.Dir()
}

// States are the states in the order in which Salt goes through them.
func States() []pki.State {
	return []pki.State{pki.Accepted, pki.Pending, pki.Rejected, pki.Denied}
}

// Managed returns the keys of minions.
func (r *Ring) Managed() ([]Shelf, error) {
	var all []Shelf
	for _, s := range States() {
		ids, err := r.o.Tree.List(s)
		if err != nil {
			return nil, err
		}
		all = append(all, Shelf{s, ids})
	}
	return all, nil
}

// All returns the keys of minions, and behind them the master's own ones.
func (r *Ring) All() ([]Shelf, error) {
	dir := r.o.Tree.Path()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var own []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); (ext == ".pub" || ext == ".pem") && paths.IsFile(filepath.Join(dir, e.Name())) {
			own = append(own, e.Name())
		}
	}
	pki.SortIDs(own)
	all, err := r.Managed()
	return append(all, Shelf{pki.Unknown, own}), err
}

// Matching returns the keys whose names match one of the globs, without the shelves on which there is none. Unlike in Salt a
// key that matches twice is there once.
func Matching(all []Shelf, globs ...string) []Shelf {
	var patterns []*match.Glob
	for _, glob := range globs {
		patterns = append(patterns, match.CompileGlob(glob))
	}
	var found []Shelf
	for _, s := range all {
		ids := slices.DeleteFunc(slices.Clone(s.IDs), func(id string) bool {
			return !slices.ContainsFunc(patterns, func(g *match.Glob) bool { return g.Match(id) })
		})
		if len(ids) > 0 {
			found = append(found, Shelf{s.State, ids})
		}
	}
	return found
}

// Shown returns the names of keys by directory, as outputters and wheel functions have them.
func Shown(shelves []Shelf) *data.Map {
	m := &data.Map{}
	for _, s := range shelves {
		ids := make([]any, len(s.IDs))
		for i, id := range s.IDs {
			ids[i] = id
		}
		m.Set(s.Name(), ids)
	}
	return m
}

// StateOf returns the state that a word begins to name: acc, pre, un, rej or den; Unknown for any other.
func StateOf(word string) pki.State {
	switch {
	case strings.HasPrefix(word, "acc"):
		return pki.Accepted
	case strings.HasPrefix(word, "pre"), strings.HasPrefix(word, "un"):
		return pki.Pending
	case strings.HasPrefix(word, "rej"):
		return pki.Rejected
	case strings.HasPrefix(word, "den"):
		return pki.Denied
	}
	return pki.Unknown
}

// Each returns for each key what a function makes of its text, by directory and name.
func (r *Ring) Each(shelves []Shelf, do func(pem string) (string, error)) (*data.Map, error) {
	m := &data.Map{}
	for _, s := range shelves {
		texts := &data.Map{}
		for _, id := range s.IDs {
			pem, err := r.read(s.State, id)
			if err != nil {
				return nil, err
			}
			text, err := do(pem)
			if err != nil {
				return nil, fmt.Errorf("key %s: %w", id, err)
			}
			texts.Set(id, text)
		}
		m.Set(s.Name(), texts)
	}
	return m, nil
}

func (r *Ring) read(s pki.State, id string) (string, error) {
	if s == pki.Unknown {
		return r.o.Tree.ReadText(id)
	}
	return r.o.Tree.Get(s, id)
}

// Finger returns what Each needs for fingerprints of a hash.
func Finger(hash string) func(pem string) (string, error) {
	return func(pem string) (string, error) { return crypto.Fingerprint([]byte(pem), hash) }
}

// LineFeeds returns the text of a key as Python reads it: lines end in a line feed.
func LineFeeds(s string) string { return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s) }

// ErrBadKey is wrapped for a key that cannot be accepted.
var ErrBadKey = errors.New("invalid key")
