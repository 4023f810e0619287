package cli

import (
	"bufio"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/keyring"
)

// TestReinstalledMinionIsShown denies the new key of a minion: who looks at the keys from a terminal sees both, when and from where
// the new one came, and how to take it; who does not sees what Salt shows. Taking it asks the master for a new session key.
func TestReinstalledMinionIsShown(t *testing.T) {
	dir := t.TempDir()
	tree, err := pki.Open(filepath.Join(dir, "pki"), pki.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var pems, fingers []string
	for _, s := range []pki.State{pki.Accepted, pki.Denied} {
		key, err := crypto.GenerateKey(2048)
		if err != nil {
			t.Fatal(err)
		}
		pems, fingers = append(pems, key.Public().PEM()), append(fingers, pki.KeyName(key.Public()))
		if err := tree.Put(s, "web1", key.Public().PEM()); err != nil {
			t.Fatal(err)
		}
	}
	if err := tree.Put(pki.Denied, "alone", pems[1]); err != nil { // its key was deleted since
		t.Fatal(err)
	}
	seen := pki.OpenSightings(dir)
	first := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	seen.Note("web1", fingers[1], "192.0.2.7", first)
	seen.Note("web1", fingers[1], "192.0.2.7", first.Add(time.Hour))
	if err := seen.Flush(func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	ring := keyring.New(keyring.Options{Tree: tree, CacheDir: dir, Rotate: true})
	tell := func(o *KeyOptions, terminal bool) string {
		t.Helper()
		var said strings.Builder
		k := &keyRun{o: o, opts: data.NewMap("hash_type", "sha256"), ring: ring, stdout: bufio.NewWriter(io.Discard), stderr: &said, terminal: terminal}
		if err := k.list("all"); err != nil {
			t.Fatal(err)
		}
		return said.String()
	}
	got := tell(&KeyOptions{}, true)
	for _, want := range []string{fingers[0], fingers[1], "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z", "192.0.2.7", "salt-key -a web1 --include-denied"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not told:\n%s", want, got)
		}
	}
	if strings.Contains(got, "alone") {
		t.Errorf("an id without another key is told:\n%s", got)
	}
	quiet := &KeyOptions{}
	quiet.Output = "json"
	if got := tell(&KeyOptions{}, false) + tell(quiet, true); got != "" {
		t.Errorf("programs are told %q", got)
	}
	chosen := []keyring.Shelf{{State: pki.Denied, IDs: []string{"web1"}}}
	if c := ring.Change(keyring.Accept, chosen); len(c.Errs) > 0 || len(c.Invalid) > 0 {
		t.Fatal(c)
	}
	if err := ring.Replaced(chosen); err != nil {
		t.Fatal(err)
	}
	if pem, err := tree.Get(pki.Accepted, "web1"); err != nil || pem != pems[1] {
		t.Errorf("the accepted key is not the new one: %v", err)
	}
	if asked, err := (pki.DropFile{Dir: dir}).Take(); !asked || err != nil {
		t.Errorf("a new session key is asked for: %v, %v", asked, err)
	}
}
