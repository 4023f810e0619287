package keyfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/pki"
)

func TestAChangeOnOneMemberIsOnTheOthers(t *testing.T) {
	s := newSite(t, 1)
	a, b, c := s.member(t, "a"), s.member(t, "b"), s.member(t, "c")
	k := newKeys(t, 2)
	var longest time.Duration
	all := func(what string, want set) {
		t.Helper()
		start := time.Now()
		for _, m := range []*member{a, b, c} {
			m.awaits("web1", want)
		}
		took := time.Since(start)
		longest = max(longest, took)
		t.Logf("%s: %s", what, took)
	}
	a.write(pki.Pending, "web1", k[0])
	all("pending", set{Pending: k[0]})
	b.mv("web1", pki.Pending, pki.Accepted)
	all("accepted with mv", set{Accepted: k[0]})
	c.mv("web1", pki.Accepted, pki.Rejected)
	all("rejected", set{Rejected: k[0]})
	a.mv("web1", pki.Rejected, pki.Accepted)
	all("accepted again", set{Accepted: k[0]})
	b.write(pki.Denied, "web1", k[1])
	all("a denied key", set{Accepted: k[0], Denied: k[1]})
	b.write(pki.Accepted, "web1", k[1])
	b.rm(pki.Denied, "web1")
	all("another key, written in place", set{Accepted: k[1]})
	c.rm(pki.Accepted, "web1")
	all("deleted", set{})
	must(t, a.dir.Create(pki.Pending, "web1", k[0]))
	must(t, a.files.Sync(patiently(t), "web1"))
	all("pending after Sync", set{Pending: k[0]})
	must(t, a.dir.Delete(pki.Pending, "web1"))
	must(t, a.files.Sync(patiently(t), "web1"))
	all("deleted after Sync", set{})
	t.Logf("the longest change took %s", longest)
	for _, m := range []*member{a, b, c} {
		if n, waiting := m.files.Status(); n != 0 || waiting != 0 {
			t.Errorf("%s: %d conflicts, %d wait: %s", m.id, n, waiting, m.logged())
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.changed) < 5 || b.changed[0] != "web1: unknown to unaccepted" {
		t.Errorf("Changed of b was told %q", b.changed)
	}
}

func TestSyncOfAnInvalidID(t *testing.T) {
	s := newSite(t, 1)
	a := s.member(t, "a")
	if err := a.files.Sync(t.Context(), "../x"); !errors.Is(err, pki.ErrInvalidID) {
		t.Errorf("Sync(../x) = %v, want %v", err, pki.ErrInvalidID)
	}
}

// TestAnAcceptedKeyIsNeverMissing replaces an accepted key often and looks all the time.
func TestAnAcceptedKeyIsNeverMissing(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	k := newKeys(t, 3)
	a.write(pki.Accepted, "web1", k[0])
	b.awaits("web1", set{Accepted: k[0]})
	done := make(chan struct{})
	looked := make(chan int)
	go func() {
		n := 0
		defer func() { looked <- n }()
		for {
			select {
			case <-done:
				return
			default:
			}
			n++
			if state, _, err := b.dir.Find("web1"); state != pki.Accepted || err != nil {
				t.Errorf("the key that stays accepted is %s, %v", state, err)
				return
			}
		}
	}()
	for i := range 20 {
		want := set{Accepted: k[i%2], Denied: k[2-i%2]}
		must(t, a.dir.Put(pki.Accepted, "web1", want.Accepted))
		must(t, a.dir.Import(pki.Denied, "web1", want.Denied))
		must(t, a.files.Sync(patiently(t), "web1"))
		b.awaits("web1", want)
	}
	close(done)
	t.Logf("looked %d times", <-looked)
}

func TestAWipedMemberGetsAllKeys(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	k := newKeys(t, 1)[0]
	want := map[string]set{}
	for i := range 40 {
		state := states[i%len(states)]
		id := fmt.Sprint("web", i)
		a.write(state, id, k)
		one := set{}
		*one.Place(state) = k
		want[id] = one
	}
	for id, one := range want {
		b.awaits(id, one)
	}
	b.leave()
	must(t, os.RemoveAll(b.root))
	must(t, os.Remove(b.o.State))
	b.prepare()
	b.start()
	for id, one := range want {
		b.awaits(id, one)
	}
	b.settles()
	for id, one := range want {
		if got := a.has(id); got != one {
			t.Errorf("%s: the other member has %s, want %s", id, describe(got), describe(one))
		}
	}
	// the same with the state file, as after the loss of the disk of pki_dir
	b.leave()
	must(t, os.RemoveAll(b.root))
	b.prepare()
	b.start()
	for id, one := range want {
		b.awaits(id, one)
		a.awaits(id, one)
	}
}

func TestAMasterWithKeysJoins(t *testing.T) {
	s := newSite(t, 1)
	a := s.member(t, "a")
	k := newKeys(t, 3)
	a.write(pki.Accepted, "of a", k[0])
	a.write(pki.Accepted, "equal", k[0])
	a.write(pki.Accepted, "rejected there", k[0])
	a.write(pki.Rejected, "rejected here", k[0])
	a.write(pki.Accepted, "waits there", k[0])
	a.write(pki.Accepted, "two keys", k[0])
	a.write(pki.Accepted, "deleted here", k[0])
	a.shares("deleted here", set{Accepted: k[0]})
	a.rm(pki.Accepted, "deleted here")
	a.shares("deleted here", set{})
	b := s.visitor(t, "b")
	b.write(pki.Accepted, "of b", k[1])
	b.write(pki.Accepted, "equal", k[0])
	b.write(pki.Rejected, "rejected there", k[0])
	b.write(pki.Accepted, "rejected here", k[0])
	b.write(pki.Pending, "waits there", k[0])
	b.write(pki.Accepted, "two keys", k[1])
	b.write(pki.Accepted, "deleted here", k[0])
	for _, id := range []string{
		"of a", "equal", "rejected there", "rejected here", "waits there", "two keys",
	} {
		a.shares(id, a.has(id))
	}
	b.start()
	for id, want := range map[string]set{
		"of a": {Accepted: k[0]}, "of b": {Accepted: k[1]}, "equal": {Accepted: k[0]},
		"rejected there": {Rejected: k[0]}, "rejected here": {Rejected: k[0]}, "waits there": {Accepted: k[0]},
		"two keys": {Accepted: k[0], Denied: k[1]}, "deleted here": {},
	} {
		a.awaits(id, want)
		b.awaits(id, want)
	}
	b.settles() // a conflict is counted after the files are written
	if n, _ := b.files.Status(); n != 4 {
		t.Errorf("%d conflicts, want 4: %s", n, b.logged())
	}
	// what comes later is no conflict with a deletion that this member has not seen
	b.write(pki.Pending, "deleted here", k[2])
	a.awaits("deleted here", set{Pending: k[2]})
}

func TestAMemberIsAwayForAWhile(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	k := newKeys(t, 2)
	for _, id := range []string{
		"stays", "rejected there", "deleted there", "rejected here", "deleted here", "both",
	} {
		a.write(pki.Accepted, id, k[0])
		b.awaits(id, set{Accepted: k[0]})
	}
	a.write(pki.Rejected, "taken back there", k[0])
	b.awaits("taken back there", set{Rejected: k[0]})
	b.settles()
	b.leave()
	a.mv("rejected there", pki.Accepted, pki.Rejected)
	a.rm(pki.Accepted, "deleted there")
	a.write(pki.Pending, "new there", k[0])
	a.mv("both", pki.Accepted, pki.Rejected)
	a.mv("taken back there", pki.Rejected, pki.Accepted)
	b.mv("rejected here", pki.Accepted, pki.Rejected)
	b.rm(pki.Accepted, "deleted here")
	b.write(pki.Pending, "new here", k[1])
	b.rm(pki.Accepted, "both")
	a.shares("deleted there", set{})
	a.shares("both", set{Rejected: k[0]})
	a.shares("new there", set{Pending: k[0]})
	a.shares("taken back there", set{Accepted: k[0]})
	b.start()
	for id, want := range map[string]set{
		"stays": {Accepted: k[0]}, "rejected there": {Rejected: k[0]}, "deleted there": {},
		"rejected here": {Rejected: k[0]},
		"deleted here":  {}, "both": {Rejected: k[0]}, "new there": {Pending: k[0]}, "new here": {Pending: k[1]},
		"taken back there": {Accepted: k[0]},
	} {
		a.awaits(id, want)
		b.awaits(id, want)
	}
	const line = "key of both: no key here, rejected key"
	if n, _ := b.files.Status(); n != 1 || !strings.Contains(b.logged(), line) {
		t.Errorf("%d conflicts, want 1: %s", n, b.logged())
	}
}

// TestConflictsWhileNATSStandsStill changes keys on both members without a quorum.
func TestConflictsWhileNATSStandsStill(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	k := newKeys(t, 2)
	for _, id := range []string{"1", "2", "3", "4"} {
		a.write(pki.Pending, id, k[0])
		b.awaits(id, set{Pending: k[0]})
	}
	s.servers.Nodes[0].Stop(t)
	a.mv("1", pki.Pending, pki.Accepted)
	b.mv("1", pki.Pending, pki.Rejected)
	a.mv("2", pki.Pending, pki.Accepted)
	b.rm(pki.Pending, "2")
	a.mv("3", pki.Pending, pki.Accepted)
	a.write(pki.Pending, "new", k[0])
	b.write(pki.Pending, "new", k[1])
	b.mv("4", pki.Pending, pki.Rejected)
	if err := b.files.Sync(patiently(t), "4"); !errors.Is(err, cluster.ErrUnavailable) {
		t.Errorf("Sync without NATS: %v, want %v", err, cluster.ErrUnavailable)
	}
	eventually(t, func() bool { _, n := a.files.Status(); return n >= 4 }, func() string {
		_, n := a.files.Status()
		return fmt.Sprint(n, " changes wait, want 4")
	})
	if got := a.has("1"); got != (set{Accepted: k[0]}) {
		t.Errorf("without NATS a file is changed: %s", describe(got))
	}
	s.servers.Nodes[0].Continue(t)
	for _, m := range []*member{a, b} {
		m.awaits("1", set{Rejected: k[0]})
		m.awaits("2", set{})
		m.awaits("3", set{Accepted: k[0]})
		m.awaits("4", set{Rejected: k[0]})
	}
	eventually(t, func() bool { return a.has("new") == b.has("new") },
		func() string { return "two keys of one id" })
	one, two := set{Pending: k[0], Denied: k[1]}, set{Pending: k[1], Denied: k[0]}
	if got := a.has("new"); got != one && got != two {
		t.Errorf("of two pending keys there is %+v", got)
	}
	na, _ := a.files.Status()
	nb, _ := b.files.Status()
	if na+nb != 2 {
		t.Errorf("%d conflicts, want 2: %s%s", na+nb, a.logged(), b.logged())
	}
	if n := strings.Count(a.logged()+b.logged(), "at the same time"); uint64(n) != na+nb {
		t.Errorf("%d conflicts are logged: %s%s", n, a.logged(), b.logged())
	}
}

func TestThreeServersOneOfWhichStandsStill(t *testing.T) {
	s := newSite(t, 3)
	a, b, c := s.member(t, "a"), s.member(t, "b"), s.member(t, "c")
	k := newKeys(t, 1)[0]
	a.write(pki.Pending, "web1", k)
	b.awaits("web1", set{Pending: k})
	c.awaits("web1", set{Pending: k})
	s.servers.Leader(t, "KV_test_keys").Stop(t)
	a.mv("web1", pki.Pending, pki.Accepted)
	b.mv("web1", pki.Pending, pki.Rejected)
	c.write(pki.Pending, "web2", k)
	for _, m := range []*member{a, b, c} {
		m.awaits("web1", set{Rejected: k})
		m.awaits("web2", set{Pending: k})
	}
}

func TestADirectoryThatVanishes(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	k := newKeys(t, 1)[0]
	keep := func(what string) {
		t.Helper()
		for i := range 12 {
			id := fmt.Sprint("web", i)
			if got := b.has(id); got != (set{Accepted: k}) {
				t.Fatalf("%s: the other member has %s of %s", what, describe(got), id)
			}
		}
	}
	for i := range 12 {
		a.write(pki.Accepted, fmt.Sprint("web", i), k)
	}
	for i := range 12 {
		b.awaits(fmt.Sprint("web", i), set{Accepted: k})
	}
	silent := func() {
		t.Helper()
		eventually(t, func() bool { return strings.Contains(a.logged(), errAbsent.Error()) }, func() string {
			return "not logged: " + a.logged()
		})
		a.log.Reset()
	}
	away := a.root + ".away"
	must(t, os.Rename(a.root, away))
	silent()
	b.write(pki.Accepted, "meanwhile", k) // is known to a, and not written
	a.shares("meanwhile", set{Accepted: k})
	if _, err := os.Stat(a.root); err == nil {
		t.Error("pki_dir is made anew")
	}
	keep("without pki_dir")
	must(t, os.Rename(away, a.root))
	a.awaits("meanwhile", set{Accepted: k})
	keep("with pki_dir again")

	minions := filepath.Join(a.root, "minions")
	must(t, os.Rename(minions, away))
	silent()
	keep("without minions")
	must(t, os.Mkdir(minions, 0o700)) // as a sign-in does
	for i := range 12 {
		a.awaits(fmt.Sprint("web", i), set{Accepted: k})
	}
	keep("with an empty minions")

	// the directory of before comes back, with a key that was deleted since
	b.rm(pki.Accepted, "meanwhile")
	a.awaits("meanwhile", set{})
	must(t, os.RemoveAll(minions))
	must(t, os.Rename(away, minions))
	a.awaits("meanwhile", set{})
	if got := b.has("meanwhile"); got != (set{}) {
		t.Errorf("a deleted key comes back with an old directory: %s", describe(got))
	}
	keep("with an old minions")
}

func TestAFileWithoutAKeyDeletesNothing(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	k := newKeys(t, 1)[0]
	a.write(pki.Accepted, "web1", k)
	b.awaits("web1", set{Accepted: k})
	a.write(pki.Accepted, "web1", k[:40])
	eventually(t, func() bool { _, n := a.files.Status(); return n == 1 },
		func() string { return "nothing waits" })
	a.write(pki.Pending, "next", k)
	b.awaits("next", set{Pending: k})
	if got := b.has("web1"); got != (set{Accepted: k}) {
		t.Errorf("the other member has %s", describe(got))
	}
	b.mv("web1", pki.Accepted, pki.Rejected)
	a.awaits("web1", set{Rejected: k})
}

func TestAllKeysAtOnceWaitForAMinute(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	k := newKeys(t, 1)[0]
	a.stop()
	a.open()
	a.files.gone.patience = 5 * time.Second
	a.cancel = nil
	a.run()
	for i := range 11 {
		a.write(pki.Accepted, fmt.Sprint("web", i), k)
	}
	for i := range 11 {
		b.awaits(fmt.Sprint("web", i), set{Accepted: k})
	}
	start := time.Now()
	for i := range 11 {
		a.rm(pki.Accepted, fmt.Sprint("web", i))
	}
	a.write(pki.Pending, "web0", k) // it signs in
	a.write(pki.Pending, "web1", k)
	if err := a.files.Sync(patiently(t), "web0"); !errors.Is(err, errGone) {
		t.Errorf("Sync after the sign-in: %v, want %v", err, errGone)
	}
	a.write(pki.Pending, "next", k)
	b.awaits("next", set{Pending: k})
	b.awaits("web0", set{Pending: k})
	b.awaits("web1", set{Pending: k})
	for i := 2; i < 11; i++ {
		b.awaits(fmt.Sprint("web", i), set{})
	}
	if took := time.Since(start); took < 5*time.Second {
		t.Errorf("all keys were deleted after %s, want after 5 s", took)
	}
}

// TestAFileThatIsOverwrittenInPlaceIsSeen changes nothing that a directory's time tells of.
func TestAFileThatIsOverwrittenInPlaceIsSeen(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.visitor(t, "a"), s.member(t, "b")
	a.o.Full = 500 * time.Millisecond
	a.start()
	k := newKeys(t, 2)
	a.write(pki.Accepted, "web1", k[0])
	b.awaits("web1", set{Accepted: k[0]})
	old := time.Now().Add(-time.Hour)
	for i := range 3 {
		want := k[(i+1)%2]
		must(t, os.Chtimes(a.path(pki.Accepted, ""), old, old))
		a.write(pki.Accepted, "web1", want)
		b.awaits("web1", set{Accepted: want})
	}
}

func TestRunEndsWithTheKeys(t *testing.T) {
	s := newSite(t, 1)
	a := s.visitor(t, "a")
	a.open()
	a.keys.Close()
	if err := a.files.Run(patiently(t)); err == nil || !strings.Contains(err.Error(), "no longer followed") {
		t.Errorf("Run after the end of the keys: %v", err)
	}
}

func TestOpenWithoutAStateFile(t *testing.T) {
	if _, err := Open(nil, nil, Options{}); err == nil {
		t.Error("no error without the name of a state file")
	}
	s := newSite(t, 1)
	a := s.visitor(t, "a")
	a.join()
	a.o.State = filepath.Join(a.root, "no", "state")
	if _, err := Open(a.dir, a.keys, a.o); err == nil {
		t.Error("no error for a state file that cannot be written")
	}
}

// TestTheLimitOfDeniedKeysDoesNotStop writes more denied keys than sign-ins may in a minute.
func TestTheLimitOfDeniedKeysDoesNotStop(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.member(t, "a"), s.member(t, "b")
	k := newKeys(t, 3)
	a.write(pki.Accepted, "web1", k[0])
	for i := range 12 {
		want := set{Accepted: k[0], Denied: k[1+i%2]}
		a.write(pki.Denied, "web1", want.Denied)
		must(t, a.files.Sync(patiently(t), "web1"))
		b.awaits("web1", want)
	}
}
