package tokenfiles

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/auth"
)

func TestATokenIsGoodOnAllMembersUntilOneDeletesIt(t *testing.T) {
	s := newSite(t, 1)
	all := []*member{s.member(t, "a"), s.member(t, "b"), s.member(t, "c")}
	for i, m := range all {
		name := m.add("ada")
		for _, other := range all {
			other.gets(name, "ada")
			info, err := os.Stat(other.path(name))
			must(t, err)
			if info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, want 0600", info.Mode())
			}
		}
		all[(i+1)%3].delete(name)
		for _, other := range all {
			other.loses(name)
		}
	}
}

func TestAPIKeysAreShared(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	secret, key, err := a.tokens().AddKey(auth.APIKey{Name: "ci", Rights: []any{"test.*"}})
	must(t, err)
	b.eventually("the key does not come", func() bool { k, _ := b.tokens().Keys(); return len(k) == 1 })
	keys, err := b.tokens().Keys()
	must(t, err)
	if keys[0].ID != key.ID || !keys[0].Used.IsZero() {
		t.Errorf("got %+v, want %s, which was never used", keys[0], key.ID)
	}
	if _, err := b.tokens().Get(secret); err != nil {
		t.Errorf("the key is not good: %v", err)
	}
	_, err = b.tokens().DeleteKey("ci")
	must(t, err)
	a.eventually("the key does not go", func() bool {
		_, err := a.tokens().Get(secret)
		return errors.Is(err, auth.ErrNoToken)
	})
}

func TestAFileOverwrittenInPlaceIsShared(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	name := a.add("ada")
	b.gets(name, "ada")
	must(t, os.WriteFile(b.path(name), []byte("changed"), 0o600))
	a.eventually("the change does not come", func() bool {
		text, _ := os.ReadFile(a.path(name))
		return string(text) == "changed"
	})
}

// A change by another member does not bring back a file that was deleted after the last scan.
func TestAFileThatIsGoneIsNotWritten(t *testing.T) {
	s := newSite(t, 1)
	m := s.visitor(t, "a")
	var err error
	m.files, err = Open(m.dir(), m.values, m.o)
	must(t, err)
	m.files.directory.files = map[id]file{}
	root, err := os.OpenRoot(m.dir())
	must(t, err)
	defer root.Close()
	name := strings.Repeat("0123456789abcdef", 2)
	change := entry{record: &record{name, time.Now(), []byte("changed")}, place: place{has, sumOf([]byte("changed"))}}
	must(t, m.files.write(root, idOf(name), change))
	must(t, m.files.write(root, idOf(name), change))
	must(t, os.Remove(m.path(name)))
	if err := m.files.write(root, idOf(name), change); !errors.Is(err, errGone) {
		t.Errorf("write = %v, want %v", err, errGone)
	}
	if _, err := os.Stat(m.path(name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is back: %v", err)
	}
}

func TestWhatHappenedWhileAMemberWasDown(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	here, there, both, changed := a.add("here"), a.add("there"), a.add("both"), a.add("changed")
	for _, name := range []string{here, there, both, changed} {
		b.gets(name, map[string]string{here: "here", there: "there", both: "both", changed: "changed"}[name])
	}
	a.settles()
	a.stop()
	a.delete(here)
	b.delete(there)
	a.delete(both)
	b.delete(both)
	must(t, os.WriteFile(a.path(changed), []byte("changed"), 0o600))
	b.delete(changed)
	for _, name := range []string{there, both, changed} {
		b.sharesDeletion(name)
	}
	late := b.add("late")
	own := a.add("own")
	a.start()
	a.gets(late, "late")
	b.gets(own, "own")
	for _, name := range []string{here, there, both, changed} {
		a.loses(name)
		b.loses(name)
	}
}

// TestAMemberWithoutStateLosesAndDeletesNothing wipes a member, with its state file and without.
func TestAMemberWithoutStateLosesAndDeletesNothing(t *testing.T) {
	for name, wipe := range map[string]func(m *member){
		"all": func(m *member) { must(t, os.RemoveAll(m.base)) },
		"the directory": func(m *member) {
			must(t, os.RemoveAll(m.dir()))
			m.tokens() // makes it again, as a master that starts
		},
		"the state file": func(m *member) { must(t, os.Remove(m.o.State)) },
		"the mark":       func(m *member) { must(t, os.Remove(m.path(markFile))) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, 1)
			a, b := s.member(t, "a"), s.member(t, "b")
			kept, gone := a.add("kept"), a.add("gone")
			b.gets(kept, "kept")
			b.gets(gone, "gone")
			a.settles()
			a.stop()
			wipe(a)
			b.delete(gone)
			b.sharesDeletion(gone)
			a.mkdir()
			a.start()
			a.gets(kept, "kept")
			a.loses(gone)
			a.settles()
			if !b.has(kept) {
				t.Error("the wiped member has deleted a token")
			}
			more := a.add("more")
			b.gets(more, "more")
		})
	}
}

func TestADirectoryThatVanishesDeletesNothing(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	one := a.add("one")
	b.gets(one, "one")
	aside := filepath.Join(a.base, "aside")
	must(t, os.Rename(a.dir(), aside))
	a.eventually("nothing is logged", func() bool { return strings.Contains(a.logged(), errAbsent.Error()) })
	two := b.add("two")
	b.eventually("the token is not shared", func() bool { value, _ := b.shared(two); return value })
	if _, err := os.Stat(a.dir()); err == nil {
		t.Error("the directory was made")
	}
	must(t, os.Rename(aside, a.dir()))
	a.gets(two, "two")
	a.gets(one, "one")
	// another directory in its place, then an empty one
	must(t, os.RemoveAll(a.dir()))
	a.mkdir()
	a.gets(one, "one")
	a.gets(two, "two")
	if !b.has(one) || !b.has(two) {
		t.Error("tokens are gone on the other member")
	}
	if value, _ := b.shared(one); !value {
		t.Error("a token is gone on the shelf")
	}
	a.delete(one)
	b.loses(one)
}

func TestChangesWithoutNATSWait(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	gone, deleted := a.add("gone"), a.add("deleted")
	b.gets(gone, "gone")
	b.gets(deleted, "deleted")
	node := s.servers.Leader(t, "KV_test_tokens")
	node.Kill(t)
	a.delete(gone)
	b.delete(deleted)
	fresh, brief := a.add("fresh"), a.add("brief")
	a.eventually("nothing waits", func() bool { return strings.Contains(a.logged(), "changes of tokens wait") })
	a.delete(brief)
	node.Restart(t)
	b.gets(fresh, "fresh")
	b.loses(gone)
	a.loses(deleted)
	a.eventually("it does not settle", func() bool { value, _ := a.shared(brief); return !value })
	if a.has(brief) || b.has(brief) {
		t.Error("a token that was deleted without NATS is back")
	}
}

func TestForeignValuesAreNotWritten(t *testing.T) {
	s := newSite(t, 1)
	a := s.member(t, "a")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	other := s.join(t, "other").Values("tokens")
	good := strings.Repeat("0f", 32)
	for _, name := range []string{"../escaped", ".cluster", "/etc/x", strings.Repeat("../", 12) + "x"} {
		_, err := other.Put(ctx, idOf(name).key(), record{name, time.Now(), []byte("x")}.encode())
		must(t, err)
	}
	for _, key := range []string{"x", "../x", idOf(good).key()} { // the last one under the name of another
		_, err := other.Put(ctx, key, record{strings.Repeat("0e", 32), time.Now(), []byte("x")}.encode())
		must(t, err)
	}
	// bytes that are not sealed, in the place of a token
	kept := a.add("kept")
	a.eventually("the token is not shared", func() bool { value, _ := a.shared(kept); return value })
	subject := "$KV.test_tokens." + base64.RawURLEncoding.EncodeToString([]byte(idOf(kept).key()))
	conn := s.servers.Connect(t)
	must(t, conn.Publish(subject, []byte("foreign")))
	must(t, conn.Flush())
	last := s.member(t, "b").add("last")
	a.gets(last, "last")
	a.gets(kept, "kept")
	entries, err := os.ReadDir(a.dir())
	must(t, err)
	for _, e := range entries {
		if n := e.Name(); n != kept && n != last && n != markFile {
			t.Errorf("%s was written", n)
		}
	}
	entries, err = os.ReadDir(a.base)
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("%v beside the directory and the state file", entries)
	}
	if n := strings.Count(a.logged(), "is ignored"); n < 7 {
		t.Errorf("%d entries are logged, want 7: %s", n, a.logged())
	}
	// a member that starts puts its token in the place of the foreign bytes
	a.stop()
	a.start()
	a.eventually("the token is not shared again", func() bool {
		body, _, err := a.values.Get(ctx, idOf(kept).key())
		return err == nil && body != nil
	})
	a.delete(kept)
	a.sharesDeletion(kept)
}

func TestExpiredTokensStayDeleted(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	name := a.addUntil("ada", time.Now().Add(-time.Hour))
	b.eventually("the token does not come", func() bool { return b.has(name) })
	n, err := a.tokens().Clean(context.Background())
	if n != 1 || err != nil {
		t.Fatalf("%d are deleted, %v; want 1", n, err)
	}
	b.loses(name)
	a.sharesDeletion(name)
	c := s.member(t, "c")
	c.settles()
	for _, m := range []*member{a, b, c} {
		if m.has(name) {
			t.Error("an expired token is back")
		}
	}
}

func TestADeletedFileThatIsPutBackIsRemoved(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	name := a.add("ada")
	text, err := os.ReadFile(a.path(name))
	must(t, err)
	b.gets(name, "ada")
	a.delete(name)
	b.loses(name)
	must(t, os.WriteFile(b.path(name), text, 0o600))
	b.loses(name)
	b.stop()
	must(t, os.WriteFile(b.path(name), text, 0o600))
	must(t, os.Remove(b.o.State))
	b.start()
	b.loses(name)
	if a.has(name) {
		t.Error("the token is back")
	}
}

// TestANewStreamGetsWhatTheMembersHave makes NATS lose the shelf. What was deleted before does not
// come back from a member that was away.
func TestANewStreamGetsWhatTheMembersHave(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	kept, gone := a.add("kept"), a.add("gone")
	b.gets(kept, "kept")
	b.gets(gone, "gone")
	b.settles()
	b.stop()
	a.delete(gone)
	a.sharesDeletion(gone)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	purge(ctx, t, s)
	a.eventually("the tokens are not shared again", func() bool { value, _ := a.shared(kept); return value })
	b.start()
	b.loses(gone)
	b.settles()
	if a.has(gone) || !a.has(kept) || !b.has(kept) {
		t.Errorf("deleted token: %t, tokens: %t, %t", a.has(gone), a.has(kept), b.has(kept))
	}
}

func TestOtherFilesAreIgnored(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	name := strings.Repeat("0a", 32)
	for _, other := range []string{".token-X", name + ".tmp", "README", ".new-x"} {
		must(t, os.WriteFile(a.path(other), []byte("x"), 0o600))
	}
	must(t, os.WriteFile(a.path(strings.Repeat("0b", 32)), nil, 0o600)) // empty
	must(t, os.Mkdir(a.path(strings.Repeat("0c", 32)), 0o700))
	must(t, os.Symlink("/etc/hostname", a.path(strings.Repeat("0d", 32))))
	last := a.add("last")
	b.gets(last, "last")
	entries, err := os.ReadDir(b.dir())
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("%v came, want the token and the mark", entries)
	}
}
