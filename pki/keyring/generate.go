package keyring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/pki"
)

// MakePair creates the pair NAME.pem and NAME.pub unless NAME.pem exists. name is a path; pass
// encrypts the private key unless it is empty. Without write access the error wraps
// fs.ErrPermission.
func MakePair(name string, bits int, pass string) error {
	if paths.IsFile(name + ".pem") {
		return nil
	}
	dir, base := filepath.Split(name)
	keys := pki.Visit(filepath.Clean(dir), pki.Options{}).Keys
	err := keys.RemovePublic(base) // useless without its private key
	if err == nil {
		_, err = keys.LoadOrCreate(base, bits, pass)
	}
	return err
}

// A Signature describes a signature of a public key to be written (salt/key.py:
// gen_keys_signature). Empty paths default to the files of the tree.
type Signature struct {
	Pub, Priv string // files of the key to sign and of the signing key
	Base      string // base directory of relative paths; "" is the current directory
	Folder    string // output directory
	Name      string // output file name: master_pubkey_signature
	SignKey   string // name of the pair that signs: master_sign_key_name
	Create    bool   // create the signing pair if it does not exist
	Bits      int
	Pass      string // decrypts the private key
}

// at resolves a path given by the caller.
func (s *Signature) at(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(s.Base, file)
}

// Sign writes a signature. It returns true on success, false if one exists already, and a message
// if a key is missing.
func (r *Ring) Sign(s Signature) (any, error) {
	pub, found := r.signedKey(s)
	if !found {
		return fmt.Sprintf("Public-key %s does not exist", s.Pub), nil
	}
	priv, found, err := r.signingKey(s)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return fmt.Sprintf("Private-key %s does not exist", s.Priv), nil
	case priv == "":
		return "No usable private-key found", nil
	case pub == "":
		return "No usable public-key found", nil
	}
	sig, err := sign(priv, pub, s.Pass)
	if err != nil {
		return nil, err
	}
	return r.write(s, sig)
}

// signedKey returns the path of the key to sign, or "" if there is none. found is false if the
// given file does not exist.
func (r *Ring) signedKey(s Signature) (path string, found bool) {
	if s.Pub != "" {
		return s.at(s.Pub), paths.IsFile(s.at(s.Pub))
	}
	path = filepath.Join(r.o.Tree.Path(), "master.pub")
	if !paths.IsFile(path) {
		path = ""
	}
	return path, true
}

// signingKey returns the path of the signing key, which it creates if requested.
func (r *Ring) signingKey(s Signature) (path string, found bool, err error) {
	if s.Priv != "" {
		return s.at(s.Priv), paths.IsFile(s.at(s.Priv)), nil
	}
	name := filepath.Join(r.o.Tree.Path(), s.SignKey)
	if s.Create {
		err = MakePair(name, s.Bits, s.Pass)
	}
	if err != nil || !paths.IsFile(name+".pem") {
		return "", true, err
	}
	return name + ".pem", true, nil
}

func sign(priv, pub, pass string) ([]byte, error) {
	text, err := readFile(pub)
	if err != nil {
		return nil, err
	}
	pem, err := readFile(priv)
	if err != nil {
		return nil, err
	}
	key, err := crypto.ParsePrivateKey([]byte(pem), pass)
	if err != nil {
		return nil, fmt.Errorf("private key %s: %w", priv, err)
	}
	return key.Sign([]byte(LineFeeds(text)), crypto.SHA1Sign)
}

func readFile(path string) (string, error) {
	return pki.Visit(filepath.Dir(path), pki.Options{}).ReadText(filepath.Base(path))
}

// write writes the signature file. If it exists already, the file is kept and the result is False.
func (r *Ring) write(s Signature, sig []byte) (any, error) {
	dir := s.Folder
	if dir == "" {
		dir = r.o.Tree.Path()
	}
	path := filepath.Join(dir, s.Name)
	if paths.IsFile(path) {
		return false, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, renamed(err, path)
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	if err := pki.Visit(dir, pki.Options{}).WriteText(s.Name,
		crypto.SignatureText(sig)); err != nil {
		return nil, err
	}
	return true, nil
}

// renamed replaces the path in a file error.
func renamed(err error, path string) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return &fs.PathError{Op: pathErr.Op, Path: path, Err: pathErr.Err}
	}
	return err
}
