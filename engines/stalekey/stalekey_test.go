package stalekey

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/logging"
)

type minions struct {
	accepted, connected, deleted []string
	fails                        bool
}

func (m *minions) Accepted() ([]string, error) { return slices.Clone(m.accepted), nil }
func (m *minions) Connected() []string         { return m.connected }
func (m *minions) DeleteKey(_ context.Context, id string) error {
	if m.fails {
		return errors.New("no")
	}
	m.deleted = append(m.deleted, id)
	m.accepted = slices.DeleteFunc(m.accepted, func(s string) bool { return s == id })
	return nil
}

func TestExpiry(t *testing.T) {
	dir := t.TempDir()
	m := &minions{accepted: []string{"db1", "new", "web1"}, connected: []string{"web1"}}
	now := time.Unix(1700000100, 0)
	s := &stalekey{host: engines.Host{Name: "stalekey", Opts: data.NewMap("cachedir", dir), Minions: m,
		Log: logging.Discard()},
		interval: 100 * time.Second, expire: 100 * time.Second, now: func() time.Time { return now }}
	s.begin()
	// a file of Salt: web1 was seen at 1700000000.5, db1 a half second later, and gone has no key
	src, err := hex.DecodeString("83a477656231cb41d954fc40200000a3646231cb41d954fc40400000a4676f6e65cb0000000000000000")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "presence.p"), src, 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		if err := s.check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(m.deleted, " "); got != want {
			t.Errorf("at %d deleted %q, want %q", now.Unix(), got, want)
		}
	}
	now = now.Add(100 * time.Second)
	check("") // db1 has been away since the start of the engine, new counts from now on
	now = now.Add(time.Second)
	check("db1")
	now = now.Add(99 * time.Second)
	check("db1") // new has been away for 100 seconds
	m.fails = true
	now = now.Add(time.Second)
	if err := s.check(t.Context()); err == nil || len(m.deleted) != 1 {
		t.Errorf("a failed deletion: %v, %q", err, m.deleted)
	}
	m.fails = false
	check("db1 new")
	seen, err := s.read()
	if err != nil || data.Repr(seen) != "{'web1': 1700000301.0}" {
		t.Errorf("the file has %s, %v", data.Repr(seen), err)
	}
	if info, err := os.Stat(s.file()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the file: %v, %v", info, err)
	}
}

// An engine that starts after a long outage of the master deletes nothing, and neither does one
// whose host stood still. What a minion was away before counts.
func TestAnOutageDeletesNothing(t *testing.T) {
	dir := t.TempDir()
	m := &minions{accepted: []string{"away", "late", "web1"}, connected: []string{"late", "web1"}}
	now := time.Unix(1700000000, 0)
	start := func() *stalekey {
		s := &stalekey{host: engines.Host{Name: "stalekey", Opts: data.NewMap("cachedir", dir), Minions: m,
			Log: logging.Discard()},
			interval: 10 * time.Second, expire: 100 * time.Second, now: func() time.Time { return now }}
		s.begin()
		return s
	}
	s := start()
	check := func(after time.Duration, want string) {
		t.Helper()
		now = now.Add(after)
		if err := s.check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(m.deleted, " "); got != want {
			t.Errorf("deleted %q, want %q", got, want)
		}
	}
	for range 5 {
		check(10*time.Second, "") // away has been away for 40 seconds
	}
	now = now.Add(30 * 24 * time.Hour)
	seen, err := s.read()
	if err != nil {
		t.Fatal(err)
	}
	seen.Set("gone", 2e9) // by a clock that was wrong
	if err := s.write(seen); err != nil {
		t.Fatal(err)
	}
	s = start()
	m.connected = nil
	check(10*time.Second, "")
	now = now.Add(30 * 24 * time.Hour)
	m.connected = []string{"web1"}
	check(10*time.Second, "") // away has been away for 60 seconds, and late for 20
	for range 4 {
		check(10*time.Second, "")
	}
	check(10*time.Second, "away")
	for range 3 {
		check(10*time.Second, "away")
	}
	check(10*time.Second, "away late")
}

// Nothing is checked before the end of the first interval.
func TestTheFirstCheckWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		run, err := New(engines.Host{Opts: data.NewMap("cachedir", dir), Minions: &minions{accepted: []string{"a"}},
			Log: logging.Discard()}, data.NewMap("interval", int64(60)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- run(ctx) }()
		for after, want := range []bool{false, true} {
			time.Sleep(59 * time.Second)
			synctest.Wait()
			if _, err := os.Stat(filepath.Join(dir, "presence.p")); (err == nil) != want {
				t.Errorf("after %d minutes the file: %v", after+1, err)
			}
			time.Sleep(2 * time.Second)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the engine ends with %v", err)
		}
	})
}

// A file that cannot be read deletes nothing.
func TestUnreadableFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "presence.p"), []byte("\xc1"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &minions{accepted: []string{"a"}}
	s := &stalekey{host: engines.Host{Opts: data.NewMap("cachedir", dir), Minions: m, Log: logging.Discard()},
		now: time.Now}
	if err := s.check(t.Context()); err == nil || len(m.deleted) > 0 {
		t.Errorf("deleted %q, %v", m.deleted, err)
	}
}

func TestOptions(t *testing.T) {
	for _, options := range []*data.Map{data.NewMap("interval", int64(0)), data.NewMap("expire", "x"),
		data.NewMap("x", int64(1))} {
		if _, err := New(engines.Host{}, options); err == nil {
			t.Errorf("%s is accepted", data.Repr(options))
		}
	}
	off := engines.Host{Opts: data.NewMap("minion_data_cache", false)}
	if _, err := New(off, data.NewMap()); err == nil || !strings.Contains(err.Error(), "minion_data_cache") {
		t.Errorf("without minion_data_cache: %v", err)
	}
}
