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

// The acts, as named in events.
const (
	Accept = "accept"
	Reject = "reject"
	Delete = "delete"
)

// Changes are the result of Change.
type Changes struct {
	Done    []Shelf  // keys changed successfully, with their former location
	Invalid []string // keys that cannot be accepted
	Errs    []error  // other errors; each names its key
}

// Change applies an act to keys, one after the other, and reports each. A key moved by someone else
// in the meantime counts as done.
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
			case errors.Is(err, pki.ErrNotFound): // changed concurrently
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

// NowIn returns the current locations of keys. As in Salt (salt/key.py: dict_match), a key is
// listed as often as it was given, times the number of states in which its id has keys.
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

// ClearUp removes the master's caches of minions without a key and requests a new session key. Call
// it with the chosen keys after they were rejected or deleted. The error caches is not fatal.
func (r *Ring) ClearUp(act string, chosen []Shelf) (caches, rotation error) {
	if !r.o.PreserveCaches {
		caches = r.dropCaches(r.preserved(act, chosen))
	}
	if !r.o.Rotate {
		return caches, nil
	}
	rotation = pki.DropFile{Dir: r.o.CacheDir}.Request()
	if errors.Is(rotation, fs.ErrNotExist) {
		rotation = nil // no master has used this cachedir, so there is no session key
	}
	return caches, rotation
}

// Replaced requests a new session key if an accepted key came from the denied ones and replaced
// another. The holder of the replaced key knows the current session key.
func (r *Ring) Replaced(chosen []Shelf) error {
	if !r.o.Rotate || !slices.ContainsFunc(chosen,
		func(s Shelf) bool { return s.State == pki.Denied && len(s.IDs) > 0 }) {
		return nil
	}
	err := pki.DropFile{Dir: r.o.CacheDir}.Request()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no master has used this cachedir, so there is no session key
	}
	return err
}

// preserved returns the ids whose caches are kept although their keys are removed.
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

// dropCaches removes the caches of minions without a key in any state, and the session keys of
// minions without an accepted key. If the keys cannot be listed, it removes nothing.
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
		dropOthers(root, pki.Accepted.Dir(),
			func(e fs.DirEntry) bool { return known[e.Name()] || !e.IsDir() }),
		dropOthers(root, "sessions", func(e fs.DirEntry) bool {
			return accepted[e.Name()] || strings.HasPrefix(e.Name(), ".") || e.IsDir()
		}))
}

// dropOthers removes the entries of a directory that keep rejects.
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
