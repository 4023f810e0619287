package keyfiles

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/pki"
)

// crash ends a member without the end of its state file, and puts an earlier state file in its place
// unless it is nil.
func (m *member) crash(state []byte) {
	m.t.Helper()
	if state == nil {
		state = m.state()
	}
	m.leave()
	must(m.t, os.WriteFile(m.o.State, state, 0o600))
}

func (m *member) state() []byte {
	m.t.Helper()
	text, err := os.ReadFile(m.o.State)
	must(m.t, err)
	return text
}

// TestAnOldStateFileResurrectsNothing changes keys on both members, and starts one of them with the
// state file of before.
func TestAnOldStateFileResurrectsNothing(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	k := newKeys(t, 1)[0]
	both := func(id string, want set) {
		t.Helper()
		a.awaits(id, want)
		b.awaits(id, want)
		b.shares(id, want)
	}
	for _, id := range []string{"deleted there", "rejected there", "deleted, and back in the file"} {
		a.write(pki.Accepted, id, k)
		both(id, set{Accepted: k})
	}
	a.write(pki.Rejected, "rejected again", k)
	both("rejected again", set{Rejected: k})
	a.write(pki.Pending, "accepted, taken back", k)
	both("accepted, taken back", set{Pending: k})
	a.settles()
	old := a.state()

	b.rm(pki.Accepted, "deleted there")
	both("deleted there", set{})
	b.mv("rejected there", pki.Accepted, pki.Rejected)
	both("rejected there", set{Rejected: k})
	a.rm(pki.Accepted, "deleted, and back in the file")
	both("deleted, and back in the file", set{})
	b.mv("rejected again", pki.Rejected, pki.Accepted)
	both("rejected again", set{Accepted: k})
	a.mv("accepted, taken back", pki.Pending, pki.Accepted)
	both("accepted, taken back", set{Accepted: k})
	a.write(pki.Pending, "new", k)
	both("new", set{Pending: k})
	a.mv("new", pki.Pending, pki.Accepted)
	both("new", set{Accepted: k})

	a.crash(old)
	a.write(pki.Accepted, "deleted there", k)
	a.write(pki.Accepted, "deleted, and back in the file", k)
	a.mv("rejected there", pki.Rejected, pki.Accepted)
	a.mv("rejected again", pki.Accepted, pki.Rejected)
	a.mv("accepted, taken back", pki.Accepted, pki.Pending)
	a.start()
	both("deleted there", set{})
	both("deleted, and back in the file", set{})
	both("rejected there", set{Rejected: k})
	both("rejected again", set{Rejected: k})
	both("accepted, taken back", set{Pending: k})
	both("new", set{Accepted: k})
}

// TestACrashBetweenTwoSteps ends after the cluster has a change and before the files have it, and
// after the files have it and before the state file tells.
func TestACrashBetweenTwoSteps(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	k := newKeys(t, 1)[0]
	for _, id := range []string{"accepted", "rejected", "conflict", "taken back"} {
		a.write(pki.Pending, id, k)
		b.awaits(id, set{Pending: k})
	}
	a.settles()
	b.settles()
	// the files cannot be written: the directory has a subdirectory in the place of the key
	must(t, os.Mkdir(filepath.Join(b.root, "minions", "accepted"), 0o700))
	must(t, os.Mkdir(filepath.Join(b.root, "minions_rejected", "conflict"), 0o700))
	a.mv("accepted", pki.Pending, pki.Accepted)
	a.mv("rejected", pki.Pending, pki.Rejected)
	b.awaits("rejected", set{Rejected: k})
	a.mv("conflict", pki.Pending, pki.Rejected)
	b.shares("accepted", set{Accepted: k})
	b.shares("conflict", set{Rejected: k})
	eventually(t, func() bool { _, n := b.files.Status(); return n == 2 },
		func() string { return "nothing waits" })
	b.crash(nil)
	must(t, os.Remove(filepath.Join(b.root, "minions", "accepted")))
	must(t, os.Remove(filepath.Join(b.root, "minions_rejected", "conflict")))
	b.mv("conflict", pki.Pending, pki.Accepted) // without knowing of the rejection
	b.start()
	for _, m := range []*member{a, b} {
		m.awaits("accepted", set{Accepted: k})
		m.awaits("rejected", set{Rejected: k})
		m.awaits("conflict", set{Rejected: k})
	}
	// the proposal of a member comes through, of which its state file does not tell
	old := b.state()
	b.mv("taken back", pki.Pending, pki.Accepted)
	a.awaits("taken back", set{Accepted: k})
	b.crash(old)
	b.rm(pki.Accepted, "taken back")
	b.start()
	a.awaits("taken back", set{})
	if n, _ := a.files.Status(); n != 0 {
		t.Errorf("%d conflicts of a member without a change: %s", n, a.logged())
	}
}

// TestAFileThatCannotBeWrittenChangesNothingElsewhere keeps a change of another member waiting.
func TestAFileThatCannotBeWrittenChangesNothingElsewhere(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	k := newKeys(t, 1)[0]
	block := filepath.Join(b.root, "minions", "web1")
	must(t, os.Mkdir(block, 0o700))
	a.write(pki.Accepted, "web1", k)
	b.shares("web1", set{Accepted: k})
	eventually(t, func() bool { _, n := b.files.Status(); return n == 1 },
		func() string { return "nothing waits" })
	a.write(pki.Accepted, "web2", k)
	b.awaits("web2", set{Accepted: k})
	if r, err := b.keys.Record("web1"); r.Keys != (set{Accepted: k}) || err != nil {
		t.Errorf("the cluster has %s, %v", describe(r.Keys), err)
	}
	must(t, os.Remove(block))
	b.awaits("web1", set{Accepted: k})
}

// TestABackupOfTheDirectoriesResurrectsNothing brings the directories of an earlier session back,
// beside the state file of now.
func TestABackupOfTheDirectoriesResurrectsNothing(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	k := newKeys(t, 1)[0]
	a.write(pki.Accepted, "web1", k)
	a.write(pki.Accepted, "web2", k)
	b.awaits("web1", set{Accepted: k})
	b.awaits("web2", set{Accepted: k})
	b.settles()
	b.leave()
	backup := b.root + ".backup"
	must(t, os.CopyFS(backup, os.DirFS(b.root)))
	b.start()
	a.rm(pki.Accepted, "web1")
	b.awaits("web1", set{})
	a.write(pki.Accepted, "web3", k)
	b.awaits("web3", set{Accepted: k})
	b.leave()
	must(t, os.RemoveAll(b.root))
	must(t, os.Rename(backup, b.root))
	b.start()
	b.awaits("web1", set{})
	b.awaits("web3", set{Accepted: k})
	for id, want := range map[string]set{"web1": {}, "web2": {Accepted: k}, "web3": {Accepted: k}} {
		a.awaits(id, want)
	}
}

// TestALostStoreOfNATSDeletesNothing gives members a new cluster.
func TestALostStoreOfNATSDeletesNothing(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	k := newKeys(t, 1)[0]
	a.write(pki.Accepted, "web1", k)
	b.awaits("web1", set{Accepted: k})
	b.rm(pki.Accepted, "web1")
	a.awaits("web1", set{})
	a.write(pki.Accepted, "web2", k)
	b.awaits("web2", set{Accepted: k})
	a.settles()
	b.settles()
	a.leave()
	b.leave()
	s.o.Name = "other" // has streams of its own
	a.write(pki.Accepted, "web3", k)
	a.start()
	b.start()
	for _, m := range []*member{a, b} {
		m.awaits("web2", set{Accepted: k})
		m.awaits("web3", set{Accepted: k})
	}
}

// TestResealIsNoChange seals all records with a new cluster key, and changes a key afterwards.
func TestResealIsNoChange(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	k := newKeys(t, 1)[0]
	a.write(pki.Pending, "web1", k)
	b.awaits("web1", set{Pending: k})
	text, err := os.ReadFile(s.o.KeyFile)
	must(t, err)
	must(t, os.Remove(s.o.KeyFile))
	must(t, cluster.NewKey(s.o.KeyFile))
	fresh, err := os.ReadFile(s.o.KeyFile)
	must(t, err)
	must(t, os.WriteFile(s.o.KeyFile, append(append(text, '\n'), fresh...), 0o600))
	a.leave()
	b.leave()
	a.start()
	b.start()
	must(t, os.WriteFile(s.o.KeyFile, append(append(fresh, '\n'), text...), 0o600))
	o := s.o
	o.Member = "c"
	c, err := cluster.Open(patiently(t), o)
	must(t, err)
	defer c.Close()
	if n, err := c.Reseal(patiently(t)); n != 1 || err != nil {
		t.Fatalf("Reseal = %d, %v, want 1", n, err)
	}
	a.mv("web1", pki.Pending, pki.Accepted)
	b.awaits("web1", set{Accepted: k})
	a.awaits("web1", set{Accepted: k})
}
