package syndic

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pki"
)

type accepted []string

func (a accepted) List(pki.State) ([]string, error) { return a, nil }

func TestInventoryHasNestedSyndics(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"mid":  `{"complete": true, "minions": ["db2", "db1", "db1"], "named": ["disk1"]}`,
		"both": `{"minion": true}`,
		"old":  "", // of a Salt master
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := stock{keys: accepted{"web2", "mid", "both", "web1"}, dir: dir}
	i, err := s.read()
	want := "{'id': 'low', 'minions': ['both', 'web1', 'web2'], " +
		"'syndics': {'both': [], 'mid': ['db1', 'db2', 'disk1'], 'old': []}}"
	if got := data.Repr(i.data("low")); err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	again, err := s.read()
	if err != nil || !i.equal(again) {
		t.Errorf("the same inventory differs: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "old")); err != nil {
		t.Fatal(err)
	}
	if again, err = s.read(); err != nil || i.equal(again) {
		t.Errorf("another inventory is the same: %v", err)
	}
	if empty, err := (&stock{keys: accepted{}, dir: filepath.Join(dir, "none")}).read(); err != nil || len(empty.Syndics) != 0 {
		t.Errorf("without syndics: %v, %v", empty, err)
	}
}

// counted counts how often keys are listed.
type counted struct{ n *int }

func (c counted) List(pki.State) ([]string, error) { *c.n++; return []string{"web1"}, nil }

// TestStockIsReadAfterChangesOnly looks at directories that were changed long ago, twice, and then after a
// change.
func TestStockIsReadAfterChangesOnly(t *testing.T) {
	dir, n := t.TempDir(), 0
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	s := &Syndic{stock: &stock{keys: counted{&n}, accepted: dir, dir: filepath.Join(dir, "none")}}
	for range 3 {
		s.lookAtStock()
	}
	if n != 1 {
		t.Errorf("the keys were listed %d times", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "web1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.lookAtStock()
	s.lookAtStock() // the directory may change again at the same time
	if n != 3 {
		t.Errorf("after a change the keys were listed %d times in all", n)
	}
}

func TestLooksAreLimited(t *testing.T) {
	s, now := &stock{}, time.Now()
	for i := range 20 {
		if got := s.allow(now); got != (i < looksPerSecond) {
			t.Errorf("look %d: %v", i, got)
		}
	}
	if !s.allow(now.Add(time.Second)) {
		t.Error("no look in the next second")
	}
}
