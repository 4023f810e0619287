package python

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/internal/atomicfile"
)

// sign returns the signature of a message by the private key of a file.
func (f *Files) sign(_ context.Context, args arguments) (any, error) {
	text, err := os.ReadFile(args.text(0))
	if err != nil {
		return nil, err
	}
	key, err := crypto.ParsePrivateKey(text, args.text(2))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", args.text(0), err)
	}
	return key.Sign(args.bytes(1), crypto.SHA1Sign)
}

// verify reports whether a signature is that of the key whose public part a file has.
func (f *Files) verify(_ context.Context, args arguments) (any, error) {
	text, err := os.ReadFile(args.text(0))
	if err != nil {
		return nil, err
	}
	key, err := crypto.ParsePublicKey(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", args.text(0), err)
	}
	err = key.Verify(args.bytes(1), args.bytes(2), crypto.SHA1Sign)
	if errors.Is(err, crypto.ErrVerification) {
		return false, nil
	}
	return err == nil, err
}

// generateKeys makes a key and returns the path of its private part. An existing one is kept
// (salt/crypt.py, gen_keys).
func (f *Files) generateKeys(_ context.Context, args arguments) (any, error) {
	private := filepath.Join(args.text(0), args.text(1)+".pem")
	if _, err := os.Stat(private); !errors.Is(err, fs.ErrNotExist) {
		return private, err
	}
	bits, ok := args[2].(int64)
	if !ok {
		return nil, fmt.Errorf("make key %s: the size is not a number", private)
	}
	key, err := crypto.GenerateKey(int(bits))
	if err != nil {
		return nil, fmt.Errorf("make key %s: %w", private, err)
	}
	public := filepath.Join(args.text(0), args.text(1)+".pub")
	err = errors.Join(
		atomicfile.Write(private, key.PEM(args.text(4)), atomicfile.Options{Mode: 0o400}),
		atomicfile.Write(public, []byte(key.Public().PEM()), atomicfile.Options{Mode: 0o644}))
	if user := args.text(3); err == nil && user != "" {
		err = giveTo(user, private, public)
	}
	if err != nil {
		return nil, fmt.Errorf("write key %s: %w", private, err)
	}
	return private, nil
}

// giveTo makes a user the owner of files.
func giveTo(user string, files ...string) error {
	account, err := daemon.LookUp(user)
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range files {
		errs = append(errs, os.Chown(file, account.UID, account.GID))
	}
	return errors.Join(errs...)
}
