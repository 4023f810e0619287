package minion

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/pki"
)

// masterKeyFile holds the key of the master, as it was at the first contact.
const masterKeyFile = "minion_master.pub"

// trustedKeys are the keys in the minion's pki_dir by which it knows its master.
type trustedKeys struct {
	keys    *pki.Keys
	signing string // name of the key that signs masters' keys (master_sign_key_name)
}

var _ channel.Keys = trustedKeys{}

// Master returns the stored key of the master, or "" before the first contact.
func (t trustedKeys) Master() (string, error) {
	text, err := t.keys.ReadText(masterKeyFile)
	if errors.Is(err, pki.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("key of the master: %w", err)
	}
	return text, nil
}

// SetMaster stores the master's key.
func (t trustedKeys) SetMaster(pem string) error { return t.keys.WriteText(masterKeyFile, pem) }

// Signing returns the key that signs masters' keys.
func (t trustedKeys) Signing() (string, error) {
	text, err := t.keys.ReadText(t.signing + ".pub")
	if err != nil {
		return "", fmt.Errorf("signing key of the master: %w", err)
	}
	return text, nil
}
