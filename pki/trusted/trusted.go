// Package trusted stores the keys by which a minion or a syndic recognizes its masters: the stored
// key of the master, its former keys and the key that signs masters' keys.
package trusted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/pki"
)

// Files with the key of the master, in pki_dir (salt/crypt.py, AsyncAuth.__init__: mpub).
const (
	MinionFile = "minion_master.pub" // of a minion
	SyndicFile = "syndic_master.pub" // of a syndic
)

// Keys are the keys in a pki_dir that identify a master. They implement channel.Keys and
// channel.Heir. Several goroutines may use them.
type Keys struct {
	Dir *pki.Keys
	// name of the file with the master's public key, as received at first contact or in the last
	// key rotation: MinionFile or SyndicFile
	File string
	Sign []string // names of the keys that sign masters' keys (master_sign_key_name)
	Log  logrus.FieldLogger
	Now  func() time.Time
}

// Path returns the path of the file with the master's key.
func (t Keys) Path() string { return filepath.Join(t.Dir.Path(), t.File) }

// formerFile returns the name of the file with the former keys of the master, one line of JSON
// each.
func (t Keys) formerFile() string { return strings.TrimSuffix(t.File, ".pub") + ".left" }

// Master returns the stored key of the master, or "" before first contact.
func (t Keys) Master() (string, error) {
	text, err := t.Dir.ReadText(t.File)
	if errors.Is(err, pki.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read key of the master: %w", err)
	}
	return text, nil
}

// SetMaster implements channel.Keys. A first key is stored by one of several links and programs
// only.
func (t Keys) SetMaster(before, pem string) error {
	return t.Dir.Exclusive(func() error { return t.swap(before, pem) })
}

// swap stores pem in place of before. The caller holds Exclusive. A link to no file counts as no key: it is
// replaced.
func (t Keys) swap(before, pem string) error {
	err := t.trySwap(before, pem)
	if errors.Is(err, pki.ErrExists) { // another program was first
		err = t.trySwap(before, pem)
	}
	if errors.Is(err, pki.ErrExists) && t.isLink() {
		return t.Dir.WriteText(t.File, pem)
	}
	return err
}

// isLink reports whether the file with the master's key is a symbolic link.
func (t Keys) isLink() bool {
	info, err := os.Lstat(t.Path())
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// trySwap is swap; the error wraps pki.ErrExists if there is no key, but something with the name of its
// file.
func (t Keys) trySwap(before, pem string) error {
	text, err := t.Dir.ReadText(t.File)
	switch {
	case errors.Is(err, pki.ErrNotFound) && before == "":
		return t.Dir.CreateText(t.File, pem)
	case errors.Is(err, pki.ErrNotFound):
		return fmt.Errorf("%s: %w", t.Path(), pki.ErrChanged)
	case err != nil:
		return fmt.Errorf("read key of the master: %w", err)
	case text != "" && crypto.SameKey(text, pem):
		return nil // another link has stored it already
	case text != before && !crypto.SameKey(text, before):
		return fmt.Errorf("%s: %w", t.Path(), pki.ErrChanged)
	}
	return t.Dir.WriteText(t.File, pem)
}

// Signing returns the keys that sign the keys of masters. Of several names those are left out that
// have no file.
func (t Keys) Signing() ([]string, error) {
	var keys []string
	var missing []error
	for _, name := range t.Sign {
		text, err := t.Dir.ReadText(name + ".pub")
		switch {
		case errors.Is(err, pki.ErrNotFound):
			missing = append(missing, err)
		case err != nil:
			return nil, fmt.Errorf("read signing key of the master: %w", err)
		default:
			keys = append(keys, text)
		}
	}
	if len(keys) > 0 {
		return keys, nil
	}
	if len(missing) == 0 {
		return nil, errors.New("read signing key of the master: master_sign_key_name is empty")
	}
	return nil, fmt.Errorf("read signing key of the master: %w", errors.Join(missing...))
}

// A formerKey is a former key of the master, replaced in a key rotation.
type formerKey struct {
	Serial   int64     `json:"serial"` // of the rotation statement
	Replaced time.Time `json:"left"`
	Name     string    `json:"fingerprint"`
	Key      string    `json:"key"` // PEM
}

// formerKeys returns the former keys of the master, oldest first.
func (t Keys) formerKeys() ([]formerKey, error) {
	text, err := t.Dir.ReadText(t.formerFile())
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
				t.formerFile(), len(all)+1, err)
		}
		all = append(all, k)
	}
	return all, nil
}

// Heard implements channel.Heir. A key that is recorded as former but is still stored does not
// count: Succeed was interrupted in between, and the same rotation must be followed again.
func (t Keys) Heard() (pki.Heard, error) {
	all, err := t.formerKeys()
	if err != nil {
		return pki.Heard{}, err
	}
	stored, err := t.Master()
	if err != nil {
		return pki.Heard{}, err
	}
	all = slices.DeleteFunc(all, func(k formerKey) bool { return crypto.SameKey(k.Key, stored) })
	h := pki.Heard{Now: t.Now(), Left: func(name string) bool { return hasName(all, name) }}
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
func (t Keys) WasTrusted(finger, hash string) bool {
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

// maxFormerKeys limits the entries of the file of former keys. The serial numbers of rotation statements
// keep older keys out.
const maxFormerKeys = 100

// Succeed implements channel.Heir. It saves the old key to a dated file, records it as former, and
// then stores the new key. If it is interrupted after any of these steps, the next sign-in
// completes it.
func (t Keys) Succeed(before, pem string, serial int64) error {
	if err := t.Dir.Exclusive(func() error { return t.replace(before, pem, serial) }); err != nil {
		return fmt.Errorf("replace key of the master: %w", err)
	}
	return nil
}

func (t Keys) replace(before, pem string, serial int64) error {
	text, err := t.Master()
	if err != nil {
		return err
	}
	if crypto.SameKey(text, pem) {
		return nil // another connection has stored it already
	}
	if !crypto.SameKey(text, before) {
		return fmt.Errorf("%s: %w", t.Path(), pki.ErrChanged)
	}
	old, err := crypto.ParsePublicKey([]byte(crypto.CleanPEM(text)))
	if err != nil {
		return err
	}
	now := t.Now().UTC()
	kept, err := t.backUp(text, now)
	if err != nil {
		return fmt.Errorf("back up the old key: %w", err)
	}
	if err := t.recordFormer(formerKey{serial, now, pki.KeyName(old), old.PEM()}); err != nil {
		return err
	}
	if err := t.swap(text, pem); err != nil {
		return err
	}
	next, err := crypto.ParsePublicKey([]byte(crypto.CleanPEM(pem)))
	if err != nil {
		return err
	}
	t.Log.Warnf("The master has a new key, %s, handed over to by the old one, %s, which is kept in %s",
		pki.KeyName(next), pki.KeyName(old), kept)
	return nil
}

// backUp writes a key to a dated file and returns its name. A number is appended if that file
// exists with another key.
func (t Keys) backUp(text string, now time.Time) (name string, err error) {
	date := t.File + "." + now.Format("20060102T150405Z")
	name = date
	for n := 2; ; n++ {
		before, err := t.Dir.ReadText(name)
		if errors.Is(err, pki.ErrNotFound) || err == nil && before == text {
			return name, t.Dir.WriteText(name, text)
		}
		if err != nil {
			return name, err
		}
		name = fmt.Sprintf("%s.%d", date, n)
	}
}

// recordFormer records a key as former, once.
func (t Keys) recordFormer(k formerKey) error {
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
	return t.Dir.WriteText(t.formerFile(), b.String())
}
