package pki

import (
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/crypto"
)

func TestVersionsOutlastRestarts(t *testing.T) {
	dir := t.TempDir()
	first, err := crypto.GenerateKey(2048)
	must(t, err)
	other, err := crypto.GenerateKey(2048)
	must(t, err)
	v, err := OpenVersions(dir)
	must(t, err)
	v.Proved("web1", first.Public(), 2)
	v.Proved("web1", first.Public(), 3)
	v.Proved("web1", first.Public(), 2)
	v.Proved("gone", first.Public(), 3)
	v.Prune(func(id string) bool { return id != "gone" })
	must(t, v.Flush())
	v.Proved("late", first.Public(), 3) // not written

	again, err := OpenVersions(dir)
	must(t, err)
	parsed, err := crypto.ParsePublicKey([]byte(first.Public().PEM()))
	must(t, err)
	for _, tt := range []struct {
		id   string
		key  *crypto.PublicKey
		want int
	}{{"web1", parsed, 3}, {"web1", parsed, 3}, {"web1", other.Public(), 0}, {"gone", parsed, 0},
		{"late", parsed, 0}} {
		if got := again.Highest(tt.id, tt.key); got != tt.want {
			t.Errorf("%s proved itself by version %d, want %d", tt.id, got, tt.want)
		}
	}
	again.Proved("web1", other.Public(), 2) // has another key now
	if a, b := again.Highest("web1", parsed), again.Highest("web1", other.Public()); a != 0 || b != 2 {
		t.Errorf("after a new key: %d with the old one and %d with the new one", a, b)
	}

	write(t, filepath.Join(dir, versionsFile), "rubbish", 0o600)
	v, err = OpenVersions(dir)
	if err == nil || v.Highest("web1", parsed) != 0 {
		t.Errorf("rubbish is read: %v", err)
	}
	v.Proved("web1", parsed, 3)
	must(t, v.Flush())
	if v, err = OpenVersions(dir); err != nil || v.Highest("web1", parsed) != 3 {
		t.Errorf("rubbish is not replaced: %v", err)
	}
}

func FuzzVersions(f *testing.F) {
	key, err := crypto.GenerateKey(2048)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"web1":{"version":3,"fingerprint":"aa"}}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"web1":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, versionsFile), string(text), 0o600)
		v, _ := OpenVersions(dir)
		v.Proved("web1", key.Public(), 3)
		must(t, v.Flush())
		if v, err := OpenVersions(dir); err != nil || v.Highest("web1", key.Public()) < 3 {
			t.Errorf("after a file of %q: %v", text, err)
		}
	})
}
