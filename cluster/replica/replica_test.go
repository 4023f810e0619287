package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/cachetest"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/internal/test/need"
)

func TestContract(t *testing.T) {
	s := newSite(t, 1)
	n := 0
	all := []string{"minions", "a", "b"}
	modes := map[string]Options{"lazy": {Lazy: all}, "durable": {Durable: all}, "private": {Lazy: []string{"none"}}}
	for name, o := range modes {
		t.Run(name, func(t *testing.T) {
			cachetest.Run(t, func(t *testing.T) cache.Bank {
				n++
				s.name = fmt.Sprint("test", n)
				m := newMember(t, s.join(t, "a").Values(cluster.Data), o).start()
				m.sent()
				return m
			})
		})
	}
}

func TestChangesReachAllMembers(t *testing.T) {
	s := newSite(t, 1)
	a := newMember(t, s.join(t, "a").Values(cluster.Data), Options{}).start()
	b := newMember(t, s.join(t, "b").Values(cluster.Data), Options{}).start()
	a.sent()
	b.sent()
	must(t, a.Store("minions/web1", "data", []byte("grains")))
	must(t, a.Store("minions/web1", "mine", nil))
	must(t, a.Store("batches", "1", []byte("batch")))
	must(t, a.Store("other", "1", []byte("of a alone")))
	eventually(t, "the values", func() bool {
		return b.has("minions/web1", "data", "grains") && b.has("minions/web1", "mine", "") && b.has("batches", "1", "batch")
	})
	must(t, b.Flush("minions/web1", "data"))
	must(t, b.Flush("batches", "1"))
	eventually(t, "the deletions", func() bool { return a.lacks("minions/web1", "data") && a.lacks("batches", "1") })
	if !a.has("other", "1", "of a alone") || !b.lacks("other", "1") {
		t.Error("a value of a bank that is not shared was shared or lost")
	}
	must(t, a.Flush("minions/web1", "mine"))
	for _, m := range []*member{a, b} {
		eventually(t, "an empty bank", func() bool { l, err := m.List("minions"); return err == nil && len(l) == 0 })
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(a.changed) != 2 || len(b.changed) != 3 {
		t.Errorf("told as changes by others are %v at a and %v at b", a.changed, b.changed)
	}
}

func TestAnUnchangedValueIsNotSent(t *testing.T) {
	s := newSite(t, 1)
	a := newMember(t, s.join(t, "a").Values(cluster.Data), Options{}).start()
	b := newMember(t, s.join(t, "b").Values(cluster.Data), Options{}).start()
	a.sent()
	b.sent()
	want := 0
	for round := range 3 {
		value := fmt.Appendf(nil, "grains %d", round/2) // changes in the last round
		for range 20 {
			must(t, a.Store("minions/web1", "data", value))
		}
		a.sent()
		eventually(t, "the value", func() bool { return b.has("minions/web1", "data", string(value)) })
		must(t, b.Store("minions/web1", "data", value)) // as when the minion asks another master
		b.sent()
		want = 1 + round/2
		if n := int(a.shelf.writes.Load() + b.shelf.writes.Load()); n != want {
			t.Errorf("after round %d there were %d writes, want %d", round, n, want)
		}
	}
	// a restart knows it, too, and a member that did not run looks at the shelf
	a.end()
	must(t, a.Store("minions/web1", "data", []byte("grains 1")))
	a.reopen()
	a.start().sent()
	must(t, a.Store("minions/web1", "data", []byte("grains 1")))
	must(t, a.Flush("minions/web2", ""))
	a.sent()
	if n := int(a.shelf.writes.Load()); n != want {
		t.Errorf("after a restart there were %d writes, want %d", n, want)
	}
}

func TestAMemberContinuesAtItsPosition(t *testing.T) {
	s := newSite(t, 1)
	a := newMember(t, s.join(t, "a").Values(cluster.Data), Options{}).start()
	b := newMember(t, s.join(t, "b").Values(cluster.Data), Options{}).start()
	for i := range 50 {
		must(t, a.Store(fmt.Sprint("minions/m", i), "data", []byte("v")))
	}
	agree(t, a, b)
	b.end()
	must(t, a.Store("minions/m1", "data", []byte("new")))
	must(t, a.Flush("minions/m2", ""))
	a.sent()
	must(t, b.Store("minions/m3", "data", []byte("of b, while it was away")))
	b.reopen()
	told := b.shelf.told.Load()
	b.start()
	all := agree(t, a, b)
	if len(all) != 49 || all["minions/m1/data"] != "new" || all["minions/m3/data"] != "of b, while it was away" {
		t.Errorf("the members have %d values, %q, %q", len(all), all["minions/m1/data"], all["minions/m3/data"])
	}
	if n := b.shelf.told.Load() - told; n > 3 {
		t.Errorf("the restarted member was told %d values, want those that it lacked", n)
	}
	// after a crash, the file of the position is gone; what waited is not
	b.end()
	must(t, os.Remove(filepath.Join(b.dir, "position")))
	must(t, b.Store("minions/m4", "data", []byte("of b, before a crash")))
	must(t, a.Store("minions/m4", "data", []byte("of a")))
	a.sent()
	b.reopen()
	b.start()
	if all = agree(t, a, b); all["minions/m4/data"] != "of b, before a crash" {
		t.Errorf("after a crash the members have %q", all["minions/m4/data"])
	}
	// a wiped member
	b.end()
	must(t, b.files.Flush("minions", ""))
	must(t, os.Remove(filepath.Join(b.dir, "position")))
	b.reopen()
	b.start()
	if again := agree(t, a, b); len(again) != len(all) {
		t.Errorf("after the wipe of a member there are %d values, want %d", len(again), len(all))
	}
}

func TestANewMemberAddsWhatOnlyItHas(t *testing.T) {
	s := newSite(t, 1)
	a := newMember(t, s.join(t, "a").Values(cluster.Data), Options{}).start()
	must(t, a.Store("minions/m1", "data", []byte("of a")))
	must(t, a.Store("minions/m2", "data", []byte("of a")))
	must(t, a.Flush("minions/m2", ""))
	must(t, a.Store("batches", "1", []byte("of a")))
	a.sent()
	b := newMember(t, s.join(t, "b").Values(cluster.Data), Options{})
	for _, id := range []string{"m1", "m2", "m3"} {
		must(t, b.files.Store("minions/"+id, "data", []byte("of b")))
	}
	must(t, b.files.Store("batches", "1", []byte("of b")))
	must(t, b.files.Store("batches", "2", []byte("of b")))
	b.start()
	all := agree(t, a, b)
	// m2 never came to the shelf if it was dropped before it was sent
	delete(all, "minions/m2/data")
	for name, want := range map[string]string{"minions/m1/data": "of a", "minions/m3/data": "of b", "batches/1": "of a",
		"batches/2": "of b"} {
		if all[name] != want {
			t.Errorf("%s is %q, want %q", name, all[name], want)
		}
	}
}

func TestABankIsDroppedEverywhere(t *testing.T) {
	s := newSite(t, 1)
	a := newMember(t, s.join(t, "a").Values(cluster.Data), Options{}).start()
	b := newMember(t, s.join(t, "b").Values(cluster.Data), Options{}).start()
	for i := range 10 {
		must(t, a.Store(fmt.Sprint("minions/m", i), "data", []byte("v")))
		must(t, a.Store(fmt.Sprint("minions/m", i), "mine", []byte("v")))
		must(t, a.Store("batches", fmt.Sprint(i), []byte("v")))
	}
	agree(t, a, b)
	must(t, b.Flush("minions/m3", ""))
	if all := agree(t, a, b); len(all) != 28 {
		t.Errorf("after the first bank there are %d values, want 28", len(all))
	}
	must(t, a.Flush("batches", ""))
	must(t, b.Flush("minions", ""))
	if all := agree(t, a, b); len(all) != 0 {
		t.Errorf("after all banks there are %v", all)
	}
}

func TestALargeValueStays(t *testing.T) {
	s := newSite(t, 1)
	log, hook := test.NewNullLogger()
	a := newMember(t, s.join(t, "a").Values(cluster.Data), Options{Log: log}).start()
	b := newMember(t, s.join(t, "b").Values(cluster.Data), Options{}).start()
	must(t, a.Store("minions/m1", "data", []byte("small")))
	agree(t, a, b)
	for i := range 3 {
		must(t, a.Store("minions/m1", "data", bytes.Repeat([]byte{byte('a' + i)}, 2<<20)))
		a.sent()
	}
	if !a.has("minions/m1", "data", strings.Repeat("c", 2<<20)) || !b.has("minions/m1", "data", "small") {
		t.Error("a large value is not where it was stored, or elsewhere")
	}
	if n := len(hook.AllEntries()); n != 1 {
		t.Errorf("%d lines are logged, want one", n)
	}
	if err := a.Store("batches", "1", make([]byte, 2<<20)); !errors.Is(err, cluster.ErrTooLarge) || !a.lacks("batches", "1") {
		t.Errorf("Store of a large value in a durable bank = %v", err)
	}
	must(t, a.Store("minions/m1", "data", []byte("small again")))
	if all := agree(t, a, b); all["minions/m1/data"] != "small again" {
		t.Errorf("then the members have %.20q", all["minions/m1/data"])
	}
}

func TestForeignNamesLeadNowhere(t *testing.T) {
	s := newSite(t, 1)
	v := s.join(t, "a").Values(cluster.Data)
	log := logrus.New()
	log.SetOutput(t.Output())
	m := newMember(t, v, Options{Log: log}).start()
	m.sent()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, name := range []string{"../../x", "minions/../../x", "minions/..", "/minions/x", "minions//x", "x", "minions/a\x00/x",
		`minions/a\b/x`, "minions/.hidden/x", "minions/", "other/x"} {
		_, err := v.Put(ctx, name, []byte("escaped"))
		must(t, err)
	}
	_, err := v.Put(ctx, "minions/m1/data", []byte("v"))
	must(t, err)
	eventually(t, "the value after them", func() bool { return m.has("minions/m1", "data", "v") })
	var files []string
	must(t, filepath.WalkDir(filepath.Dir(m.dir), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".p") {
			files = append(files, path)
		}
		return err
	}))
	if want := filepath.Join(m.dir, "cache", "minions", "m1", "data.p"); !slices.Equal(files, []string{want}) {
		t.Errorf("there are the files %q, want %q", files, want)
	}
}

func TestNamesThatWaitAreLimited(t *testing.T) {
	s := newSite(t, 1)
	a := newMember(t, s.join(t, "a").Values(cluster.Data), Options{MaxWaiting: 10}).start()
	b := newMember(t, s.join(t, "b").Values(cluster.Data), Options{MaxWaiting: 10}).start()
	for i := range 100 {
		must(t, a.Store(fmt.Sprint("minions/m", i), "data", []byte("v")))
	}
	if all := agree(t, a, b); len(all) != 100 {
		t.Errorf("the members have %d values, want 100", len(all))
	}
	a.end()
	for i := range 100 {
		switch i % 3 {
		case 0:
			must(t, a.Store(fmt.Sprint("minions/m", i), "data", []byte("new")))
		case 1:
			must(t, a.Flush(fmt.Sprint("minions/m", i), ""))
		}
	}
	a.Bank.mu.Lock()
	if len(a.waiting) > 10 || a.journal.lines > 10 {
		t.Errorf("%d names wait, %d are in the file; the limit is 10", len(a.waiting), a.journal.lines)
	}
	a.Bank.mu.Unlock()
	a.reopen()
	a.start()
	all := agree(t, a, b)
	for i := range 100 {
		want := []string{"new", "", "v"}[i%3]
		if got := all[fmt.Sprintf("minions/m%d/data", i)]; got != want {
			t.Errorf("value %d is %q, want %q", i, got, want)
		}
	}
}

// TestANewStreamGetsWhatTheMembersHave removes the stream, as servers do that lose their disks.
func TestANewStreamGetsWhatTheMembersHave(t *testing.T) {
	need.Time(t, "a new stream is believed after seconds")
	t.Parallel()
	s := newSite(t, 1)
	a := newMember(t, s.join(t, "a").Values(cluster.Data), Options{}).start()
	b := newMember(t, s.join(t, "b").Values(cluster.Data), Options{}).start()
	for i := range 50 {
		must(t, a.Store(fmt.Sprint("minions/m", i), "data", []byte("v")))
		must(t, b.Store("batches", fmt.Sprint(i), []byte("v")))
	}
	agree(t, a, b)
	b.end() // it is away, with a position that the new stream will have, too
	js, err := jetstream.New(s.servers.Connect(t))
	must(t, err)
	must(t, js.DeleteStream(t.Context(), "KV_test_data"))
	c := newMember(t, s.join(t, "c").Values(cluster.Data), Options{}).start() // makes the stream
	must(t, c.Store("minions/new", "data", []byte("v")))
	all := agree(t, a, c)
	if len(all) != 101 {
		t.Errorf("the members have %d values, want 101", len(all))
	}
	for i := range 200 {
		must(t, c.Store("minions/new", "data", fmt.Append(nil, i)))
		c.sent()
	}
	b.reopen()
	b.start()
	if all = agree(t, a, b, c); len(all) != 101 || all["minions/new/data"] != "199" {
		t.Errorf("with the member that was away there are %d values, want 101", len(all))
	}
}

// TestDurableBanksNeedAQuorum stops two of three servers.
func TestDurableBanksNeedAQuorum(t *testing.T) {
	need.Time(t, "servers hold elections")
	t.Parallel()
	s := newSite(t, 3)
	a := newMember(t, s.join(t, "a").Values(cluster.Data), Options{}).start()
	b := newMember(t, s.join(t, "b").Values(cluster.Data), Options{}).start()
	must(t, a.Store("batches", "1", []byte("old")))
	agree(t, a, b)
	s.servers.Nodes[0].Stop(t)
	s.servers.Nodes[1].Stop(t)
	if err := a.Store("batches", "1", []byte("new")); err == nil || !a.has("batches", "1", "old") {
		t.Errorf("without a quorum Store = %v", err)
	}
	if err := a.Flush("batches", ""); err == nil || !a.has("batches", "1", "old") {
		t.Errorf("without a quorum Flush = %v", err)
	}
	must(t, a.Store("minions/m1", "data", []byte("v")))
	if !a.has("minions/m1", "data", "v") {
		t.Error("without a quorum a lazy bank does not change")
	}
	s.servers.Nodes[0].Continue(t)
	s.servers.Nodes[1].Continue(t)
	s.servers.Wait(t)
	eventually(t, "a write", func() bool { return a.Store("batches", "2", []byte("v")) == nil })
	if all := agree(t, a, b); all["minions/m1/data"] != "v" || all["batches/2"] != "v" {
		t.Errorf("the members have %v", all)
	}
}

func TestWritersOfOneKeyAgree(t *testing.T) {
	s := newSite(t, 1)
	var members []*member
	for _, id := range []string{"a", "b", "c"} {
		members = append(members, newMember(t, s.join(t, id).Values(cluster.Data), Options{}).start())
	}
	var work sync.WaitGroup
	for i, m := range members {
		work.Go(func() {
			for n := range 50 {
				value := fmt.Appendf(nil, "%d.%d", i, n)
				if err := errors.Join(m.Store("minions/m", "data", value), m.Store("batches", "1", value)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	all := agree(t, members...)
	if len(all) != 2 || !strings.HasSuffix(all["batches/1"], ".49") || !strings.HasSuffix(all["minions/m/data"], ".49") {
		t.Errorf("the members have %v, want the last value of one", all)
	}
}
