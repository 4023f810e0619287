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

// matching returns the keys whose names match one of the comma-separated globs.
func matching(all []keyring.Shelf, globs string) []keyring.Shelf {
	return keyring.Matching(all, strings.Split(globs, ",")...)
}

// list prints the names of the keys in the state whose name begins with word, or of all.
func (k *keyRun) list(word string) error {
	s := keyring.StateOf(word)
	if s == pki.Unknown {
		all, err := k.ring.All()
		if err != nil {
			return err
		}
		all = all[:len(all)-1] // the master's own keys are not listed
		return errors.Join(k.display(keyring.Shown(all)), k.reportStrangers(all))
	}
	if err := canList(filepath.Join(k.ring.Tree().Path(), s.Dir())); err != nil {
		return err
	}
	ids, err := k.ring.Tree().List(s)
	if err != nil {
		return err
	}
	shown := []keyring.Shelf{{State: s, IDs: ids}}
	return errors.Join(k.display(keyring.Shown(shown)), k.reportStrangers(shown))
}

// canList returns an error with the path if a directory cannot be listed.
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

// finger prints the fingerprints of keys, including the master's own.
func (k *keyRun) finger(globs string) error {
	all, err := k.ring.All()
	if err != nil {
		return err
	}
	hash := k.opts.Text("hash_type")
	found := matching(all, globs)
	return errors.Join(k.displayEach(found, keyring.Finger(hash)), k.reportStrangers(found))
}

// displayEach prints the result of a function for each key's text.
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
