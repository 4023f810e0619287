package pki

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestThreatDeniedKeysFillNoDisk signs in with other keys for many accepted ids: only so many are
// stored, and none but refused.
func TestThreatDeniedKeysFillNoDisk(t *testing.T) {
	d := newDir(t, Options{MaxPending: 5})
	for i := range 10 {
		must(t, d.Put(Accepted, fmt.Sprint("m", i), twoKeys()[0]))
	}
	for range 2 {
		for i := range 10 {
			v, err := Admit(d, SignIn{ID: fmt.Sprint("m", i), PEM: twoKeys()[1]})
			if v.Reply != Refuse || (i >= 5) != errors.Is(err, ErrPendingFull) {
				t.Errorf("sign-in %d: %+v, %v", i, v, err)
			}
		}
	}
	if ids, err := d.List(Denied); err != nil || len(ids) != 5 {
		t.Errorf("denied: %q, %v, want 5", ids, err)
	}
}

// TestThreatRejectedKeysFillNoDisk is the same for ids that a rule rejects.
func TestThreatRejectedKeysFillNoDisk(t *testing.T) {
	d := newDir(t, Options{MaxPending: 5})
	for i := range 10 {
		v, err := Admit(d, SignIn{ID: fmt.Sprint("m", i), PEM: twoKeys()[0], Reject: true})
		if v.Reply != Refuse || (i >= 5) != errors.Is(err, ErrPendingFull) {
			t.Errorf("sign-in %d: %+v, %v", i, v, err)
		}
	}
	if ids, err := d.List(Rejected); err != nil || len(ids) != 5 {
		t.Errorf("rejected: %q, %v, want 5", ids, err)
	}
}

// TestThreatDeniedSignInWritesOnce looks whether a denied minion that comes again and again makes
// the disk busy.
func TestThreatDeniedSignInWritesOnce(t *testing.T) {
	d := newDir(t, Options{})
	must(t, d.Put(Accepted, "web1", twoKeys()[0]))
	sign := func(pem string) error {
		v, err := Admit(d, SignIn{ID: "web1", PEM: pem})
		if v.Reply != Refuse || v.Action != Deny {
			t.Errorf("another key: %+v, %v", v, err)
		}
		return err
	}
	must(t, sign(twoKeys()[1]))
	file := filepath.Join(d.Path(), "minions_denied", "web1")
	age(t, file, time.Hour)
	before, err := os.Stat(file)
	must(t, err)
	for range 100 {
		must(t, sign(twoKeys()[1]))
	}
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) ||
		!before.ModTime().Equal(after.ModTime()) {
		t.Errorf("the same denied key was written again: %v", err)
	}
	keys, written := newKeys(t, 2), 0
	for i := range 20 {
		last, err := os.Stat(file)
		must(t, err)
		if err := sign(keys[i%2].Public().PEM()); err != nil && !errors.Is(err, ErrTooOften) {
			t.Error(err)
		}
		if now, err := os.Stat(file); err != nil || !os.SameFile(last, now) {
			written++
		}
	}
	if written == 0 || written > 2*denialsAMinute { // the minute may end meanwhile
		t.Errorf("%d of 20 different keys were written", written)
	}
}

func TestDenialsAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d denials
		for i := range 2 * denialsAMinute {
			if got := d.allow("web1"); got != (i < denialsAMinute) {
				t.Errorf("key %d: %v", i, got)
			}
		}
		if !d.allow("web2") {
			t.Error("one id uses up what another may")
		}
		time.Sleep(time.Minute)
		if !d.allow("web1") {
			t.Error("nothing is allowed after a minute")
		}
	})
}

func TestSightings(t *testing.T) {
	dir := t.TempDir()
	s := OpenSightings(dir)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s.Note("web1", "aa", "192.0.2.1", at)
	s.Note("web1", "aa", "192.0.2.2", at.Add(time.Hour))
	s.Note("web2", "bb", "192.0.2.3", at)
	s.Note("gone", "cc", "192.0.2.3", at)
	must(t, s.Flush(func(id string) bool { return id != "gone" }, at.Add(time.Second)))
	OpenSightings(dir).Note("web3", "dd", "192.0.2.3", at) // not written
	again := OpenSightings(dir)
	again.Note("web2", "b2", "192.0.2.9", at.Add(2*time.Hour))
	must(t, again.Flush(func(string) bool { return true }, at.Add(3*time.Hour)))
	got, err := ReadSightings(dir)
	want := map[string]Sighting{"web1": {"aa", at, at.Add(time.Hour), "192.0.2.2"},
		"web2": {"b2", at.Add(2 * time.Hour), at.Add(2 * time.Hour), "192.0.2.9"}}
	if err != nil || len(got) != 2 || got["web1"] != want["web1"] || got["web2"] != want["web2"] {
		t.Errorf("read %+v, %v, want %+v", got, err, want)
	}
	write(t, filepath.Join(dir, "denied_keys"), "rubbish", 0o600)
	if _, err := ReadSightings(dir); err == nil {
		t.Error("rubbish was read")
	}
	OpenSightings(dir).Note("web1", "aa", "", at)
	again.most = 2
	again.Note("web9", "ee", "", at)
	if len(again.byID) != 2 {
		t.Errorf("%d ids are kept of at most 2", len(again.byID))
	}
}

// A key that comes between the listing of the denied ones and the writing is not in the list, and
// stays.
func TestSightingsSinceTheListing(t *testing.T) {
	dir := t.TempDir()
	s := OpenSightings(dir)
	none := func(string) bool { return false }
	listed := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s.Note("web1", "aa", "192.0.2.1", listed.Add(-time.Second))
	s.Note("web2", "bb", "192.0.2.2", listed.Add(time.Second))
	s.Note("web3", "cc", "192.0.2.3", listed.Add(-time.Second)) // was there, deleted, and comes again
	s.Note("web3", "cc", "192.0.2.3", listed.Add(time.Second))
	must(t, s.Flush(none, listed))
	if got, err := ReadSightings(dir); err != nil || len(got) != 2 || got["web1"].Key != "" {
		t.Errorf("read %v, %v, want web2 and web3", got, err)
	}
	must(t, s.Flush(none, listed.Add(time.Minute)))
	if got, err := ReadSightings(dir); err != nil || len(got) != 0 || len(s.noted) != 0 {
		t.Errorf("read %v, %v, and noted %v after all have gone", got, err, s.noted)
	}
}

// TestThreatDeniedMinionKeepsNoDiskBusy denies a minion every ten seconds for an hour: the list is
// written once a minute at most.
func TestThreatDeniedMinionKeepsNoDiskBusy(t *testing.T) {
	dir := t.TempDir()
	s := OpenSightings(dir)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	all := func(string) bool { return true }
	written := 0
	for i := range 360 {
		now := at.Add(time.Duration(i) * 10 * time.Second)
		s.Note("web1", "aa", "192.0.2.1", now)
		before, _ := os.Stat(filepath.Join(dir, sightingsFile))
		must(t, s.Flush(all, now))
		if after, err := os.Stat(filepath.Join(dir, sightingsFile)); err != nil ||
			!os.SameFile(before, after) {
			written++
		}
	}
	if written != 60 {
		t.Errorf("written %d times in an hour, want 60", written)
	}
	if got, err := ReadSightings(dir); err != nil || got["web1"].Last != at.Add(59*time.Minute) ||
		got["web1"].First != at {
		t.Errorf("read %v, %v", got, err)
	}
}

// Who notes a key does not wait for the disk, and a list that could not be written is written
// later.
func TestSightingsAreWrittenAside(t *testing.T) {
	dir := t.TempDir()
	s := OpenSightings(dir)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	all := func(string) bool { return true }
	s.Note("web1", "aa", "192.0.2.1", at)
	s.file.writing.Lock() // as while another list is written
	s.Note("web2", "bb", "192.0.2.1", at)
	s.file.writing.Unlock()
	stall := filepath.Join(dir, sightingsFile)
	must(t, os.MkdirAll(filepath.Join(stall, "x"), 0o700))
	if err := s.Flush(all, at); err == nil {
		t.Error("a folder in the place of the list is no error")
	}
	must(t, os.RemoveAll(stall))
	must(t, s.Flush(all, at))
	if got, err := ReadSightings(dir); err != nil || len(got) != 2 {
		t.Errorf("read %v, %v, want two", got, err)
	}
}
