package pki

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/crypto"
)

func TestImportHasNoLimit(t *testing.T) {
	d := newDir(t, Options{MaxPending: 3})
	for i := range 10 {
		must(t, d.Import(Pending, fmt.Sprint("m", i), twoKeys()[0]))
	}
	for i := range 4 * denialsAMinute {
		want := twoKeys()[i%2]
		must(t, d.Import(Denied, "m0", want))
		if got, err := d.Key(Denied, "m0"); got != want || err != nil {
			t.Fatalf("denied key %d: %v, the same: %t", i, err, got == want)
		}
	}
	if err := d.Put(Pending, "m10", twoKeys()[0]); !errors.Is(err, ErrPendingFull) {
		t.Errorf("a sign-in after 10 imported keys of at most 3: %v, want %v", err, ErrPendingFull)
	}
	if err := d.Put(Denied, "m0", twoKeys()[0]); err != nil {
		t.Errorf("imported keys count as those of sign-ins: %v", err)
	}
	if err := d.Import(Accepted, "a/b", twoKeys()[0]); !errors.Is(err, ErrInvalidID) {
		t.Errorf("Import(a/b) = %v, want %v", err, ErrInvalidID)
	}
	if err := d.Import(Accepted, "a", "rubbish"); !errors.Is(err, crypto.ErrBadKey) {
		t.Errorf("Import of rubbish = %v, want %v", err, crypto.ErrBadKey)
	}
}

func TestKeyIsCanonical(t *testing.T) {
	d := newDir(t, Options{})
	file := func(s State, text string) { write(t, filepath.Join(d.Path(), s.Dir(), "a"), text, 0o644) }
	one, two := twoKeys()[0], twoKeys()[1]
	file(Accepted, "\r\n"+strings.ReplaceAll(one, "\n", "\r\n")+"\r\n")
	file(Denied, one+"\n"+two)
	for s, want := range map[State]string{Accepted: one, Denied: two} {
		if got, err := d.Key(s, "a"); got != want || err != nil {
			t.Errorf("Key(%s) = %q, %v", s, got, err)
		}
	}
	file(Rejected, one+"\n"+two)
	if _, err := d.Key(Rejected, "a"); !errors.Is(err, crypto.ErrBadKey) {
		t.Errorf("two rejected keys in a file: %v, want %v", err, crypto.ErrBadKey)
	}
	if _, err := d.Key(Pending, "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("no key: %v, want %v", err, ErrNotFound)
	}
}
