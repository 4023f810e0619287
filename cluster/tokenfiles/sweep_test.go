package tokenfiles

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// marks tells whether the state file of a member has a mark of a deleted token.
func (m *member) marks(name string) bool {
	m.t.Helper()
	j, err := openJournal(m.o.State)
	must(m.t, err)
	if j.skipped > 0 {
		m.t.Errorf("%d lines cannot be read", j.skipped)
	}
	return j.bases[idOf(name)].side == deleted
}

// later starts members anew whose clocks are a time ahead.
func later(ahead time.Duration, all ...*member) {
	for _, m := range all {
		m.stop()
		m.ahead = ahead
		m.start()
		m.settles()
	}
}

// TestMarksOfDeletedTokensGo deletes a token, and an API key that never expires. A day after the token
// would have expired nobody has a mark of it any more; that of the key stays.
func TestMarksOfDeletedTokensGo(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	name := a.add("ada")
	secret, _, err := a.tokens().AddKey(auth.APIKey{Name: "ci", Rights: []any{"test.*"}})
	must(t, err)
	b.gets(name, "ada")
	b.eventually("the key does not come", func() bool { k, _ := b.tokens().Keys(); return len(k) == 1 })
	keys, err := b.tokens().List()
	must(t, err)
	key := keys[0]
	if key == name {
		key = keys[1]
	}
	b.delete(name)
	b.delete(secret)
	for _, gone := range []string{name, key} {
		a.loses(gone)
		a.sharesDeletion(gone)
	}
	last := a.add("last") // after which the marks are not the newest change
	b.gets(last, "last")
	later(time.Hour+markTime-time.Minute, a, b)
	if _, gone := a.shared(name); !gone || !a.marks(name) || !b.marks(name) {
		t.Error("a mark is dropped too early")
	}
	later(time.Hour+markTime+time.Minute, a, b)
	for _, m := range []*member{a, b} {
		m.eventually("the mark stays", func() bool { return !m.marks(name) })
		if !m.marks(key) {
			t.Error("the mark of a key that never expires is dropped")
		}
	}
	if value, gone := a.shared(name); value || gone {
		t.Errorf("the shelf has a value: %t, a mark: %t", value, gone)
	}
	if _, gone := a.shared(key); !gone {
		t.Error("the shelf has no mark of the key")
	}
	c := s.member(t, "c")
	c.gets(last, "last")
	c.settles()
	c.stop()
	if _, known := c.files.shelf[idOf(name)]; known || c.marks(name) || !c.marks(key) {
		t.Error("a new member has another view")
	}
}

// TestAMemberThatWasAwayBringsNothingBack has a member that is away while a token expires and one of two
// others drops its mark. The token does not come back, and nobody takes the member for a stranger.
func TestAMemberThatWasAwayBringsNothingBack(t *testing.T) {
	s := newSite(t, 1)
	a, b, c := s.member(t, "a"), s.member(t, "b"), s.member(t, "c")
	name := a.addUntil("ada", time.Now().Add(-time.Minute))
	for _, m := range []*member{b, c} {
		m.eventually("the token does not come", func() bool { return m.has(name) })
		m.settles()
	}
	c.stop()
	_, err := a.tokens().Clean(context.Background())
	must(t, err)
	b.loses(name)
	a.sharesDeletion(name)
	last := a.add("last")
	b.gets(last, "last")
	later(markTime+time.Hour, a)
	a.eventually("the mark stays", func() bool { _, gone := a.shared(name); return !gone && !a.marks(name) })
	c.ahead = markTime + time.Hour
	c.start()
	c.loses(name)
	c.settles()
	next := c.addUntil("next", time.Now().Add(2*markTime)) // good by the clocks of a and c
	for _, m := range []*member{a, b} {
		m.gets(next, "next")
		if m.has(name) {
			t.Error("the token has come back")
		}
	}
	for _, m := range []*member{a, b, c} {
		if n := m.joined.Forged(); n > 0 {
			t.Errorf("%s: %d entries count as those of a stranger", m.dir(), n)
		}
	}
	if value, gone := c.shared(name); value || gone || a.marks(name) || c.marks(name) {
		t.Errorf("the shelf has a value: %t, a mark: %t", value, gone)
	}
	later(markTime+time.Hour, b)
	b.eventually("the mark stays", func() bool { return !b.marks(name) })
}

// Marks without a time stay, and those of earlier versions are read.
func TestMarksWithoutATimeStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	old, timed, forgotten := idOf("old"), idOf("timed"), idOf("forgotten")
	text := journalHead + "- " + old.key() + "\n- " + timed.key() + " 700\n" +
		"- " + forgotten.key() + " 7\nx " + forgotten.key() + "\n"
	must(t, os.WriteFile(path, []byte(text), 0o600))
	j, err := openJournal(path)
	must(t, err)
	for range 2 {
		if len(j.bases) != 2 || j.bases[old].side != deleted || len(j.until) != 1 || j.until[timed] != 700 ||
			j.skipped > 0 {
			t.Fatalf("read %+v", j)
		}
		must(t, j.rewrite())
		j, err = openJournal(path)
		must(t, err)
	}
	f := &Files{journal: j, shelf: map[id]entry{timed: {place: place{side: deleted}}}}
	if ids := f.stale(1 << 40); len(ids) > 0 {
		t.Errorf("dropped are %v, though the mark on the shelf has no time", ids)
	}
	f.shelf[timed] = entry{place: place{side: deleted}, until: 700}
	for now, want := range map[int64]int{700: 0, 701: 1} {
		if ids := f.stale(now); len(ids) != want {
			t.Errorf("at %d dropped are %v", now, ids)
		}
	}
	for _, note := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte{0xff}, 8), writeMark(0)} {
		if until := readMark(note); until != 0 {
			t.Errorf("a mark with the note %q goes at %d", note, until)
		}
	}
	if until := readMark(writeMark(1700000000)); until != 1700000000 {
		t.Errorf("the time of a mark is read as %d", until)
	}
}

// A mark is needed for a day after its token has expired, or was deleted if that came later.
func TestUntilWhenAMarkIsNeeded(t *testing.T) {
	const now, day = 1_700_000_000, 24 * 60 * 60
	j, err := openJournal(filepath.Join(t.TempDir(), "state"))
	must(t, err)
	f := &Files{journal: j, now: func() time.Time { return time.Unix(now, 0) }}
	i := idOf("x")
	for _, tt := range []struct{ earlier, expires, want int64 }{
		{0, now + 100, now + 100 + day}, {0, now - 100, now + day}, {0, 0, 0},
		{now + 3*day, now + 100, now + 3*day}, {now + 3*day, 0, now + 3*day},
	} {
		j.set(i, place{side: deleted}, tt.earlier)
		if got := f.needed(i, entry{until: tt.expires}); got != tt.want {
			t.Errorf("until %d, earlier %d: needed until %d, want %d", tt.expires, tt.earlier, got, tt.want)
		}
	}
	for expire, want := range map[float64]int64{1.9e9: 1_900_000_000, 1e300: 253402300799} {
		raw, err := payload.Marshal(data.NewMap("name", "ada", "eauth", "pam", "expire", expire))
		must(t, err)
		if got := (record{content: raw}).expiry(); got != want {
			t.Errorf("a token that expires at %g does so at %d", expire, got)
		}
	}
	if got := (record{content: []byte(strings.Repeat("x", 9))}).expiry(); got != 0 {
		t.Errorf("what is no token expires at %d", got)
	}
}
