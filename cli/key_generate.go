package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pki/keyring"
)

// makeKeysDir creates the directory for --gen-keys.
func (k *keyRun) makeKeysDir() error {
	if k.o.GenKeys == "" {
		return nil
	}
	return os.MkdirAll(k.in.path(k.o.GenKeysDir), 0o755)
}

// generateKeys creates a key pair unless it exists, and prints its fingerprint.
func (k *keyRun) generateKeys() error {
	name := k.o.GenKeys
	if !filepath.IsAbs(name) {
		name = filepath.Join(k.in.path(k.o.GenKeysDir), name)
	}
	if err := k.makePair(name); err != nil {
		return err
	}
	finger, err := crypto.FingerprintFile(name+".pub", k.opts.Text("hash_type"))
	if err != nil {
		return err
	}
	return k.display(data.NewMap("return", finger))
}

// makePair creates the pair NAME.pem and NAME.pub unless NAME.pem exists.
func (k *keyRun) makePair(name string) error {
	pass, err := k.passphrase()
	if err != nil {
		return err
	}
	return k.denied(keyring.MakePair(name, int(k.o.KeySize), pass), filepath.Dir(name))
}

// denied replaces the error for a directory that is not writable by Salt's text.
func (k *keyRun) denied(err error, dir string) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("Write access denied to \"%s\" for user \"%s\".", dir, userName()) //nolint:staticcheck // Salt's text
	}
	return err
}

func (k *keyRun) passphrase() (string, error) {
	pass := k.opts.Text("signing_key_pass")
	if strings.HasPrefix(pass, "sdb://") {
		return "", errors.New("signing_key_pass: this release cannot look up sdb:// addresses")
	}
	return pass, nil
}

// generateSignature writes the signature of the master's public key. Missing files are reported as
// the result.
func (k *keyRun) generateSignature() error {
	pass, err := k.passphrase()
	if err != nil {
		return err
	}
	result, err := k.ring.Sign(keyring.Signature{Pub: k.o.Pub, Priv: k.o.Priv, Base: k.given("."),
		Folder: k.given(k.o.SignaturePath), Name: k.opts.Text("master_pubkey_signature"),
		SignKey: k.opts.Text("master_sign_key_name"), Create: k.o.AutoCreate,
		Bits: int(k.o.KeySize), Pass: pass})
	if err != nil {
		return err
	}
	return k.display(data.NewMap("return", result))
}

// given makes a path of the command line absolute; "" stays.
func (k *keyRun) given(path string) string {
	if path == "" {
		return ""
	}
	return k.in.path(path)
}
