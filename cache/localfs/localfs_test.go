package localfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/cachetest"
)

func TestContract(t *testing.T) {
	cachetest.Run(t, func(t *testing.T) cache.Bank { return open(t, t.TempDir()) })
}

func open(t *testing.T, dir string) *Cache {
	t.Helper()
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestFilesAreSaltsAndPrivate(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir).Store("minions/web1", "data", []byte("v")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "minions", "web1", "data.p"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file is %v, %v, want 0600", info, err)
	}
}

func TestLinksDoNotLeadOut(t *testing.T) {
	dir, secret := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(secret, "key.p"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "bank")); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, dir).Fetch("bank", "key"); err == nil {
		t.Errorf("Fetch through a link = %q", got)
	}
}
