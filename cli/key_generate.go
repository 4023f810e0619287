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
	"github.com/brineproject/brine/pki"
)

// makeKeysDir makes the folder that --gen-keys writes to.
func (k *keyRun) makeKeysDir() error {
	if k.o.GenKeys == "" {
		return nil
	}
	return os.MkdirAll(k.in.path(k.o.GenKeysDir), 0o755)
}

// generateKeys makes a pair of keys, unless it is there, and prints its fingerprint.
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

// makePair makes the pair NAME.pem and NAME.pub, unless NAME.pem is there.
func (k *keyRun) makePair(name string) error {
	if isFile(name + ".pem") {
		return nil
	}
	pass, err := k.passphrase()
	if err != nil {
		return err
	}
	dir, base := filepath.Split(name)
	keys := pki.Visit(filepath.Clean(dir), pki.Options{}).Keys
	err = keys.RemovePublic(base) // one without its private key is of no use
	if err == nil {
		_, err = keys.LoadOrCreate(base, int(k.o.KeySize), pass)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("Write access denied to \"%s\" for user \"%s\".", filepath.Clean(dir), userName()) //nolint:staticcheck // Salt's text
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

// generateSignature writes the signature of the master's public key (salt/key.py: gen_keys_signature). What is missing
// is told as the result.
func (k *keyRun) generateSignature() error {
	pub, found := k.signedKey()
	if !found {
		return k.result(fmt.Sprintf("Public-key %s does not exist", k.o.Pub))
	}
	priv, found, err := k.signingKey()
	switch {
	case err != nil:
		return err
	case !found:
		return k.result(fmt.Sprintf("Private-key %s does not exist", k.o.Priv))
	case priv == "":
		return k.result("No usable private-key found")
	case pub == "":
		return k.result("No usable public-key found")
	}
	sig, err := k.sign(priv, pub)
	if err != nil {
		return err
	}
	return k.writeSignature(sig)
}

func (k *keyRun) result(v any) error { return k.display(data.NewMap("return", v)) }

// signedKey returns the path of the key to be signed, "" when there is none; found is false when the one that was
// given is not there.
func (k *keyRun) signedKey() (path string, found bool) {
	if k.o.Pub != "" {
		path = k.in.path(k.o.Pub)
		return path, isFile(path)
	}
	path = filepath.Join(k.tree.Path(), "master.pub")
	if !isFile(path) {
		path = ""
	}
	return path, true
}

// signingKey is signedKey for the key to sign with, which is made where that is wanted.
func (k *keyRun) signingKey() (path string, found bool, err error) {
	if k.o.Priv != "" {
		path = k.in.path(k.o.Priv)
		return path, isFile(path), nil
	}
	name := filepath.Join(k.tree.Path(), k.opts.Text("master_sign_key_name"))
	if k.o.AutoCreate {
		err = k.makePair(name)
	}
	if err != nil || !isFile(name+".pem") {
		return "", true, err
	}
	return name + ".pem", true, nil
}

func (k *keyRun) sign(priv, pub string) ([]byte, error) {
	text, err := readKeyFile(pub)
	if err != nil {
		return nil, err
	}
	pass, err := k.passphrase()
	if err != nil {
		return nil, err
	}
	pem, err := readKeyFile(priv)
	if err != nil {
		return nil, err
	}
	key, err := crypto.ParsePrivateKey([]byte(pem), pass)
	if err != nil {
		return nil, fmt.Errorf("private key %s: %w", priv, err)
	}
	return key.Sign([]byte(lineFeeds(text)), crypto.SHA1Sign)
}

func readKeyFile(path string) (string, error) {
	return pki.Visit(filepath.Dir(path), pki.Options{}).ReadText(filepath.Base(path))
}

// writeSignature writes the file of a signature. One that is there stays, and the result is False.
func (k *keyRun) writeSignature(sig []byte) error {
	dir := k.tree.Path()
	if k.o.SignaturePath != "" {
		dir = k.in.path(k.o.SignaturePath)
	}
	name := k.opts.Text("master_pubkey_signature")
	path := filepath.Join(dir, name)
	if isFile(path) {
		return k.result(false)
	}
	if err := canList(dir); err != nil {
		return renamed(err, path)
	}
	if err := pki.Visit(dir, pki.Options{}).WriteText(name, crypto.SignatureText(sig)); err != nil {
		return err
	}
	return k.result(true)
}

// renamed gives an error of a file another path.
func renamed(err error, path string) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return &fs.PathError{Op: pathErr.Op, Path: path, Err: pathErr.Err}
	}
	return err
}
