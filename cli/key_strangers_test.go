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

// reinstalled is a master with two keys of web1, one accepted and one denied, and a denied key of
// an id without another.
type reinstalled struct {
	dir           string
	tree          *pki.Dir
	ring          *keyring.Ring
	pems, fingers []string // the accepted key, and the denied one
}

func newReinstalled(t *testing.T) *reinstalled {
	t.Helper()
	r := &reinstalled{dir: t.TempDir()}
	var err error
	if r.tree, err = pki.Open(filepath.Join(r.dir, "pki"), pki.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []pki.State{pki.Accepted, pki.Denied} {
		key, err := crypto.GenerateKey(2048)
		if err != nil {
			t.Fatal(err)
		}
		r.pems, r.fingers = append(r.pems, key.Public().PEM()), append(r.fingers, pki.KeyName(key.Public()))
		if err := r.tree.Put(s, "web1", key.Public().PEM()); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.tree.Put(pki.Denied, "alone", r.pems[1]); err != nil { // its key was deleted since
		t.Fatal(err)
	}
	seen := pki.OpenSightings(r.dir)
	first := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	seen.Note("web1", r.fingers[1], "192.0.2.7", first)
	seen.Note("web1", r.fingers[1], "192.0.2.7", first.Add(time.Hour))
	if err := seen.Flush(func(string) bool { return true }, first); err != nil {
		t.Fatal(err)
	}
	r.ring = keyring.New(keyring.Options{Tree: r.tree, CacheDir: r.dir, Rotate: true})
	return r
}

// list returns what a list of all keys says on standard error.
func (r *reinstalled) list(t *testing.T, o *KeyOptions, terminal bool) string {
	t.Helper()
	var said strings.Builder
	k := &keyRun{o: o, opts: data.NewMap("hash_type", "sha256"), ring: r.ring,
		stdout: bufio.NewWriter(io.Discard), stderr: &said, terminal: terminal}
	if err := k.list("all"); err != nil {
		t.Fatal(err)
	}
	return said.String()
}

// TestReinstalledMinionIsShown denies the new key of a minion. On a terminal the list shows both
// keys, when and from where the new one came, and how to accept it; otherwise the output is Salt's.
func TestReinstalledMinionIsShown(t *testing.T) {
	r := newReinstalled(t)
	got := r.list(t, &KeyOptions{}, true)
	for _, want := range []string{r.fingers[0], r.fingers[1], "2026-03-01T12:00:00Z",
		"2026-03-01T13:00:00Z", "192.0.2.7", "salt-key -a web1 --include-denied"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not told:\n%s", want, got)
		}
	}
	if strings.Contains(got, "alone") {
		t.Errorf("an id without another key is told:\n%s", got)
	}
	quiet := &KeyOptions{}
	quiet.Output = "json"
	if got := r.list(t, &KeyOptions{}, false) + r.list(t, quiet, true); got != "" {
		t.Errorf("programs are told %q", got)
	}
}

// TestReinstalledMinionIsTaken accepts the new key of a minion, which asks the master for a new
// session key.
func TestReinstalledMinionIsTaken(t *testing.T) {
	r := newReinstalled(t)
	chosen := []keyring.Shelf{{State: pki.Denied, IDs: []string{"web1"}}}
	if c := r.ring.Change(keyring.Accept, chosen); len(c.Errs) > 0 || len(c.Invalid) > 0 {
		t.Fatal(c)
	}
	if err := r.ring.Replaced(chosen); err != nil {
		t.Fatal(err)
	}
	if pem, err := r.tree.Get(pki.Accepted, "web1"); err != nil || pem != r.pems[1] {
		t.Errorf("the accepted key is not the new one: %v", err)
	}
	if asked, err := (pki.DropFile{Dir: r.dir}).Take(); !asked || err != nil {
		t.Errorf("a new session key is asked for: %v, %v", asked, err)
	}
}
