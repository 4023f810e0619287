package pki

import (
	"fmt"
	"strings"
)

// Key returns the canonical text of a key. Errors wrap ErrNotFound, ErrNotFile or ErrTooLarge, or
// those of crypto.ParsePublicKey for a file that has no valid key. Of several denied keys in a file
// it returns the last.
func (d *Dir) Key(s State, id string) (pem string, err error) {
	text, err := d.Get(s, id)
	if err != nil {
		return "", err
	}
	if last := strings.LastIndex(text, "-----BEGIN "); s == Denied && last > 0 {
		text = text[last:]
	}
	pem, err = canonical(text, d.policy)
	if err != nil {
		return "", fmt.Errorf("%s key of %s: %w", s, id, err)
	}
	return pem, nil
}

// Import is Put for a key that another master has let in: the limits of what sign-ins may add,
// Options.MaxPending, Options.MaxOfOne and that of denied keys, do not apply.
func (d *Dir) Import(s State, id, pem string) error {
	if err := ValidID(id); err != nil {
		return err
	}
	text, err := canonical(pem, d.policy)
	if err != nil {
		return fmt.Errorf("%s key of %s: %w", s, id, err)
	}
	return d.with(s, id, func(r *room) error { return r.replace(id, []byte(text), publicMode) })
}
