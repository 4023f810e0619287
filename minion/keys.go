package minion

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/pki"
)

const (
	// masterKeyFile holds the master's public key, as received at first contact or in the last key
	// rotation.
	masterKeyFile = "minion_master.pub"
	// formerKeysFile holds the former keys of the master, one line of JSON each.
	formerKeysFile = "minion_master.left"
)

// trustedKeys are the keys in the minion's pki_dir that identify its master.
type trustedKeys struct {
	keys    *pki.Keys
	signing string // name of the key that signs masters' keys (master_sign_key_name)
	log     logrus.FieldLogger
	now     func() time.Time
}

var _ channel.Heir = trustedKeys{}

// trusted returns the keys that identify the masters of the minion.
func (m *Minion) trusted() trustedKeys {
	return trustedKeys{keys: m.keys, signing: m.cfg.MasterSignKeyName, log: m.log, now: time.Now}
}

// Master returns the stored key of the master, or "" before first contact.
func (t trustedKeys) Master() (string, error) {
	text, err := t.keys.ReadText(masterKeyFile)
	if errors.Is(err, pki.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read key of the master: %w", err)
	}
	return text, nil
}

// withStoredKey adds the path of the stored master key to a sign-in error about the master's key.
// Other errors are returned unchanged.
func (m *Minion) withStoredKey(err error) error {
	if !errors.Is(err, channel.ErrMasterKey) || m.cfg.VerifyMasterPubkeySign {
		return err
	}
	return fmt.Errorf("%w. The stored key is %s", err, filepath.Join(m.cfg.PKIDir, masterKeyFile))
}

// SetMaster stores the master's key.
func (t trustedKeys) SetMaster(pem string) error { return t.keys.WriteText(masterKeyFile, pem) }

// Signing returns the key that signs the keys of masters.
func (t trustedKeys) Signing() (string, error) {
	text, err := t.keys.ReadText(t.signing + ".pub")
	if err != nil {
		return "", fmt.Errorf("read signing key of the master: %w", err)
	}
	return text, nil
}

// A formerKey is a former key of the master, replaced in a key rotation.
type formerKey struct {
	Serial   int64     `json:"serial"` // of the rotation statement
	Replaced time.Time `json:"left"`
	Name     string    `json:"fingerprint"`
	Key      string    `json:"key"` // PEM
}

// formerKeys returns the former keys of the master, oldest first.
func (t trustedKeys) formerKeys() ([]formerKey, error) {
	text, err := t.keys.ReadText(formerKeysFile)
	if errors.Is(err, pki.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read former keys of the master: %w", err)
	}
	var all []formerKey
	for line := range strings.Lines(text) {
		var k formerKey
		if err := json.Unmarshal([]byte(line), &k); err != nil {
			return nil, fmt.Errorf("read former keys of the master: %s: line %d: %w",
				formerKeysFile, len(all)+1, err)
		}
		all = append(all, k)
	}
	return all, nil
}

// Heard implements channel.Heir. A key that is recorded as former but is still stored does not
// count: Succeed was interrupted in between, and the same rotation must be followed again.
func (t trustedKeys) Heard() (pki.Heard, error) {
	all, err := t.formerKeys()
	if err != nil {
		return pki.Heard{}, err
	}
	stored, err := t.Master()
	if err != nil {
		return pki.Heard{}, err
	}
	all = slices.DeleteFunc(all, func(k formerKey) bool { return crypto.SameKey(k.Key, stored) })
	h := pki.Heard{Now: t.now(), Left: func(name string) bool { return hasName(all, name) }}
	for _, k := range all {
		h.Serial = max(h.Serial, k.Serial)
	}
	return h, nil
}

func hasName(keys []formerKey, name string) bool {
	for _, k := range keys {
		if k.Name == name {
			return true
		}
	}
	return false
}

// WasTrusted implements channel.Heir.
func (t trustedKeys) WasTrusted(finger, hash string) bool {
	all, err := t.formerKeys()
	if err != nil {
		return false
	}
	for _, k := range all {
		if got, err := crypto.Fingerprint([]byte(k.Key), hash); err == nil &&
			strings.EqualFold(got, finger) {
			return true
		}
	}
	return false
}

// maxFormerKeys limits the entries of formerKeysFile. The serial numbers of rotation statements
// keep older keys out.
const maxFormerKeys = 100

// Succeed implements channel.Heir. It saves the old key to a dated file, records it as former, and
// then stores the new key. If it is interrupted after any of these steps, the next sign-in
// completes it.
func (t trustedKeys) Succeed(pem string, serial int64) error {
	if err := t.replace(pem, serial); err != nil {
		return fmt.Errorf("replace key of the master: %w", err)
	}
	return nil
}

func (t trustedKeys) replace(pem string, serial int64) error {
	text, err := t.Master()
	if err != nil {
		return err
	}
	if crypto.SameKey(text, pem) {
		return nil // another connection has stored it already
	}
	old, err := crypto.ParsePublicKey([]byte(crypto.CleanPEM(text)))
	if err != nil {
		return err
	}
	now := t.now().UTC()
	kept, err := t.backUp(text, now)
	if err != nil {
		return fmt.Errorf("back up the old key: %w", err)
	}
	if err := t.recordFormer(formerKey{serial, now, pki.KeyName(old), old.PEM()}); err != nil {
		return err
	}
	if err := t.SetMaster(pem); err != nil {
		return err
	}
	next, err := crypto.ParsePublicKey([]byte(crypto.CleanPEM(pem)))
	if err != nil {
		return err
	}
	t.log.Warnf("The master has a new key, %s, handed over to by the old one, %s, which is kept in %s", pki.KeyName(next), pki.KeyName(old), kept)
	return nil
}

// backUp writes a key to a dated file and returns its name. A number is appended if that file
// exists with another key.
func (t trustedKeys) backUp(text string, now time.Time) (name string, err error) {
	date := masterKeyFile + "." + now.Format("20060102T150405Z")
	name = date
	for n := 2; ; n++ {
		before, err := t.keys.ReadText(name)
		if errors.Is(err, pki.ErrNotFound) || err == nil && before == text {
			return name, t.keys.WriteText(name, text)
		}
		if err != nil {
			return name, err
		}
		name = fmt.Sprintf("%s.%d", date, n)
	}
}

// recordFormer records a key as former, once.
func (t trustedKeys) recordFormer(k formerKey) error {
	all, err := t.formerKeys()
	if err != nil {
		return err
	}
	all = append(slices.DeleteFunc(all, func(other formerKey) bool { return other.Name == k.Name }),
		k)
	var b strings.Builder
	for _, k := range all[max(0, len(all)-maxFormerKeys):] {
		line, err := json.Marshal(k)
		if err != nil {
			return fmt.Errorf("write former keys of the master: %w", err)
		}
		b.Write(append(line, '\n'))
	}
	return t.keys.WriteText(formerKeysFile, b.String())
}
