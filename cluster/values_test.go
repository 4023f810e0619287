package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/need"
)

// told follows values in the background.
func told(t testing.TB, v *Values, after uint64) <-chan Value {
	t.Helper()
	got := make(chan Value, 100_000)
	following(t, func(ctx context.Context) error {
		err := v.Follow(ctx, after, nil, func(v Value) error { got <- v; return nil })
		if err != nil {
			t.Error(err)
		}
		return err
	})
	return got
}

func TestValuesAreSetByRevision(t *testing.T) {
	s := one(t)
	a, b := s.join(t, "a").Values(Data), s.join(t, "b").Values(Data)
	ctx := patiently(t)
	if body, revision, err := a.Get(ctx, "k"); body != nil || revision != 0 || err != nil {
		t.Errorf("Get of nothing = %q, %d, %v", body, revision, err)
	}
	must(t, a.Delete(ctx, "k"))
	if last, err := a.Last(ctx); last != 0 || err != nil {
		t.Errorf("Last after a deletion of nothing = %d, %v", last, err)
	}
	first, err := a.Set(ctx, "k", []byte("one"), 0)
	must(t, err)
	for _, wrong := range []uint64{0, first + 1} {
		if _, err := b.Set(ctx, "k", []byte("two"), wrong); !errors.Is(err, ErrConflict) {
			t.Errorf("Set at revision %d = %v, want %v", wrong, err, ErrConflict)
		}
	}
	if body, revision, err := b.Get(ctx, "k"); string(body) != "one" || revision != first || err != nil {
		t.Errorf("Get = %q, %d, %v", body, revision, err)
	}
	second, err := b.Put(ctx, "k", []byte{})
	must(t, err)
	if body, revision, err := a.Get(ctx, "k"); body == nil || len(body) > 0 || revision != second || err != nil {
		t.Errorf("Get of an empty value = %v, %d, %v", body, revision, err)
	}
	must(t, a.Delete(ctx, "k"))
	must(t, a.Delete(ctx, "k"))
	body, third, err := b.Get(ctx, "k")
	if body != nil || third != second+1 || err != nil {
		t.Errorf("Get of a deleted key = %v, %d, %v, want revision %d", body, third, err, second+1)
	}
	if _, err := a.Set(ctx, "k", []byte("three"), third); err != nil {
		t.Errorf("Set over a deleted key: %v", err)
	}
	other, err := s.join(t, "c").Values(Tokens).Put(ctx, "k", nil)
	if other != 1 || err != nil {
		t.Errorf("the first write of another shelf = %d, %v", other, err)
	}
}

func TestValuesAreFollowedFromARevision(t *testing.T) {
	s := one(t)
	a, b := s.join(t, "a").Values(Data), s.join(t, "b").Values(Data)
	ctx := patiently(t)
	var revisions []uint64
	for i := range 10 {
		revision, err := a.Put(ctx, fmt.Sprint("k", i), fmt.Append(nil, i))
		must(t, err)
		revisions = append(revisions, revision)
	}
	must(t, a.Delete(ctx, "k3"))
	for _, after := range []uint64{0, revisions[4]} {
		want := 10
		if after > 0 {
			want = 6 // k5 to k9, and that k3 is gone
		}
		var last uint64
		for _, v := range receive(t, told(t, b, after), want) {
			if v.Revision <= last || v.Revision <= after {
				t.Errorf("after %d: revision %d follows %d", after, v.Revision, last)
			}
			last = v.Revision
			if (v.Body == nil) != (v.Key == "k3") || v.Body != nil && "k"+string(v.Body) != v.Key {
				t.Errorf("after %d: %s is %q", after, v.Key, v.Body)
			}
		}
	}
	got := told(t, b, revisions[9]+1)
	revision, err := a.Put(ctx, "k0", []byte("new"))
	must(t, err)
	if v := receive(t, got, 1)[0]; v.Key != "k0" || string(v.Body) != "new" || v.Revision != revision {
		t.Errorf("then %s = %q at %d", v.Key, v.Body, v.Revision)
	}
	synced := make(chan struct{})
	n := 0
	following(t, func(ctx context.Context) error {
		return b.Follow(ctx, 0, func() { close(synced) }, func(Value) error { n++; return nil })
	})
	receiveClosed(t, synced)
	if n != 10 {
		t.Errorf("%d keys were told before synced, want 10", n)
	}
	if err := b.Follow(ctx, 1000, nil, func(Value) error { return nil }); !errors.Is(err, ErrRestarted) {
		t.Errorf("after a revision that never was: %v, want %v", err, ErrRestarted)
	}
}

func TestValuesHaveALimit(t *testing.T) {
	c := one(t).join(t, "a")
	v := c.Values(Data)
	ctx := patiently(t)
	if _, err := v.Put(ctx, "k", make([]byte, 2<<20)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Put of 2 MiB = %v, want %v", err, ErrTooLarge)
	}
	long := string(bytes.Repeat([]byte("k"), MaxKey))
	if _, err := v.Put(ctx, long, []byte("v")); err != nil {
		t.Errorf("Put with the longest key: %v", err)
	}
	if _, err := v.Put(ctx, long+"k", nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Put with a longer key = %v, want %v", err, ErrTooLarge)
	}
	if _, err := v.Put(ctx, "", nil); err == nil {
		t.Error("Put with an empty key succeeded")
	}
}

// TestNATSCannotForgeValues writes into the bucket as somebody who controls the servers can.
func TestNATSCannotForgeValues(t *testing.T) {
	s := one(t)
	c := s.join(t, "a")
	v := c.Values(Tokens)
	ctx := patiently(t)
	_, err := v.Put(ctx, "other", []byte("of another"))
	must(t, err)
	_, err = v.Put(ctx, "k", []byte("first"))
	must(t, err)
	_, err = s.join(t, "b").Values(Data).Put(ctx, "k", []byte("of another shelf"))
	must(t, err)
	raw := func(v *Values, key string) []byte {
		m, err := c.last(ctx, v.b.stream, v.b.subject(encode(key)))
		must(t, err)
		return m.Data
	}
	first, other, shelf := raw(v, "k"), raw(v, "other"), raw(c.Values(Data), "k")
	got := told(t, v, 0)
	receive(t, got, 2)
	must(t, v.Delete(ctx, "k"))
	if g := receive(t, got, 1)[0]; g.Key != "k" || g.Body != nil {
		t.Errorf("the deletion is told as %s = %q", g.Key, g.Body)
	}
	for name, body := range map[string][]byte{"the value that was deleted": first, "the value of another key": other,
		"the value of another shelf": shelf, "rubbish": []byte("x"), "nothing": nil} {
		ack, err := c.js.Publish(ctx, v.b.subject(encode("k")), body)
		must(t, err)
		_, revision, err := v.Get(ctx, "k")
		if revision != ack.Sequence || (name != "the value that was deleted") != errors.Is(err, ErrSealed) {
			t.Errorf("after %s: Get = %d, %v", name, revision, err)
		}
		_, err = v.Put(ctx, "mark", nil)
		must(t, err)
		if g := receive(t, got, 1)[0]; g.Key != "mark" {
			t.Errorf("%s is told as %s = %q", name, g.Key, g.Body)
		}
	}
	_, err = v.Put(ctx, "k", []byte("again"))
	must(t, err)
	if g := receive(t, got, 1)[0]; g.Key != "k" || string(g.Body) != "again" {
		t.Errorf("after a new value %s = %q is told", g.Key, g.Body)
	}
	// what is lost may be written again, though followers know a later revision
	stream, err := c.handle(ctx, v.b.stream)
	must(t, err)
	must(t, stream.Purge(ctx))
	_, err = v.Set(ctx, "k", []byte("new"), 0)
	must(t, err)
	if g := receive(t, got, 1)[0]; g.Key != "k" || string(g.Body) != "new" {
		t.Errorf("after a purge %s = %q is told", g.Key, g.Body)
	}
}

func TestResealRenewsValues(t *testing.T) {
	s := one(t)
	ctx := patiently(t)
	rewrite(t, s.key, keyA)
	first := s.join(t, "a")
	a := first.Values(Secrets)
	revision, err := a.Put(ctx, "k", []byte("v"))
	must(t, err)
	_, err = a.Put(ctx, "gone", nil)
	must(t, err)
	must(t, first.Close())
	rewrite(t, s.key, keyB+"\n"+keyA)
	s.join(t, "a") // no member uses the old key any more
	b := s.join(t, "b")
	got := told(t, b.Values(Secrets), 0)
	receive(t, got, 2)
	strange, err := b.js.Publish(ctx, b.Values(Secrets).b.subject(encode("strange")), junk(7))
	must(t, err)
	if n, err := b.Reseal(ctx); n != 2 || !errors.Is(err, ErrUnknownKey) || !strings.Contains(err.Error(), `"strange" of bucket`) {
		t.Errorf("Reseal = %d, %v, want 2 and the name of what it left", n, err)
	}
	if v, err := b.Values(Secrets).b.get(ctx, "strange"); v.revision != strange.Sequence || !errors.Is(err, ErrUnknownKey) {
		t.Errorf("the strange value has revision %d, %v", v.revision, err)
	}
	for _, v := range receive(t, got, 2) {
		if v.Revision <= revision || (v.Body == nil) != (v.Key == "gone") {
			t.Errorf("%s = %q at %d is told", v.Key, v.Body, v.Revision)
		}
	}
	rewrite(t, s.key, keyB)
	if body, _, err := s.join(t, "c").Values(Secrets).Get(ctx, "k"); string(body) != "v" || err != nil {
		t.Errorf("with the new key alone: %q, %v", body, err)
	}
}

// TestValuesOutliveServers writes at three members while a server is killed and another stands still.
// Each member writes its own keys and one that all share; acknowledged values are never lost, and
// all followers end with the same.
func TestValuesOutliveServers(t *testing.T) {
	need.Time(t, "servers hold elections")
	t.Parallel()
	s := three(t)
	var members []*Values
	var all []*sync.Map
	for _, name := range []string{"a", "b", "c"} {
		v := s.join(t, name).Values(Data)
		members = append(members, v)
		seen := &sync.Map{}
		all = append(all, seen)
		following(t, func(ctx context.Context) error {
			err := v.Follow(ctx, 0, nil, func(v Value) error { seen.Store(v.Key, v); return nil })
			if err != nil {
				t.Error(err)
			}
			return err
		})
	}
	need.Have(t, "nats-server "+leastReplicated+" or later, since older ones lose messages",
		atLeast(members[0].c.nc.ConnectedServerVersion(), leastReplicated))
	var stop atomic.Bool
	var written atomic.Int64
	var shared atomic.Int64 // increments that were acknowledged
	var unclear atomic.Int64
	last := make([]string, len(members))
	var work sync.WaitGroup
	for i, v := range members {
		work.Go(func() {
			for n := 0; !stop.Load(); n++ {
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				text := fmt.Sprint(n)
				if _, err := v.Put(ctx, fmt.Sprint("own", i), []byte(text)); err != nil {
					t.Errorf("Put: %v", err)
				}
				last[i] = text
				body, revision, err := v.Get(ctx, "shared")
				if err == nil {
					_, err = v.Set(ctx, "shared", append(body, '.'), revision)
				}
				switch {
				case err == nil:
					shared.Add(1)
				case errors.Is(err, ErrUnavailable):
					unclear.Add(1)
				case !errors.Is(err, ErrConflict):
					t.Errorf("Set: %v", err)
				}
				cancel()
				written.Add(1)
			}
		})
	}
	goesOn := func(after string) {
		t.Helper()
		target := written.Load() + 30
		eventually(t, "writes after "+after, func() bool { return written.Load() >= target })
	}
	goesOn("the start")
	killed := s.servers.Leader(t, "KV_test_data")
	killed.Kill(t)
	goesOn("the leader was killed")
	killed.Restart(t)
	s.servers.Wait(t)
	stopped := s.servers.Leader(t, "KV_test_data")
	stopped.Stop(t)
	goesOn("the leader was stopped")
	stopped.Continue(t)
	s.servers.Wait(t)
	goesOn("it continued")
	stop.Store(true)
	work.Wait()
	body, revision, err := members[0].Get(patiently(t), "shared")
	must(t, err)
	if n := int64(len(body)); n < shared.Load() || n > shared.Load()+unclear.Load() {
		t.Errorf("the value was extended %d times, %d were acknowledged, %d are unclear", n, shared.Load(), unclear.Load())
	}
	for i, seen := range all {
		for j, text := range last {
			eventually(t, "the last own value", func() bool {
				v, ok := seen.Load(fmt.Sprint("own", j))
				return ok && string(v.(Value).Body) == text
			})
		}
		eventually(t, "the last shared value", func() bool {
			v, ok := seen.Load("shared")
			return ok && v.(Value).Revision == revision && bytes.Equal(v.(Value).Body, body)
		})
		t.Logf("member %d agrees", i)
	}
	t.Logf("%d rounds, %d shared writes", written.Load(), shared.Load())
}

func FuzzRecord(f *testing.F) {
	f.Add(valueRecord{replaced: 300, body: []byte("v")}.encode())
	f.Add(valueRecord{deleted: true, replaced: 1}.encode())
	f.Add(valueRecord{deleted: true, replaced: 1, note: []byte("n")}.encode())
	f.Add([]byte{1, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := readRecord(b)
		if err != nil {
			if !errors.Is(err, ErrSealed) {
				t.Errorf("error %v, want %v", err, ErrSealed)
			}
			return
		}
		again, err := readRecord(r.encode())
		if err != nil || again.replaced != r.replaced || again.deleted != r.deleted ||
			!bytes.Equal(again.body, r.body) || !bytes.Equal(again.note, r.note) ||
			r.deleted && r.body != nil || !r.deleted && r.note != nil {
			t.Errorf("%+v becomes %+v, %v", r, again, err)
		}
	})
}

// TestMarksAreDropped deletes values with a note, and drops the marks that nobody needs: members that
// follow the shelf, and new ones, go on without them.
func TestMarksAreDropped(t *testing.T) {
	s := one(t)
	c := s.join(t, "a")
	v, ctx := c.Values(Tokens), patiently(t)
	got := told(t, v, 0)
	put := func(key string) uint64 {
		t.Helper()
		revision, err := v.Set(ctx, key, []byte("value"), 0)
		must(t, err)
		return revision
	}
	first, second, value := put("first"), put("second"), put("value")
	bury := func(key string, note []byte, revision uint64) uint64 {
		t.Helper()
		mark, err := v.Bury(ctx, key, note, revision)
		must(t, err)
		return mark
	}
	receive(t, got, 3) // before the marks replace them
	mark := bury("first", []byte("note"), first)
	last := bury("second", nil, second)
	if all := receive(t, got, 2); all[0].Key != "first" || all[0].Body != nil ||
		string(all[0].Note) != "note" || all[1].Note != nil {
		t.Errorf("told is %+v", all)
	}
	g, err := v.Look(ctx, "first")
	if err != nil || g.Body != nil || string(g.Note) != "note" || g.Revision != mark {
		t.Errorf("Look = %+v, %v", g, err)
	}
	for name, try := range map[string]struct {
		key      string
		revision uint64
		want     error
	}{"a value": {"value", value, ErrConflict}, "an earlier mark": {"first", first, ErrConflict},
		"the newest change": {"second", last, ErrNewest}, "no key": {"nothing", 7, nil}} {
		if err := v.Drop(ctx, try.key, try.revision); !errors.Is(err, try.want) {
			t.Errorf("Drop of %s = %v, want %v", name, err, try.want)
		}
	}
	for range 2 { // the second member that drops it
		must(t, v.Drop(ctx, "first", mark))
	}
	if g, err := v.Look(ctx, "first"); err != nil || g.Revision != 0 {
		t.Errorf("after Drop: %+v, %v", g, err)
	}
	other, read := s.join(t, "b").Values(Tokens), make(chan struct{})
	following(t, func(ctx context.Context) error {
		return other.Follow(ctx, 0, func() { close(read) }, func(v Value) error {
			if v.Key == "first" && v.Body == nil {
				t.Error("a mark that was dropped is told")
			}
			return nil
		})
	})
	select {
	case <-read:
	case <-ctx.Done():
		t.Fatal("a new member does not find the end of the shelf")
	}
	put("first") // also over the mark that this member knew
	if g := receive(t, got, 1)[0]; g.Key != "first" || string(g.Body) != "value" {
		t.Errorf("a value in the place of the mark is told as %+v", g)
	}
	must(t, v.Drop(ctx, "second", last))
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.known["second"]; known || len(v.known) != 2 {
		t.Errorf("known are %v", v.known)
	}
	for revisions := range v.follows {
		if len(*revisions) != 2 {
			t.Errorf("followed are %v", *revisions)
		}
	}
}

// Members agree on the mark of a stream, and replace one that a stranger has written.
func TestIdentifyGivesAllMembersOneMark(t *testing.T) {
	s := one(t)
	a, b := s.join(t, "a").Values(Data), s.join(t, "b").Values(Data)
	ctx := patiently(t)
	var marks [2]string
	var errs [2]error
	var both sync.WaitGroup
	for i, v := range []*Values{a, b} {
		both.Go(func() { marks[i], errs[i] = v.Identify(ctx, ".stream") })
	}
	both.Wait()
	if marks[0] == "" || marks[0] != marks[1] || errors.Join(errs[:]...) != nil {
		t.Fatalf("the marks are %q, %v", marks, errs)
	}
	forge(t, a, ".stream", []byte("foreign"))
	after, err := b.Identify(ctx, ".stream")
	if err != nil || after == "" || after == marks[0] {
		t.Errorf("after a forgery the mark is %q, %v; it was %q", after, err, marks[0])
	}
	ended, end := context.WithCancel(ctx)
	end()
	if mark, err := a.Identify(ended, "other"); mark != "" || err == nil {
		t.Errorf("Identify after the end = %q, %v", mark, err)
	}
}

// forge stores bytes as the value of a key, as somebody without the cluster key can.
func forge(t testing.TB, v *Values, key string, body []byte) uint64 {
	t.Helper()
	ack, err := v.c.js.Publish(patiently(t), v.b.subject(encode(key)), body)
	must(t, err)
	return ack.Sequence
}
