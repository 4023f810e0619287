package cluster

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var (
	keyA = strings.Repeat("0a", secretSize)
	keyB = strings.Repeat("0b", secretSize)
)

func sealerOf(t testing.TB, text string) *Sealer {
	t.Helper()
	secret, err := parseSecret(text)
	must(t, err)
	return secret.Sealer("test", forKeys)
}

func TestSealedValuesOpenAtTheirPlaceOnly(t *testing.T) {
	s := sealerOf(t, keyA)
	sealed := s.Seal([]byte("secret"), "bucket", "web1")
	if bytes.Contains(sealed, []byte("secret")) {
		t.Error("the value is readable")
	}
	if got, err := s.Open(sealed, "bucket", "web1"); err != nil || string(got) != "secret" {
		t.Errorf("Open = %q, %v", got, err)
	}
	secret, err := parseSecret(keyA)
	must(t, err)
	for name, open := range map[string]func() ([]byte, error){
		"another key":     func() ([]byte, error) { return s.Open(sealed, "bucket", "web2") },
		"another bucket":  func() ([]byte, error) { return s.Open(sealed, "bucke", "tweb1") },
		"another purpose": func() ([]byte, error) { return secret.Sealer("test", forBus).Open(sealed, "bucket", "web1") },
		"another cluster": func() ([]byte, error) { return secret.Sealer("prod", forKeys).Open(sealed, "bucket", "web1") },
		"cut":             func() ([]byte, error) { return s.Open(sealed[:len(sealed)-1], "bucket", "web1") },
		"nothing":         func() ([]byte, error) { return s.Open(nil, "bucket", "web1") },
	} {
		if got, err := open(); !errors.Is(err, ErrSealed) {
			t.Errorf("%s: %q, %v, want %v", name, got, err, ErrSealed)
		}
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if got, err := s.Open(changed, "bucket", "web1"); err == nil {
			t.Errorf("with byte %d changed it opens as %q", i, got)
		}
	}
	if again := s.Seal([]byte("secret"), "bucket", "web1"); bytes.Equal(again, sealed) {
		t.Error("the same value is sealed alike twice")
	}
}

func TestTwoKeysOpenAndTheFirstSeals(t *testing.T) {
	before, during, swapped, after := sealerOf(t, keyA), sealerOf(t, keyA+"\n"+keyB),
		sealerOf(t, keyB+"\n"+keyA), sealerOf(t, keyB)
	for _, pair := range [][2]*Sealer{{before, during}, {during, before}, {during, swapped},
		{swapped, during}, {swapped, after}, {after, swapped}} {
		if got, err := pair[1].Open(pair[0].Seal([]byte("x"))); err != nil || string(got) != "x" {
			t.Errorf("a member one step further or behind gets %q, %v", got, err)
		}
	}
	old := before.Seal(nil)
	if _, err := after.Open(old); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("without the key: %v, want %v", err, ErrUnknownKey)
	}
	if swapped.isCurrent(old) || !during.isCurrent(old) {
		t.Error("the wrong values are to be sealed anew")
	}
}

func TestKeyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.key")
	must(t, NewKey(path))
	if _, err := LoadSecret(path); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("mode %s, want 0600", info.Mode())
	}
	if err := NewKey(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second NewKey: %v, want %v", err, fs.ErrExist)
	}
	must(t, os.Chmod(path, 0o640))
	if _, err := LoadSecret(path); !errors.Is(err, ErrKeyFile) {
		t.Errorf("readable by the group: %v, want %v", err, ErrKeyFile)
	}
	for name, text := range map[string]string{"empty": "", "short": keyA[2:], "no digits": "zz" + keyA[2:],
		"three": keyA + "\n" + keyB + "\n" + keyA, "twice the same": keyA + "\n" + keyA} {
		path := filepath.Join(t.TempDir(), "bad")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := LoadSecret(path)
		if !errors.Is(err, ErrKeyFile) {
			t.Errorf("%s: %v, want %v", name, err, ErrKeyFile)
		} else if text != "" && strings.Contains(err.Error(), keyA[4:20]) {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
	}
	if _, err := LoadSecret(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	s := sealerOf(f, keyA+"\n"+keyB)
	sealed := s.Seal([]byte("value"), "a", "b")
	f.Add(sealed)
	f.Add(sealed[:sealOverhead])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, in []byte) { // seeds may come from another process, with another nonce
		if value, err := s.Open(in, "a", "b"); err == nil && string(value) != "value" {
			t.Errorf("a forgery opens: %x", in)
		}
	})
}

// FuzzRecords decodes the contents of sealed messages, which only other members can have written.
func FuzzRecords(f *testing.F) {
	f.Add([]byte("\x83\xa6bodies\x92\xa11\xa12\xa4size\x05\xa6chunks\x91\x01"))
	f.Add([]byte("\x84\xa2id\xa4web1\xaageneration\x01\xa6member\xa1a\xa4keys\x81\xa8accepted\xa1k"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if r, err := readReturns(in); err == nil && (r.Size < 0 || len(r.Chunks) > maxChunks) {
			t.Errorf("bad numbers in %+v", r)
		}
		if r, err := readKeys("web1", value{body: in, revision: 1}); err == nil && r.ID != "web1" {
			t.Errorf("record of %q for web1", r.ID)
		}
		readBeat(in)
		readLease(value{body: in, revision: 1})
	})
}
