package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/pki"
)

// localKeys is what Salt calls the master's own keys, in place of the folder of a state.
const localKeys = "local"

// A shelf is a folder of the key tree with the names of keys in it.
type shelf struct {
	state pki.State // Unknown for the master's own keys
	ids   []string
}

func (s shelf) name() string {
	if s.state == pki.Unknown {
		return localKeys
	}
	return s.state.Dir()
}

// keyStates are the states in the order in which Salt goes through them.
func keyStates() []pki.State {
	return []pki.State{pki.Accepted, pki.Pending, pki.Rejected, pki.Denied}
}

// managed returns the keys of minions.
func (k *keyRun) managed() ([]shelf, error) {
	var all []shelf
	for _, s := range keyStates() {
		ids, err := k.tree.List(s)
		if err != nil {
			return nil, err
		}
		all = append(all, shelf{s, ids})
	}
	return all, nil
}

// everything returns the keys of minions and the master's own ones.
func (k *keyRun) everything() ([]shelf, error) {
	entries, err := os.ReadDir(k.tree.Path())
	if err != nil {
		return nil, err
	}
	var own []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); (ext == ".pub" || ext == ".pem") && isFile(filepath.Join(k.tree.Path(), e.Name())) {
			own = append(own, e.Name())
		}
	}
	pki.SortIDs(own)
	all, err := k.managed()
	return append(all, shelf{pki.Unknown, own}), err
}

// matching returns the keys whose names match one of the globs in a list with commas, without the shelves on which
// there is none. Unlike in Salt a key that matches twice is there once.
func matching(all []shelf, globs string) []shelf {
	var patterns []*match.Glob
	for glob := range strings.SplitSeq(globs, ",") {
		patterns = append(patterns, match.CompileGlob(glob))
	}
	var found []shelf
	for _, s := range all {
		ids := slices.DeleteFunc(slices.Clone(s.ids), func(id string) bool {
			return !slices.ContainsFunc(patterns, func(g *match.Glob) bool { return g.Match(id) })
		})
		if len(ids) > 0 {
			found = append(found, shelf{s.state, ids})
		}
	}
	return found
}

// shown returns the names of keys by folder, as outputters take them.
func shown(shelves []shelf) *data.Map {
	m := &data.Map{}
	for _, s := range shelves {
		ids := make([]any, len(s.ids))
		for i, id := range s.ids {
			ids[i] = id
		}
		m.Set(s.name(), ids)
	}
	return m
}

// list prints the names of the keys in the state that a word begins to name, or of all.
func (k *keyRun) list(word string) error {
	s := stateOf(word)
	if s == pki.Unknown {
		all, err := k.everything()
		if err != nil {
			return err
		}
		return k.display(shown(all[:len(all)-1])) // the master's own keys are not told
	}
	if err := canList(filepath.Join(k.tree.Path(), s.Dir())); err != nil {
		return err
	}
	ids, err := k.tree.List(s)
	if err != nil {
		return err
	}
	return k.display(shown([]shelf{{s, ids}}))
}

// stateOf returns the state that an argument of --list means, Unknown for all.
func stateOf(word string) pki.State {
	switch {
	case strings.HasPrefix(word, "acc"):
		return pki.Accepted
	case hasAnyPrefix(word, "pre", "un"):
		return pki.Pending
	case strings.HasPrefix(word, "rej"):
		return pki.Rejected
	case strings.HasPrefix(word, "den"):
		return pki.Denied
	}
	return pki.Unknown
}

// canList returns why a folder cannot be listed, with its path.
func canList(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return f.Close()
}

// print prints the texts of keys.
func (k *keyRun) print(globs string) error {
	all, err := k.managed()
	if err != nil {
		return err
	}
	return k.displayEach(matching(all, globs), keyText)
}

// finger prints the fingerprints of keys, the master's own ones among them.
func (k *keyRun) finger(globs string) error {
	all, err := k.everything()
	if err != nil {
		return err
	}
	hash := k.opts.Text("hash_type")
	return k.displayEach(matching(all, globs), func(pem string) (string, error) {
		return crypto.Fingerprint([]byte(pem), hash)
	})
}

// displayEach prints for each key what a function makes of its text.
func (k *keyRun) displayEach(shelves []shelf, each func(pem string) (string, error)) error {
	m := &data.Map{}
	for _, s := range shelves {
		texts := &data.Map{}
		for _, id := range s.ids {
			pem, err := k.read(s.state, id)
			if err != nil {
				return err
			}
			text, err := each(pem)
			if err != nil {
				return fmt.Errorf("key %s: %w", id, err)
			}
			texts.Set(id, text)
		}
		m.Set(s.name(), texts)
	}
	return k.display(m)
}

func (k *keyRun) read(s pki.State, id string) (string, error) {
	if s == pki.Unknown {
		return k.tree.ReadText(id)
	}
	return k.tree.Get(s, id)
}

// keyText returns the text of a key as Python reads it: lines end in a line feed.
func keyText(pem string) (string, error) {
	if !utf8.ValidString(pem) {
		return "", fmt.Errorf("not text in UTF-8")
	}
	return lineFeeds(pem), nil
}

func lineFeeds(s string) string { return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s) }
