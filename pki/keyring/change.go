package keyring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pki"
)

// The acts, as events name them.
const (
	Accept = "accept"
	Reject = "reject"
	Delete = "delete"
)

// Changes are what came of a Change.
type Changes struct {
	Done    []Shelf  // the keys that nothing went wrong with, where they lay
	Invalid []string // those that cannot be accepted
	Errs    []error  // what else went wrong; each names its key
}

// Change does an act to keys, one after the other, and tells of each. A key that somebody else has moved meanwhile counts as
// done.
func (r *Ring) Change(act string, chosen []Shelf) Changes {
	var c Changes
	for _, s := range chosen {
		var ids []string
		for _, id := range s.IDs {
			err := r.changeOne(act, s.State, id)
			switch {
			case errors.Is(err, ErrBadKey):
				c.Invalid = append(c.Invalid, id)
				continue
			case errors.Is(err, pki.ErrNotFound): // somebody else was faster
			case err != nil:
				c.Errs = append(c.Errs, err)
				continue
			case r.o.Changed != nil:
				r.o.Changed(act, id)
			}
			ids = append(ids, id)
		}
		c.Done = append(c.Done, Shelf{s.State, ids})
	}
	return c
}

func (r *Ring) changeOne(act string, s pki.State, id string) error {
	switch act {
	case Delete:
		return r.o.Tree.Delete(s, id)
	case Reject:
		return r.o.Tree.Move(id, s, pki.Rejected)
	}
	pem, err := r.o.Tree.Get(s, id)
	if err != nil {
		return err
	}
	if _, err := crypto.ParsePublicKey([]byte(crypto.CleanPEM(pem))); err != nil {
		return fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	return r.o.Tree.Move(id, s, pki.Accepted)
}

// NowIn returns where keys lie now. As in Salt (salt/key.py: dict_match) a key is there as often as it was given times the
// states that its id has keys in.
func (r *Ring) NowIn(given []Shelf) ([]Shelf, error) {
	all, err := r.Managed()
	if err != nil {
		return nil, err
	}
	has := make([]map[string]bool, len(all))
	for i, s := range all {
		has[i] = make(map[string]bool, len(s.IDs))
		for _, id := range s.IDs {
			has[i][id] = true
		}
	}
	now := &data.Map{} // state → ids, in the order of the first key in each
	for _, s := range given {
		for _, id := range s.IDs {
			for i := range all {
				if has[i][id] {
					ids, _ := now.Value(int64(i)).([]string)
					now.Set(int64(i), append(ids, id))
				}
			}
		}
	}
	var shelves []Shelf
	for i, ids := range now.All() {
		shelves = append(shelves, Shelf{all[i.(int64)].State, ids.([]string)})
	}
	return shelves, nil
}

// ClearUp drops what the master keeps of minions without a key, and asks it for a new session key. It is to be called after
// keys were rejected or deleted; chosen are those. The first error is of the caches alone, and no reason to stop.
func (r *Ring) ClearUp(act string, chosen []Shelf) (caches, rotation error) {
	if !r.o.PreserveCaches {
		caches = r.dropCaches(r.preserved(act, chosen))
	}
	if !r.o.Rotate {
		return caches, nil
	}
	rotation = pki.DropFile{Dir: r.o.CacheDir}.Request()
	if errors.Is(rotation, fs.ErrNotExist) {
		rotation = nil // no master has run with this cachedir, so there is no session key
	}
	return caches, rotation
}

// Replaced asks for a new session key after keys were accepted, where a denied one has taken the place of another: who holds that
// one knows the session key.
func (r *Ring) Replaced(chosen []Shelf) error {
	if !r.o.Rotate || !slices.ContainsFunc(chosen, func(s Shelf) bool { return s.State == pki.Denied && len(s.IDs) > 0 }) {
		return nil
	}
	err := pki.DropFile{Dir: r.o.CacheDir}.Request()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no master has run with this cachedir, so there is no session key
	}
	return err
}

// preserved returns the ids whose caches stay though their keys go.
func (r *Ring) preserved(act string, chosen []Shelf) []string {
	if act == Delete && r.o.PreserveAccepted {
		for _, s := range chosen {
			if s.State == pki.Accepted {
				return s.IDs
			}
		}
	}
	return nil
}

// dropCaches removes the caches of minions that have no key in any state, and the session keys of those that have none
// that is accepted. When the keys cannot be listed, nothing is removed.
func (r *Ring) dropCaches(preserved []string) error {
	all, err := r.Managed()
	if err != nil {
		return err
	}
	known, accepted := map[string]bool{}, map[string]bool{}
	for _, id := range preserved {
		known[id], accepted[id] = true, true
	}
	for _, s := range all {
		for _, id := range s.IDs {
			known[id] = true
			accepted[id] = accepted[id] || s.State == pki.Accepted
		}
	}
	root, err := os.OpenRoot(r.o.CacheDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return errors.Join(
		dropOthers(root, pki.Accepted.Dir(), func(e fs.DirEntry) bool { return known[e.Name()] || !e.IsDir() }),
		dropOthers(root, "sessions", func(e fs.DirEntry) bool {
			return accepted[e.Name()] || strings.HasPrefix(e.Name(), ".") || e.IsDir()
		}))
}

// dropOthers removes from a directory all that keep does not speak for.
func dropOthers(root *os.Root, dir string, keep func(fs.DirEntry) bool) error {
	f, err := root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	var errs []error
	for _, e := range entries {
		if !keep(e) {
			errs = append(errs, root.RemoveAll(dir+"/"+e.Name()))
		}
	}
	return errors.Join(errs...)
}
