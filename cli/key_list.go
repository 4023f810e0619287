package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/keyring"
)

// matching returns the keys whose names match one of the globs in a list with commas.
func matching(all []keyring.Shelf, globs string) []keyring.Shelf {
	return keyring.Matching(all, strings.Split(globs, ",")...)
}

// list prints the names of the keys in the state that a word begins to name, or of all.
func (k *keyRun) list(word string) error {
	s := keyring.StateOf(word)
	if s == pki.Unknown {
		all, err := k.ring.All()
		if err != nil {
			return err
		}
		all = all[:len(all)-1] // the master's own keys are not told
		return errors.Join(k.display(keyring.Shown(all)), k.tellStrangers(all))
	}
	if err := canList(filepath.Join(k.ring.Tree().Path(), s.Dir())); err != nil {
		return err
	}
	ids, err := k.ring.Tree().List(s)
	if err != nil {
		return err
	}
	shown := []keyring.Shelf{{State: s, IDs: ids}}
	return errors.Join(k.display(keyring.Shown(shown)), k.tellStrangers(shown))
}

// canList returns why a directory cannot be listed, with its path.
func canList(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return f.Close()
}

// print prints the texts of keys.
func (k *keyRun) print(globs string) error {
	all, err := k.ring.Managed()
	if err != nil {
		return err
	}
	return k.displayEach(matching(all, globs), keyText)
}

// finger prints the fingerprints of keys, the master's own ones among them.
func (k *keyRun) finger(globs string) error {
	all, err := k.ring.All()
	if err != nil {
		return err
	}
	hash := k.opts.Text("hash_type")
	found := matching(all, globs)
	return errors.Join(k.displayEach(found, keyring.Finger(hash)), k.tellStrangers(found))
}

// displayEach prints for each key what a function makes of its text.
func (k *keyRun) displayEach(shelves []keyring.Shelf, each func(pem string) (string, error)) error {
	m, err := k.ring.Each(shelves, each)
	if err != nil {
		return err
	}
	return k.display(m)
}

// keyText returns the text of a key as Python reads it: lines end in a line feed.
func keyText(pem string) (string, error) {
	if !utf8.ValidString(pem) {
		return "", fmt.Errorf("not text in UTF-8")
	}
	return keyring.LineFeeds(pem), nil
}
