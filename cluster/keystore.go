package cluster

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/pki"
)

// List implements pki.Store.
func (k *Keys) List(s pki.State) ([]string, error) {
	if s.Dir() == "" {
		return nil, fmt.Errorf("keys in state %s: %w", s, pki.ErrNotFound)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed != nil {
		return nil, k.failed
	}
	var ids []string
	for id, r := range k.records {
		if r.Keys.Get(s) != "" {
			ids = append(ids, id)
		}
	}
	pki.SortIDs(ids)
	return ids, nil
}

// Get implements pki.Store.
func (k *Keys) Get(s pki.State, id string) (string, error) {
	if err := pki.ValidID(id); err != nil {
		return "", err
	}
	r, err := k.Record(id)
	if err != nil {
		return "", err
	}
	key := r.Keys.Get(s)
	if key == "" {
		return "", fmt.Errorf("%s key of %s: %w", s, id, pki.ErrNotFound)
	}
	return key, nil
}

// Find implements pki.Store. It fails, instead of returning Unknown, for an id whose record cannot
// be read.
func (k *Keys) Find(id string) (pki.State, string, error) {
	if err := pki.ValidID(id); err != nil {
		return pki.Unknown, "", err
	}
	r, err := k.Record(id)
	if err != nil {
		return pki.Unknown, "", err
	}
	state, key := r.Keys.Find()
	return state, key, nil
}

// Create implements pki.Store.
func (k *Keys) Create(s pki.State, id, pem string) error {
	return k.write(s, id, pem, func(stored KeySet) error {
		if stored.Get(s) != "" {
			return pki.ErrExists
		}
		return nil
	})
}

// Put implements pki.Store.
func (k *Keys) Put(s pki.State, id, pem string) error {
	return k.write(s, id, pem, func(KeySet) error { return nil })
}

// write stores a key unless check objects to the stored ones.
func (k *Keys) write(s pki.State, id, pem string, check func(KeySet) error) error {
	if err := pki.ValidID(id); err != nil {
		return err
	}
	key, err := crypto.Policy{}.ParsePublicKey([]byte(crypto.CleanPEM(pem)))
	if err != nil {
		return fmt.Errorf("%s key of %s: %w", s, id, err)
	}
	return k.edit(s, id, func(keys *KeySet) error {
		if err := check(*keys); err != nil {
			return err
		}
		place := keys.Place(s)
		if *place == "" && k.isFull(s) {
			return pki.ErrPendingFull
		}
		*place = key.PEM()
		return nil
	})
}

// isFull reports whether no new key may come into a state. Several members at once may exceed the
// limit by a few.
func (k *Keys) isFull(s pki.State) bool {
	if s == pki.Accepted || k.o.MaxPending < 0 {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.counts[s] >= k.o.MaxPending
}

// Move implements pki.Store.
func (k *Keys) Move(id string, from, to pki.State) error {
	if err := pki.ValidID(id); err != nil {
		return err
	}
	return k.edit(from, id, func(keys *KeySet) error {
		source, target := keys.Place(from), keys.Place(to)
		if *source == "" {
			return pki.ErrNotFound
		}
		if target == nil {
			return fmt.Errorf("to state %s: %w", to, pki.ErrNotFound)
		}
		key := *source
		*source, *target = "", key
		return nil
	})
}

// Delete implements pki.Store.
func (k *Keys) Delete(s pki.State, id string) error {
	if err := pki.ValidID(id); err != nil {
		return err
	}
	return k.edit(s, id, func(keys *KeySet) error {
		place := keys.Place(s)
		if *place == "" {
			return pki.ErrNotFound
		}
		*place = ""
		return nil
	})
}

// edit changes the keys of an id by a function on the stored ones. Its errors name the key in state
// s.
func (k *Keys) edit(s pki.State, id string, do func(*KeySet) error) error {
	if s.Dir() == "" {
		return fmt.Errorf("keys in state %s: %w", s, pki.ErrNotFound)
	}
	ctx, cancel := context.WithTimeout(context.Background(), k.o.Timeout)
	defer cancel()
	_, err := k.change(ctx, id, func(stored KeyRecord) (KeySet, error) {
		keys := stored.Keys
		if err := do(&keys); err != nil {
			return KeySet{}, fmt.Errorf("%s: %w", s, err)
		}
		return keys, nil
	})
	return err
}
