package master

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/pki"
)

// rotate gives the master of a bench a new pair of keys.
func (b *bench) rotate(t *testing.T) *pki.Rotated {
	t.Helper()
	done, err := b.keys.Rotate(pki.Rotation{Name: masterKey, Bits: 2048, Life: time.Hour, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// TestNewKeyIsAdoptedAfterAnError has an error at the master's first check: it is reported once,
// and the key is adopted when the cause is gone.
func TestNewKeyIsAdoptedAfterAnError(t *testing.T) {
	for _, file := range []string{"master_handover", "signature"} {
		t.Run(file, func(t *testing.T) {
			b := newBench(t, nil)
			keys := b.maint.succession
			if file == "signature" {
				keys.signature = file
			}
			next := b.rotate(t)
			text, _ := b.keys.ReadText(file)
			path := filepath.Join(b.keys.Path(), file)
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				changed, err := keys.adoptNewKey(t.Context())
				if changed || (err != nil) != (i == 0) || err != nil && !strings.Contains(err.Error(), file) {
					t.Errorf("look %d: %v, %v, want one error that names %s", i, changed, err, file)
				}
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := b.keys.WriteText(file, text); err != nil {
				t.Fatal(err)
			}
			if changed, err := keys.adoptNewKey(t.Context()); !changed || err != nil ||
				!keys.key.Public().Equal(next.Key.Public()) {
				t.Errorf("after the fault: %v, %v, and the key is %s", changed, err,
					pki.KeyName(keys.key.Public()))
			}
			if changed, err := keys.adoptNewKey(t.Context()); changed || err != nil {
				t.Errorf("once more: %v, %v", changed, err)
			}
		})
	}
}

// A private key that is gone is not replaced by one that nobody knows.
func TestLookMakesNoKey(t *testing.T) {
	b := newBench(t, nil)
	b.rotate(t)
	path := filepath.Join(b.keys.Path(), masterKey+".pem")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if changed, err := b.maint.succession.evaluate(info); changed || !errors.Is(err, pki.ErrNotFound) {
		t.Errorf("evaluate = %v, %v, want ErrNotFound", changed, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a key was made: %v", err)
	}
}

// A key that the passphrase does not open is told once, and not tried again and again.
func TestKeyWithAnotherPassphraseIsTriedOnce(t *testing.T) {
	b := newBench(t, nil)
	keys := b.maint.succession
	path := filepath.Join(b.keys.Path(), masterKey+".pem")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, keys.key.PEM("other"), 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.adoptNewKey(t.Context()); !errors.Is(err, crypto.ErrPassphrase) {
		t.Errorf("look = %v, want ErrPassphrase", err)
	}
	if keys.seen == nil {
		t.Error("the file is tried again")
	}
	if _, err := keys.adoptNewKey(t.Context()); err != nil {
		t.Errorf("the second look = %v", err)
	}
}
