package pki_test

import (
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/pkitest"
)

func TestDirIsAStore(t *testing.T) {
	pkitest.Run(t, func(t testing.TB) pki.Store {
		d, err := pki.Open(filepath.Join(t.TempDir(), "pki", "master"), pki.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	})
}
