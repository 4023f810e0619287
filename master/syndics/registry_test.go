package syndics

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

func alone() bool  { return false }
func shared() bool { return true }

func open(t *testing.T, dir string, share func() bool) *Registry {
	t.Helper()
	r, err := Open(dir, share)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func replace(t *testing.T, r *Registry, id string, i Inventory, taken ...string) {
	t.Helper()
	got, err := r.Replace(id, i)
	if err != nil || !slices.Equal(got, taken) {
		t.Fatalf("inventory of %s: taken %q, error %v; want %q", id, got, err, taken)
	}
}

func TestInventoryReplacesWhatIsBehindASyndic(t *testing.T) {
	r := open(t, t.TempDir(), alone)
	if fresh, err := r.Announce("low"); !fresh || err != nil {
		t.Fatal(fresh, err)
	}
	if fresh, _ := r.Announce("low"); fresh {
		t.Error("a known syndic counts as a new one")
	}
	if taken, err := r.Add("low", []string{"a", "../b", "old"}); err != nil || taken != nil {
		t.Fatal(taken, err)
	}
	if !r.Speaks("low", "a") || r.Speaks("low", "../b") || r.Speaks("other", "a") {
		t.Error("minions named in a job are not those behind the syndic")
	}
	if _, complete := r.Exact("low"); complete {
		t.Error("minions named in jobs count as an inventory")
	}
	replace(t, r, "low", Inventory{Minions: []string{"b", "a"},
		Syndics: map[string][]string{"deep": {"c", "bad/id"}}})
	ids, complete := r.Exact("low")
	if want := []string{"a", "b", "c"}; !complete || !slices.Equal(ids, want) {
		t.Errorf("inventory %q, %v; want %q", ids, complete, want)
	}
	if r.Speaks("low", "old") || len(r.Above("old")) != 0 {
		t.Error("a minion that is not in the inventory stays behind the syndic")
	}
}

func TestMinionBelongsToTheFirstSyndicThatNamesIt(t *testing.T) {
	r := open(t, t.TempDir(), alone)
	replace(t, r, "one", Inventory{Minions: []string{"a", "b"}})
	replace(t, r, "two", Inventory{Minions: []string{"b", "c"}}, "b")
	if taken, err := r.Add("two", []string{"a", "d"}); err != nil || !slices.Equal(taken, []string{"a"}) {
		t.Errorf("taken %q, error %v", taken, err)
	}
	if r.Speaks("two", "a") || r.Speaks("two", "b") || !r.Speaks("two", "d") {
		t.Error("a second syndic speaks for minions of the first")
	}
	if ids, _ := r.Exact("two"); !slices.Equal(ids, []string{"c"}) {
		t.Errorf("inventory %q of the second syndic has minions of the first", ids)
	}
	replace(t, r, "one", Inventory{Minions: []string{"a"}})
	if ids, _ := r.Exact("two"); !r.Speaks("two", "b") || !slices.Equal(ids, []string{"b", "c"}) {
		t.Errorf("a minion that has moved is not behind the second syndic: %q", ids)
	}
}

func TestNamedSyndicsShareMinions(t *testing.T) {
	r := open(t, t.TempDir(), shared)
	replace(t, r, "one", Inventory{Minions: []string{"a"}})
	replace(t, r, "two", Inventory{Minions: []string{"a"}})
	if got := r.Above("a"); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("above a: %q", got)
	}
	if err := r.Prune(func(id string) bool { return id == "two" }); err != nil {
		t.Fatal(err)
	}
	if got := r.Above("a"); !slices.Equal(got, []string{"two"}) {
		t.Errorf("above a without the first: %q", got)
	}
}

func TestRegistrySurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir, alone)
	replace(t, r, "one", Inventory{Minions: []string{"a"}})
	if _, err := r.Announce("two"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Add("two", []string{"x"}); err != nil {
		t.Fatal(err)
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	// Salt's master leaves empty files
	for name, text := range map[string]string{"three": "", "broken": "{", prefix + "1": "{"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again, err := Open(dir, alone)
	if err == nil {
		t.Error("a broken file is not reported")
	}
	if all := again.All(); !slices.Equal(all, []string{"broken", "one", "three", "two"}) {
		t.Errorf("syndics %q", all)
	}
	if !again.Speaks("one", "a") || !again.Speaks("two", "x") || again.Speaks("two", "a") {
		t.Error("minions behind the syndics are forgotten")
	}
	if ids, complete := again.Exact("two"); complete || len(ids) > 0 {
		t.Errorf("minions named in jobs became an inventory: %q", ids)
	}
	if err := again.Prune(func(id string) bool { return id == "one" }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "two")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("file of a syndic without a key: %v", err)
	}
}

func TestMinionsBehindASyndicAreBounded(t *testing.T) {
	r := open(t, t.TempDir(), alone)
	ids := make([]string, MaxMinions+1)
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	if _, err := r.Replace("low", Inventory{Minions: ids}); !errors.Is(err, ErrFull) {
		t.Errorf("inventory: %v", err)
	}
	if _, err := r.Add("low", ids); !errors.Is(err, ErrFull) || len(r.Behind("low")) != MaxMinions {
		t.Errorf("named: %v, %d minions", err, len(r.Behind("low")))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"complete":true,"minions":["a","b"],"named":["c"]}`))
	f.Add([]byte(`{"minions":["../a",""]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parse(text)
		if err != nil {
			return
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parse(again)
		if err != nil || !slices.Equal(back.Minions, c.Minions) || !slices.Equal(back.Named, c.Named) {
			t.Errorf("%q became %q: %v", text, again, err)
		}
	})
}
