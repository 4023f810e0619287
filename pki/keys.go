package pki

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/brineproject/brine/crypto"
)

const (
	privateMode fs.FileMode = 0o400
	publicMode  fs.FileMode = 0o644
)

// Keys are the key files directly in a pki_dir: a daemon's own pairs, such as master.pem and
// master.pub, and the public keys of its masters, such as minion_master.pub. It is safe for
// concurrent use.
type Keys struct {
	path   string
	policy crypto.Policy
	change sync.Mutex // held by Exclusive
}

// OpenKeys creates dir if needed, accessible to its owner only, and returns its Keys. It removes
// access of other users from an existing directory, as Salt does at start. With Options.Permissive
// the group may read it.
func OpenKeys(dir string, o Options) (*Keys, error) {
	if err := secure(dir, o.mode()); err != nil {
		return nil, fmt.Errorf("open pki_dir: %w", err)
	}
	return &Keys{path: dir, policy: o.Policy}, nil
}

// secure creates a directory, or reduces its permissions to mode.
func secure(dir string, mode fs.FileMode) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return makeDir(dir, mode)
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a directory")}
	}
	if perm := info.Mode().Perm(); perm != mode && perm != 0o750 { // 0750 is accepted, as in Salt
		return os.Chmod(dir, info.Mode()&(fs.ModeSetgid|fs.ModeSticky)|mode)
	}
	return nil
}

func makeDir(dir string, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(dir, mode)
}

// Path returns the directory.
func (k *Keys) Path() string { return k.path }

// LoadOrCreate returns the private key NAME.pem. If it does not exist, LoadOrCreate creates a pair
// with that many bits: NAME.pem with mode 0400 and NAME.pub with mode 0644. Concurrent calls of two
// programs return the same pair. A missing NAME.pub is written; a NAME.pub of another key is an
// error that wraps ErrMismatch. If only NAME.pub exists, no key is created, since peers that trust
// the old pair would reject the new one. The passphrase decrypts the file, and encrypts a new one
// unless it is empty.
func (k *Keys) LoadOrCreate(name string, bits int, passphrase string) (*crypto.PrivateKey, error) {
	key, err := k.Load(name, passphrase)
	if errors.Is(err, ErrNotFound) {
		if err = k.lost(name); err != nil {
			return nil, err
		}
		if key, err = k.generate(name, bits, passphrase); err == nil {
			err = k.completePair(name, key)
		}
	}
	if err != nil {
		return nil, err
	}
	return key, nil
}

// Load is LoadOrCreate without creating a private key: if there is none, the error wraps
// ErrNotFound.
func (k *Keys) Load(name, passphrase string) (*crypto.PrivateKey, error) {
	key, err := k.Private(name, passphrase)
	if err == nil {
		err = k.completePair(name, key)
	}
	if err != nil {
		return nil, err
	}
	return key, nil
}

// lost returns an error if there is a public key without its private key. Programs that create a
// pair write the private key first.
func (k *Keys) lost(name string) error {
	if _, err := k.ReadText(name + ".pub"); err != nil {
		return nil
	}
	if _, err := k.ReadText(name + ".pem"); !errors.Is(err, ErrNotFound) {
		return nil
	}
	return fmt.Errorf("%[1]s.pem is missing, while %[1]s.pub is there: bring it back from a backup, or remove %[1]s.pub for a new pair, "+
		"which those who know the old one have to be told of", filepath.Join(k.path, name))
}

// Protect removes the permissions of other users on the private key NAME.pem, and reports whether
// that was necessary. With permissive the group may read it.
func (k *Keys) Protect(name string, permissive bool) (done bool, err error) {
	file := filepath.Join(k.path, name+".pem")
	info, err := os.Stat(file)
	if err != nil || runtime.GOOS == "windows" { // where modes do not describe access by others
		return false, err
	}
	mode, allowed := privateMode, fs.FileMode(0o700)
	if permissive {
		mode, allowed = 0o440, 0o740
	}
	if info.Mode().Perm()&^allowed == 0 {
		return false, nil
	}
	return true, os.Chmod(file, mode)
}

func (k *Keys) generate(name string, bits int, passphrase string) (*crypto.PrivateKey, error) {
	key, err := crypto.GenerateKey(bits)
	if err != nil {
		return nil, err
	}
	err = k.in(func(r *room) error { return r.create(name+".pem", key.PEM(passphrase), privateMode) })
	if errors.Is(err, ErrExists) {
		return k.Private(name, passphrase)
	}
	if err != nil {
		return nil, fmt.Errorf("write %s.pem: %w", name, err)
	}
	return key, nil
}

func (k *Keys) completePair(name string, key *crypto.PrivateKey) error {
	text, err := k.ReadText(name + ".pub")
	switch {
	case errors.Is(err, ErrNotFound):
		return k.SetPublic(name, key.Public())
	case err != nil:
		return err
	case crypto.SameKey(text, key.Public().PEM()):
		return nil
	case k.succeeded(name, text, key):
		return k.SetPublic(name, key.Public())
	}
	return fmt.Errorf("%s: %w", filepath.Join(k.path, name+".pub"), ErrMismatch)
}

// Private returns the private key NAME.pem. Errors wrap ErrNotFound or those of
// crypto.ParsePrivateKey.
func (k *Keys) Private(name, passphrase string) (*crypto.PrivateKey, error) {
	text, err := k.ReadText(name + ".pem")
	if err != nil {
		return nil, err
	}
	key, err := crypto.ParsePrivateKey([]byte(text), passphrase)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(k.path, name+".pem"), err)
	}
	return key, nil
}

// Public returns the public key NAME.pub. Errors wrap ErrNotFound or those of
// crypto.ParsePublicKey.
func (k *Keys) Public(name string) (*crypto.PublicKey, error) {
	text, err := k.ReadText(name + ".pub")
	if err != nil {
		return nil, err
	}
	key, err := k.policy.ParsePublicKey([]byte(crypto.CleanPEM(text)))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(k.path, name+".pub"), err)
	}
	return key, nil
}

// SetPublic writes NAME.pub.
func (k *Keys) SetPublic(name string, key *crypto.PublicKey) error {
	return k.WriteText(name+".pub", key.PEM())
}

// RemovePublic removes NAME.pub. A missing file is not an error.
func (k *Keys) RemovePublic(name string) error {
	err := k.file(name+".pub", func(r *room) error { return r.remove(name + ".pub") })
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// ReadText returns the contents of a file in the directory, such as master_pubkey_signature. Errors
// wrap ErrNotFound, ErrNotFile or ErrTooLarge.
func (k *Keys) ReadText(file string) (text string, err error) {
	err = k.file(file, func(r *room) error {
		b, err := r.read(file)
		text = string(b)
		return err
	})
	return text, err
}

// WriteText writes a file in the directory with mode 0644.
func (k *Keys) WriteText(file, text string) error {
	return k.file(file, func(r *room) error { return r.replace(file, []byte(text), publicMode) })
}

// CreateText is WriteText for a file that must not exist yet. If it does, the error wraps ErrExists;
// of two concurrent calls, also of two programs, one fails.
func (k *Keys) CreateText(file, text string) error {
	return k.file(file, func(r *room) error { return r.create(file, []byte(text), publicMode) })
}

// Exclusive calls do, which reads and then writes files, while no other call of Exclusive runs.
func (k *Keys) Exclusive(do func() error) error {
	k.change.Lock()
	defer k.change.Unlock()
	return do()
}

// file calls do for a file in the directory and adds the path to its error.
func (k *Keys) file(name string, do func(*room) error) error {
	err := safeName(name)
	if err == nil {
		err = k.in(do)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(k.path, name), err)
	}
	return nil
}

func (k *Keys) in(do func(*room) error) error {
	r, err := enter(k.path)
	if err != nil {
		return err
	}
	defer r.leave()
	return do(r)
}
