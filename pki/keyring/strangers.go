package keyring

import (
	"errors"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/pki"
)

// A Stranger is a denied key, beside the key that its id has.
type Stranger struct {
	ID         string
	State      pki.State // of the key that the id has
	Known, New string    // fingerprints
	Seen       pki.Sighting
	Told       bool // whether the master has told when it was seen
}

// Strangers returns those of the ids that have a denied key beside another one, and when each was seen by a master of ours.
func (r *Ring) Strangers(ids []string, hash string) ([]Stranger, error) {
	seen, err := pki.ReadSightings(r.o.CacheDir)
	if err != nil {
		seen = nil // the keys themselves are told
	}
	var all []Stranger
	for _, id := range ids {
		s, err := r.stranger(id, hash, seen[id])
		if errors.Is(err, pki.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (r *Ring) stranger(id, hash string, seen pki.Sighting) (s Stranger, err error) {
	denied, err := r.o.Tree.Get(pki.Denied, id)
	if err != nil {
		return s, err
	}
	state, pem, err := r.o.Tree.Find(id)
	if err == nil && state == pki.Unknown {
		err = pki.ErrNotFound
	}
	if err != nil {
		return s, err
	}
	s = Stranger{ID: id, State: state, Seen: seen}
	if key, err := crypto.ParsePublicKey([]byte(crypto.CleanPEM(denied))); err == nil {
		s.Told = pki.KeyName(key) == seen.Key
	}
	var errNew error
	s.Known, err = crypto.Fingerprint([]byte(pem), hash)
	s.New, errNew = crypto.Fingerprint([]byte(denied), hash)
	return s, errors.Join(err, errNew)
}
