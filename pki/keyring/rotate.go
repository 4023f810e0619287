package keyring

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pki"
)

// How long absent minions may follow a master to its next key: by default, and at most. The minimum
// is pki.LeastHandover.
const (
	DefaultHandover = 90 * 24 * time.Hour
	longestHandover = 10 * 366 * 24 * time.Hour
)

// HandoverLife converts a number of days to the time for which minions may follow. Valid are one
// hour (0.05 is a little more) to ten years; 0 means 90 days. The error names the number.
func HandoverLife(days float64) (time.Duration, error) {
	if days == 0 {
		return DefaultHandover, nil
	}
	// also rejects NaN
	if !(days*24 >= pki.LeastHandover.Hours() && days <= longestHandover.Hours()/24) {
		return 0, fmt.Errorf("%v days: write a number from %v to %v", days, 0.05,
			longestHandover.Hours()/24)
	}
	return time.Duration(days * float64(24*time.Hour)), nil
}

// RotateMaster replaces the key of the master with a handover from the old one. days is how long
// absent minions may follow, see HandoverLife. opts are the master's options. A running master
// loads the new key within a second or two. The result holds the fingerprints and the file of the
// old key.
func (r *Ring) RotateMaster(opts *data.Map, days float64, now time.Time) (*data.Map, error) {
	life, err := HandoverLife(days)
	if err != nil {
		return nil, fmt.Errorf("rotate the key of the master: %w", err)
	}
	bits, _ := opts.Value("keysize").(int64)
	pass := opts.Text("key_pass")
	for _, option := range []string{"key_pass", "signing_key_pass"} {
		if strings.HasPrefix(opts.Text(option), "sdb://") {
			return nil, fmt.Errorf("%s: addresses of sdb are not looked up here", option)
		}
	}
	rotation := pki.Rotation{Name: "master", Bits: max(int(bits), 2048), Pass: pass,
		Life: life, Now: now}
	if data.Truth(opts.Value("master_sign_pubkey")) &&
		data.Truth(opts.Value("master_use_pubkey_signature")) {
		if rotation.Before, err = r.signedAnew(opts); err != nil {
			return nil, err
		}
	}
	done, err := r.o.Tree.Rotate(rotation)
	if errors.Is(err, crypto.ErrPassphrase) {
		return nil, fmt.Errorf("key_pass: decrypt the key: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("rotate the key of the master: %w", err)
	}
	return data.NewMap("old", done.From, "new", done.To,
		"old_key", filepath.Join(r.o.Tree.Path(), done.Kept),
		"handover_until", done.Expires.UTC().Format(time.RFC3339)), nil
}

// signedAnew returns a function that signs a new key of the master (master_use_pubkey_signature).
func (r *Ring) signedAnew(opts *data.Map) (func(*crypto.PublicKey) error, error) {
	name, tree := opts.Text("master_sign_key_name"), r.o.Tree
	key, err := tree.Private(name, opts.Text("signing_key_pass"))
	if err != nil {
		return nil, fmt.Errorf("master_use_pubkey_signature: the signature of the new key needs %s.pem in %s: %w", name, tree.Path(), err)
	}
	return func(next *crypto.PublicKey) error {
		sig, err := key.Sign([]byte(next.PEM()), crypto.SHA1Sign)
		if err != nil {
			return err
		}
		return tree.WriteText(opts.Text("master_pubkey_signature"), crypto.SignatureText(sig))
	}, nil
}
