package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string, limit int64) *Spool {
	t.Helper()
	s, err := Open(dir, limit)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// drain returns the entries in their order and removes them.
func drain(t *testing.T, s *Spool) (all []string) {
	t.Helper()
	for {
		name, entry, ok, err := s.First()
		must(t, err)
		if !ok {
			return all
		}
		all = append(all, string(entry))
		must(t, s.Remove(name))
	}
}

// TestEntriesOutliveTheProcess checks the order over two processes, and that foreign files stay.
// TestNamesSetAsideAreNotUsedAgain opens a spool anew after its only entry was set aside.
func TestNamesSetAsideAreNotUsedAgain(t *testing.T) {
	dir := t.TempDir()
	kept := map[string]bool{}
	for _, text := range []string{"first", "second"} {
		s, err := Open(dir, 0)
		must(t, err)
		must(t, s.Put([]byte(text)))
		name, _, _, err := s.First()
		must(t, err)
		aside, err := s.SetAside(name)
		must(t, err)
		must(t, s.Close())
		kept[aside] = true
	}
	if len(kept) != 2 {
		t.Errorf("kept are %v", kept)
	}
}

func TestEntriesOutliveTheProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	s := open(t, dir, 0)
	for i := range 12 {
		must(t, s.Put(fmt.Append(nil, i)))
	}
	must(t, os.WriteFile(filepath.Join(dir, "README"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "7"), []byte("no entry"), 0o600))
	name, _, _, err := s.First()
	must(t, err)
	must(t, s.Remove(name))
	s = open(t, dir, 0)
	must(t, s.Put([]byte("last")))
	if s.Len() != 12 {
		t.Errorf("%d entries", s.Len())
	}
	if got := fmt.Sprint(drain(t, s)); got != "[1 2 3 4 5 6 7 8 9 10 11 last]" {
		t.Errorf("entries %s", got)
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("left are %v", files)
	}
}

// TestAFullSpoolRefuses checks the limit, and that room comes back.
func TestAFullSpoolRefuses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 10)
	must(t, s.Put([]byte("123456")))
	if err := s.Put([]byte("12345")); !errors.Is(err, ErrFull) {
		t.Errorf("a full spool: %v", err)
	}
	s = open(t, dir, 10)
	if err := s.Put([]byte("12345")); !errors.Is(err, ErrFull) {
		t.Errorf("a full spool after a restart: %v", err)
	}
	drain(t, s)
	must(t, s.Put([]byte("1234567890")))
}

// TestAnEntryThatVanishesIsSkipped removes a file behind the spool's back.
func TestAnEntryThatVanishesIsSkipped(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 0)
	must(t, s.Put([]byte("a")))
	must(t, s.Put([]byte("b")))
	must(t, os.Remove(filepath.Join(dir, nameOf(1))))
	if got := fmt.Sprint(drain(t, s)); got != "[b]" || s.Len() != 0 {
		t.Errorf("entries %s", got)
	}
	for _, name := range []string{"../x", "", "1", "-0000000000000000001"} {
		if s.Remove(name) == nil {
			t.Errorf("%q is removed", name)
		}
	}
}

// TestAnUnreadableEntryIsSetAside makes the first file one that cannot be read.
func TestAnUnreadableEntryIsSetAside(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 0)
	must(t, s.Put([]byte("a")))
	must(t, s.Put([]byte("b")))
	file := filepath.Join(dir, nameOf(1))
	must(t, os.Remove(file))
	must(t, os.Mkdir(file, 0o700))
	name, _, ok, err := s.First()
	if name != nameOf(1) || ok || err == nil || errors.Is(err, ErrBusy) {
		t.Fatalf("First returns %q, %v, %v", name, ok, err)
	}
	kept, err := s.SetAside(name)
	must(t, err)
	if kept != nameOf(1)+Unreadable {
		t.Errorf("it is kept as %q", kept)
	}
	s = open(t, dir, 0)
	if got := fmt.Sprint(drain(t, s)); got != "[b]" || s.Len() != 0 {
		t.Errorf("entries %s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, kept)); err != nil {
		t.Error(err)
	}
	if _, err := s.SetAside("../x"); err == nil {
		t.Error("a foreign name is set aside")
	}
}
