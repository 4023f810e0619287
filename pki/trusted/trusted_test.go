package trusted

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/pki"
)

// follower is a minion that trusts the first of two keys, which hands over to the second.
type follower struct {
	Keys
	old, next *crypto.PrivateKey
	chain     pki.Chain
}

func newFollower(t *testing.T) *follower {
	t.Helper()
	keys, err := pki.OpenKeys(filepath.Join(t.TempDir(), "pki"), pki.Options{})
	must(t, err)
	f := &follower{Keys: Keys{Dir: keys, File: MinionFile, Log: logrus.New(), Now: time.Now}}
	f.old, err = crypto.GenerateKey(2048)
	must(t, err)
	f.next, err = crypto.GenerateKey(2048)
	must(t, err)
	h, err := pki.NewHandover(f.old, f.next.Public(), 7, time.Now(), time.Hour)
	must(t, err)
	f.chain = pki.Chain{h}
	must(t, f.SetMaster("", f.old.Public().PEM()))
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// follow does what a sign-in does with a chain.
func (f *follower) follow(t *testing.T, from, to *crypto.PrivateKey, chain pki.Chain) error {
	t.Helper()
	heard, err := f.Heard()
	must(t, err)
	_, serial, err := chain.Follow(from.Public(), to.Public(), heard)
	if err != nil {
		return err
	}
	return f.Succeed(from.Public().PEM(), to.Public().PEM(), serial)
}

// TestSucceedThatIsBrokenOff has only some of the writes of a change of keys on disk: the next
// sign-in finishes it.
func TestSucceedThatIsBrokenOff(t *testing.T) {
	for _, done := range []string{"", "kept", "left", "kept left", "kept left key"} {
		t.Run("written: "+done, func(t *testing.T) {
			f := newFollower(t)
			must(t, f.follow(t, f.old, f.next, f.chain))
			kept, err := filepath.Glob(filepath.Join(f.Dir.Path(), MinionFile+".*"))
			if err != nil || len(kept) != 1 {
				t.Fatalf("kept: %q, %v", kept, err)
			}
			if !strings.Contains(done, "kept") {
				must(t, os.Remove(kept[0]))
			}
			if !strings.Contains(done, "left") {
				must(t, os.Remove(filepath.Join(f.Dir.Path(), "minion_master.left")))
			}
			if !strings.Contains(done, "key") {
				must(t, f.SetMaster(f.next.Public().PEM(), f.old.Public().PEM()))
				must(t, f.follow(t, f.old, f.next, f.chain))
			}
			f.hasSucceeded(t)
		})
	}
}

// hasSucceeded looks whether the minion trusts the second key, has kept the first, and does not go
// back to it.
func (f *follower) hasSucceeded(t *testing.T) {
	t.Helper()
	if text, err := f.Master(); err != nil || text != f.next.Public().PEM() {
		t.Errorf("the stored key is not the new one: %v", err)
	}
	if all, err := f.formerKeys(); err != nil || len(all) != 1 || all[0].Serial != 7 ||
		all[0].Key != f.old.Public().PEM() {
		t.Errorf("left: %+v, %v", all, err)
	}
	if kept, _ := filepath.Glob(filepath.Join(f.Dir.Path(), MinionFile+".*")); len(kept) == 0 {
		t.Error("the old key is not kept")
	}
	back, err := pki.NewHandover(f.next, f.old.Public(), 8, time.Now(), time.Hour)
	must(t, err)
	if err := f.follow(t, f.next, f.old, append(slices.Clone(f.chain), back)); !errors.Is(err,
		pki.ErrHandover) {
		t.Errorf("back to the old key: %v, want ErrHandover", err)
	}
}

// TestSucceedAfterAFault has a directory in the place of each file for the time of one call.
func TestSucceedAfterAFault(t *testing.T) {
	for _, file := range []string{MinionFile + ".20260301T120000Z", "minion_master.left"} {
		t.Run(file, func(t *testing.T) {
			f := newFollower(t)
			at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			f.Now = func() time.Time { return at }
			stall := filepath.Join(f.Dir.Path(), file)
			must(t, os.Mkdir(stall, 0o700))
			if err := f.Succeed(f.old.Public().PEM(), f.next.Public().PEM(), 7); err == nil ||
				!strings.Contains(err.Error(), file) {
				t.Fatalf("Succeed = %v, want an error that names %s", err, file)
			}
			must(t, os.Remove(stall))
			f.Now = time.Now
			must(t, f.follow(t, f.old, f.next, f.chain))
			f.hasSucceeded(t)
		})
	}
}

// TestKeysThatAreLeftInOneSecond leaves two keys at the same time: both are kept.
func TestKeysThatAreLeftInOneSecond(t *testing.T) {
	f := newFollower(t)
	now := time.Now()
	f.Now = func() time.Time { return now }
	must(t, f.follow(t, f.old, f.next, f.chain))
	last, err := crypto.GenerateKey(2048)
	must(t, err)
	h, err := pki.NewHandover(f.next, last.Public(), 8, now, time.Hour)
	must(t, err)
	must(t, f.follow(t, f.next, last, append(f.chain, h)))
	date := MinionFile + "." + now.UTC().Format("20060102T150405Z")
	for name, want := range map[string]*crypto.PrivateKey{date: f.old, date + ".2": f.next} {
		if got, err := f.Dir.ReadText(name); err != nil || !crypto.SameKey(got, want.Public().PEM()) {
			t.Errorf("%s does not hold the key that was left: %v", name, err)
		}
	}
}

// TestFirstKeyOfSeveralLinks has links, of one program and of two, store the keys of two masters at
// first contact at the same time: one key is stored, and only the links of its master succeed.
func TestFirstKeyOfSeveralLinks(t *testing.T) {
	f := newFollower(t)
	for range 20 {
		dir := filepath.Join(t.TempDir(), "pki")
		var links []Keys
		for range 2 { // programs
			keys, err := pki.OpenKeys(dir, pki.Options{})
			must(t, err)
			links = append(links, Keys{Dir: keys, File: MinionFile}, Keys{Dir: keys, File: MinionFile})
		}
		masters := []string{f.old.Public().PEM(), f.next.Public().PEM()}
		errs := make([]error, len(links))
		var all sync.WaitGroup
		for i, l := range links {
			all.Go(func() { errs[i] = l.SetMaster("", masters[i%2]) })
		}
		all.Wait()
		stored, err := links[0].Master()
		must(t, err)
		for i, err := range errs {
			if stored == masters[i%2] && err != nil || stored != masters[i%2] && !errors.Is(err, pki.ErrChanged) {
				t.Errorf("link %d: SetMaster = %v; its key is stored: %t", i, err, stored == masters[i%2])
			}
		}
	}
}

// TestKeyThatAnotherLinkHasReplaced is replaced and succeeded by nobody who believes in the key
// before.
func TestKeyThatAnotherLinkHasReplaced(t *testing.T) {
	f := newFollower(t)
	other, err := crypto.GenerateKey(2048)
	must(t, err)
	old, next, third := f.old.Public().PEM(), f.next.Public().PEM(), other.Public().PEM()
	must(t, f.SetMaster(old, next))
	must(t, f.SetMaster(old, next)) // the same once more
	if err := f.SetMaster(old, third); !errors.Is(err, pki.ErrChanged) {
		t.Errorf("SetMaster = %v, want ErrChanged", err)
	}
	if err := f.Succeed(old, third, 9); !errors.Is(err, pki.ErrChanged) {
		t.Errorf("Succeed = %v, want ErrChanged", err)
	}
	if text, err := f.Master(); err != nil || text != next {
		t.Errorf("the stored key has changed: %v", err)
	}
	must(t, os.Remove(f.Path()))
	if err := f.SetMaster(next, third); !errors.Is(err, pki.ErrChanged) {
		t.Errorf("SetMaster after the key was removed = %v, want ErrChanged", err)
	}
	must(t, os.WriteFile(f.Path(), nil, 0o600))
	must(t, f.SetMaster("", third)) // an empty file is no key
	if text, err := f.Master(); err != nil || text != third {
		t.Errorf("the key is not stored in the empty file: %v", err)
	}
}

// TestFirstKeyInPlaceOfADanglingLink stores a first key where a link leads to no file: the link is replaced.
func TestFirstKeyInPlaceOfADanglingLink(t *testing.T) {
	f := newFollower(t)
	must(t, os.Remove(f.Path()))
	must(t, os.Symlink("gone.pub", f.Path()))
	key := f.old.Public().PEM()
	must(t, f.SetMaster("", key))
	if info, err := os.Lstat(f.Path()); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the file of the key: %v, %v", info, err)
	}
	if text, err := f.Master(); err != nil || text != key {
		t.Errorf("the stored key is %q, %v", text, err)
	}
}
