package keyring

import (
	"errors"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/pki"
)

// A Stranger is a denied key whose id has another key.
type Stranger struct {
	ID         string
	State      pki.State // of the other key of the id
	Known, New string    // fingerprints of both keys
	Seen       pki.Sighting
	Told       bool // whether the master has recorded when it was seen
}

// Strangers returns the denied keys whose ids have another key, and when a Brine master last saw
// each.
func (r *Ring) Strangers(ids []string, hash string) ([]Stranger, error) {
	seen, err := pki.ReadSightings(r.o.CacheDir)
	if err != nil {
		seen = nil // the keys are listed anyway
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
