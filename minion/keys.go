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
	// masterKeyFile holds the key of the master, as it was at the first contact or as the master has handed it over since.
	masterKeyFile = "minion_master.pub"
	// leftKeysFile holds the keys that the master has left, a line of JSON for each.
	leftKeysFile = "minion_master.left"
)

// trustedKeys are the keys in the minion's pki_dir by which it knows its master.
type trustedKeys struct {
	keys    *pki.Keys
	signing string // name of the key that signs masters' keys (master_sign_key_name)
	log     logrus.FieldLogger
	now     func() time.Time
}

var _ channel.Heir = trustedKeys{}

// trusted returns the keys by which a minion knows its masters.
func (m *Minion) trusted() trustedKeys {
	return trustedKeys{keys: m.keys, signing: m.cfg.MasterSignKeyName, log: m.log, now: time.Now}
}

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

// withStoredKey returns the error of a sign-in, and where it is about the master's key, with the file of the stored one.
func (m *Minion) withStoredKey(err error) error {
	if !errors.Is(err, channel.ErrMasterKey) || m.cfg.VerifyMasterPubkeySign {
		return err
	}
	return fmt.Errorf("%w. The stored key is %s", err, filepath.Join(m.cfg.PKIDir, masterKeyFile))
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

// A leftKey is one that the master has left by a hand-over.
type leftKey struct {
	Serial int64     `json:"serial"` // of the statement that was followed
	Left   time.Time `json:"left"`
	Name   string    `json:"fingerprint"`
	Key    string    `json:"key"` // PEM
}

// left returns the keys that the master has left, the last one at the end.
func (t trustedKeys) left() ([]leftKey, error) {
	text, err := t.keys.ReadText(leftKeysFile)
	if errors.Is(err, pki.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("keys that the master has left: %w", err)
	}
	var all []leftKey
	for line := range strings.Lines(text) {
		var k leftKey
		if err := json.Unmarshal([]byte(line), &k); err != nil {
			return nil, fmt.Errorf("keys that the master has left: %s: line %d: %w", leftKeysFile, len(all)+1, err)
		}
		all = append(all, k)
	}
	return all, nil
}

// Heard implements channel.Heir. A key that was noted as left and is stored still counts as none: Succeed was broken off between the
// two, and the same hand-over is to be followed once more.
func (t trustedKeys) Heard() (pki.Heard, error) {
	all, err := t.left()
	if err != nil {
		return pki.Heard{}, err
	}
	stored, err := t.Master()
	if err != nil {
		return pki.Heard{}, err
	}
	all = slices.DeleteFunc(all, func(k leftKey) bool { return crypto.SameKey(k.Key, stored) })
	h := pki.Heard{Now: t.now(), Left: func(name string) bool { return hasName(all, name) }}
	for _, k := range all {
		h.Serial = max(h.Serial, k.Serial)
	}
	return h, nil
}

func hasName(keys []leftKey, name string) bool {
	for _, k := range keys {
		if k.Name == name {
			return true
		}
	}
	return false
}

// WasTrusted implements channel.Heir.
func (t trustedKeys) WasTrusted(finger, hash string) bool {
	all, err := t.left()
	if err != nil {
		return false
	}
	for _, k := range all {
		if got, err := crypto.Fingerprint([]byte(k.Key), hash); err == nil && strings.EqualFold(got, finger) {
			return true
		}
	}
	return false
}

// mostLeft bounds leftKeysFile. The number of the statements keeps older keys out.
const mostLeft = 100

// Succeed implements channel.Heir. The old key is kept as a file with its date, then noted as left, and then the new one takes its
// place. Whichever of these is the last that was done, the next sign-in goes on from there.
func (t trustedKeys) Succeed(pem string, serial int64) error {
	text, err := t.Master()
	if err != nil {
		return err
	}
	if crypto.SameKey(text, pem) {
		return nil // another connection was faster
	}
	old, err := crypto.ParsePublicKey([]byte(crypto.CleanPEM(text)))
	if err != nil {
		return fmt.Errorf("key of the master: %w", err)
	}
	now := t.now().UTC()
	kept, err := t.keep(text, now)
	if err != nil {
		return fmt.Errorf("keep the old key of the master: %w", err)
	}
	if err := t.leave(leftKey{serial, now, pki.KeyName(old), old.PEM()}); err != nil {
		return err
	}
	if err := t.SetMaster(pem); err != nil {
		return fmt.Errorf("key of the master: %w", err)
	}
	next, err := crypto.ParsePublicKey([]byte(crypto.CleanPEM(pem)))
	if err != nil {
		return fmt.Errorf("key of the master: %w", err)
	}
	t.log.Warnf("The master has a new key, %s, which it handed over to with the old one, %s; that one is kept in %s", pki.KeyName(next), pki.KeyName(old), kept)
	return nil
}

// keep writes a key to a file with its date, and with a number where the file of that second holds another one.
func (t trustedKeys) keep(text string, now time.Time) (name string, err error) {
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

// leave notes a key as left, once.
func (t trustedKeys) leave(k leftKey) error {
	all, err := t.left()
	if err != nil {
		return err
	}
	all = append(slices.DeleteFunc(all, func(other leftKey) bool { return other.Name == k.Name }), k)
	var b strings.Builder
	for _, k := range all[max(0, len(all)-mostLeft):] {
		line, err := json.Marshal(k)
		if err != nil {
			return fmt.Errorf("keys that the master has left: %w", err)
		}
		b.Write(append(line, '\n'))
	}
	return t.keys.WriteText(leftKeysFile, b.String())
}
