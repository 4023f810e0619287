// Package keyring implements the operators' commands on the keys of a master: list, show, accept,
// reject and delete, and the cleanup afterwards (salt/key.py). The program salt-key and the wheel
// module key both use it.
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

// Options configure a Ring.
type Options struct {
	Tree     *pki.Dir
	CacheDir string // cachedir of the master
	// PreserveCaches keeps the master's caches of minions whose keys are removed
	// (preserve_minion_cache). PreserveAccepted keeps only those of accepted keys that are deleted
	// (preserve_minions).
	PreserveCaches, PreserveAccepted bool
	// Rotate requests a new session key from the master after keys were rejected or deleted
	// (rotate_aes_key).
	Rotate bool
	// Changed, if not nil, is called for each changed key with the act: accept, reject or delete.
	Changed func(act, id string)
}

// A Ring manages the keys of a master. It keeps no state in memory.
type Ring struct{ o Options }

// New returns a Ring.
func New(o Options) *Ring { return &Ring{o} }

// Tree returns the key tree.
func (r *Ring) Tree() *pki.Dir { return r.o.Tree }

// local is Salt's name for the master's own keys, used in place of a state directory.
const local = "local"

// A Shelf lists names of keys in one directory of the key tree.
type Shelf struct {
	State pki.State // Unknown for the master's own keys
	IDs   []string
}

// Name returns Salt's name for the directory.
func (s Shelf) Name() string {
	if s.State == pki.Unknown {
		return local
	}
	return s.State.Dir()
}

// States returns the states in Salt's order.
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

// All returns the keys of minions, followed by the master's own keys.
func (r *Ring) All() ([]Shelf, error) {
	dir := r.o.Tree.Path()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var own []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); (ext == ".pub" || ext == ".pem") &&
			paths.IsFile(filepath.Join(dir, e.Name())) {
			own = append(own, e.Name())
		}
	}
	pki.SortIDs(own)
	all, err := r.Managed()
	return append(all, Shelf{pki.Unknown, own}), err
}

// Matching returns the keys whose names match one of the globs. Shelves without matches are
// omitted. Unlike in Salt, a key that matches twice is listed once.
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

// Shown returns the names of keys by directory, in the form of outputters and wheel functions.
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

// StateOf returns the state for an abbreviation: acc, pre, un, rej or den. It returns Unknown for
// any other.
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

// Each calls do with the text of each key and returns the results by directory and name.
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

// Finger returns a function for Each that computes fingerprints.
func Finger(hash string) func(pem string) (string, error) {
	return func(pem string) (string, error) { return crypto.Fingerprint([]byte(pem), hash) }
}

// LineFeeds normalizes line ends to line feeds, as Python does when it reads a key.
func LineFeeds(s string) string { return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s) }

// ErrBadKey is wrapped for a key that cannot be accepted.
var ErrBadKey = errors.New("invalid key")
