//go:build !windows

package pki

import "errors"

// sync makes sure that names given and taken outlast a power failure.
func (r *room) sync() error {
	f, err := r.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
