package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/pkitest"
)

func openKeys(t testing.TB, c *Cluster) *Keys {
	t.Helper()
	k, err := c.OpenKeys(patiently(t), KeyOptions{})
	must(t, err)
	t.Cleanup(k.Close)
	return k
}

func TestKeysAreAStore(t *testing.T) {
	s := one(t)
	s.o.PublicationsBytes, s.o.ReturnsBytes = 1<<20, 1<<20
	n := 0
	pkitest.Run(t, func(t testing.TB) pki.Store {
		n++
		s.o.Name = fmt.Sprint("test", n)
		return openKeys(t, s.join(t, "a"))
	})
}

func TestMembersAgreeOnKeys(t *testing.T) {
	s := one(t)
	a, b := openKeys(t, s.join(t, "a")), openKeys(t, s.join(t, "b"))
	texts := pkitest.NewKeys(t)
	must(t, a.Create(pki.Pending, "web1", texts.A))
	eventually(t, "the pending key", func() bool {
		state, key, err := b.Find("web1")
		return err == nil && state == pki.Pending && key == texts.A
	})
	must(t, b.Move("web1", pki.Pending, pki.Accepted))
	eventually(t, "the accepted key", func() bool {
		state, _, err := a.Find("web1")
		return err == nil && state == pki.Accepted
	})
	// one that joins later
	c := openKeys(t, s.join(t, "c"))
	if state, key, err := c.Find("web1"); state != pki.Accepted || key != texts.A || err != nil {
		t.Errorf("a new member has %s, %v", state, err)
	}
	must(t, c.Delete(pki.Accepted, "web1"))
	eventually(t, "the deletion", func() bool {
		state, _, err := a.Find("web1")
		return err == nil && state == pki.Unknown
	})
	if r, err := a.Record("web1"); r.Member != "c" || err != nil {
		t.Errorf("changed by %q, %v, want c", r.Member, err)
	}
}

func TestConflictsFallToTheStricterState(t *testing.T) {
	s := one(t)
	a, b := openKeys(t, s.join(t, "a")), openKeys(t, s.join(t, "b"))
	texts := pkitest.NewKeys(t)
	ctx := patiently(t)
	for _, tt := range []struct {
		id            string
		first, second KeySet
		want          KeySet
	}{
		{"reject first", KeySet{Rejected: texts.A}, KeySet{Accepted: texts.A}, KeySet{Rejected: texts.A}},
		{"reject second", KeySet{Accepted: texts.A}, KeySet{Rejected: texts.A}, KeySet{Rejected: texts.A}},
		{"two keys", KeySet{Accepted: texts.A}, KeySet{Accepted: texts.B}, KeySet{Accepted: texts.A, Denied: texts.B}},
		{"agreed", KeySet{Accepted: texts.A}, KeySet{Accepted: texts.A}, KeySet{Accepted: texts.A}},
	} {
		before, _, err := a.Propose(ctx, tt.id, 0, KeySet{Pending: texts.A})
		must(t, err)
		if _, conflict, err := a.Propose(ctx, tt.id, before.Revision, tt.first); conflict || err != nil {
			t.Errorf("%s: the first proposal: conflict %t, %v", tt.id, conflict, err)
		}
		now, conflict, err := b.Propose(ctx, tt.id, before.Revision, tt.second)
		if conflict != (tt.first != tt.second) || now.Keys != tt.want || err != nil {
			t.Errorf("%s: conflict %t, %v; keys of %d,%d,%d,%d bytes", tt.id, conflict, err, len(now.Keys.Accepted),
				len(now.Keys.Pending), len(now.Keys.Rejected), len(now.Keys.Denied))
		}
		eventually(t, "a sees the outcome", func() bool {
			r, err := a.Record(tt.id)
			return err == nil && r.Keys == tt.want
		})
	}
}

func TestUpdateDecidesOnTheRecordThatHolds(t *testing.T) {
	s := one(t)
	a, b := openKeys(t, s.join(t, "a")), openKeys(t, s.join(t, "b"))
	texts := pkitest.NewKeys(t)
	ctx := patiently(t)
	const each = 20
	count := func(k *Keys, done chan<- error) {
		for range each {
			_, err := k.Update(ctx, "web1", func(r KeyRecord) KeySet {
				if r.Keys.Accepted == texts.A {
					return KeySet{Accepted: texts.B}
				}
				return KeySet{Accepted: texts.A}
			})
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}
	done := make(chan error, 2)
	go count(a, done)
	go count(b, done)
	must(t, <-done)
	must(t, <-done)
	calls := 0
	r, err := a.Update(ctx, "web1", func(r KeyRecord) KeySet { calls++; return r.Keys })
	if r.Generation() != 2*each || r.Keys.Accepted != texts.B || r.ID != "web1" || calls != 1 || err != nil {
		t.Errorf("after %d changes: generation %d, %d calls, %v", 2*each, r.Generation(), calls, err)
	}
	if _, err := a.Update(ctx, "../x", func(r KeyRecord) KeySet { return r.Keys }); !errors.Is(err, pki.ErrInvalidID) {
		t.Errorf("Update(../x) = %v, want %v", err, pki.ErrInvalidID)
	}
}

func TestChangesShowAllKeysAndThenWhatChanges(t *testing.T) {
	s := one(t)
	a, b := openKeys(t, s.join(t, "a")), openKeys(t, s.join(t, "b"))
	texts := pkitest.NewKeys(t)
	must(t, a.Create(pki.Pending, "web1", texts.A))
	must(t, a.Create(pki.Pending, "web2", texts.B))
	eventually(t, "both keys", func() bool { ids, _ := b.List(pki.Pending); return len(ids) == 2 })
	ctx, cancel := context.WithCancel(t.Context())
	changes := make(chan KeyRecord, 10)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for r := range b.Changes(ctx) {
			changes <- r
		}
	}()
	got := map[string]KeySet{}
	for _, r := range receive(t, changes, 2) {
		got[r.ID] = r.Keys
	}
	if got["web1"].Pending != texts.A || got["web2"].Pending != texts.B {
		t.Errorf("at first %v", clip(got))
	}
	must(t, a.Move("web1", pki.Pending, pki.Rejected))
	if r := receive(t, changes, 1)[0]; r.ID != "web1" || r.Keys != (KeySet{Rejected: texts.A}) {
		t.Errorf("then %s", clip(r))
	}
	must(t, a.Delete(pki.Pending, "web2"))
	if r := receive(t, changes, 1)[0]; r.ID != "web2" || r.Keys != (KeySet{}) {
		t.Errorf("then %s", clip(r))
	}
	cancel()
	<-ended
}

func TestKeysAreLimited(t *testing.T) {
	c := one(t).join(t, "a")
	k, err := c.OpenKeys(patiently(t), KeyOptions{MaxPending: 1})
	must(t, err)
	defer k.Close()
	texts := pkitest.NewKeys(t)
	must(t, k.Create(pki.Pending, "a", texts.A))
	if err := k.Create(pki.Pending, "b", texts.A); !errors.Is(err, pki.ErrPendingFull) {
		t.Errorf("second pending key: %v, want %v", err, pki.ErrPendingFull)
	}
	must(t, k.Put(pki.Pending, "a", texts.B))
	must(t, k.Create(pki.Accepted, "b", texts.A))
	must(t, k.Move("a", pki.Pending, pki.Accepted))
	must(t, k.Create(pki.Pending, "c", texts.A))
}

// TestNATSCannotUndoADecision puts an earlier record of a key back, as somebody who controls the
// servers can.
func TestNATSCannotUndoADecision(t *testing.T) {
	s := one(t)
	c := s.join(t, "a")
	k := openKeys(t, c)
	texts := pkitest.NewKeys(t)
	ctx := patiently(t)
	must(t, k.Create(pki.Accepted, "web1", texts.A))
	must(t, k.Create(pki.Accepted, "web2", texts.A))
	subject := k.b.subject(encode("web1"))
	accepted, err := c.last(ctx, k.b.stream, subject)
	must(t, err)
	must(t, k.Move("web1", pki.Accepted, pki.Rejected))
	other, err := c.last(ctx, k.b.stream, k.b.subject(encode("web2")))
	must(t, err)
	for _, put := range []struct {
		name string
		body []byte
	}{{"an earlier record", accepted.Data}, {"the record of another", other.Data}, {"nothing", nil}, {"rubbish", []byte("x")}} {
		name := put.name
		ack, err := c.js.Publish(ctx, subject, put.body)
		must(t, err)
		must(t, k.Put(pki.Pending, fmt.Sprint("after ", ack.Sequence), texts.A))
		eventually(t, "the key written afterwards", func() bool {
			r, err := k.Record(fmt.Sprint("after ", ack.Sequence))
			return err == nil && r.Keys.Pending != ""
		})
		if state, _, err := k.Find("web1"); state != pki.Rejected || err != nil {
			t.Errorf("after %s: %s, %v", name, state, err)
		}
		if err := k.Move("web1", pki.Rejected, pki.Accepted); err == nil {
			t.Errorf("after %s: the key changes on the grounds of it", name)
		}
	}
	// a member that has not seen the record is not told that there is none
	late := openKeys(t, s.join(t, "b"))
	if state, _, err := late.Find("web1"); err == nil {
		t.Errorf("a new member has %s for a record that it cannot read", state)
	}
}

func TestKeysOutliveTheServer(t *testing.T) {
	s := one(t)
	a, b := openKeys(t, s.join(t, "a")), openKeys(t, s.join(t, "b"))
	texts := pkitest.NewKeys(t)
	must(t, a.Create(pki.Accepted, "web1", texts.A))
	eventually(t, "the key", func() bool { _, err := b.Get(pki.Accepted, "web1"); return err == nil })
	s.servers.Nodes[0].Kill(t)
	if _, err := b.Get(pki.Accepted, "web1"); err != nil {
		t.Errorf("without a server: %v", err)
	}
	s.servers.Nodes[0].Restart(t)
	s.servers.Wait(t)
	eventually(t, "a write", func() bool { return a.Put(pki.Accepted, "web2", texts.B) == nil })
	start := time.Now()
	eventually(t, "the key after the restart", func() bool { _, err := b.Get(pki.Accepted, "web2"); return err == nil })
	t.Logf("seen after %s", time.Since(start))
}

func TestResealLeavesNothingOfTheOldKey(t *testing.T) {
	s := one(t)
	texts := pkitest.NewKeys(t)
	ctx := patiently(t)
	write := func(text string) { rewrite(t, s.key, text) }
	write(keyA)
	a := s.join(t, "a")
	must(t, openKeys(t, a).Create(pki.Accepted, "web1", texts.A))
	must(t, a.Leases().Run(ctx, "l", func(ctx context.Context, token Token) error {
		_, err := a.Leases().Fence(ctx, token)
		return err
	}))
	write(keyB + "\n" + keyA)
	if n, err := s.join(t, "b").Reseal(ctx); n != 3 || err != nil {
		t.Errorf("Reseal = %d, %v, want 3: key, lease, fence", n, err)
	}
	must(t, a.Close())
	s.join(t, "a") // no member uses the old key any more
	write(keyB)
	c := s.join(t, "c")
	if _, err := openKeys(t, c).Get(pki.Accepted, "web1"); err != nil {
		t.Errorf("with the new key alone: %v", err)
	}
	if n, err := c.Reseal(ctx); n != 0 || err != nil {
		t.Errorf("second Reseal = %d, %v", n, err)
	}
}
