package replica

import (
	"context"
	"fmt"
	"testing"

	"github.com/brineproject/brine/cluster"
)

// stage is a shelf whose order of events a test decides.
type stage struct {
	follows chan func(cluster.Value) error // the handler of each Follow
	synced  chan func()
	writes  chan write
	now     cluster.Value // what Get returns for its key
}

// A write waits for its revision.
type write struct {
	body     string
	deleted  bool
	revision chan uint64
}

func newStage() *stage {
	return &stage{follows: make(chan func(cluster.Value) error, 1), synced: make(chan func(), 1),
		writes: make(chan write)}
}

func (s *stage) Identify(context.Context, string) (string, error) { return "mark", nil }

func (s *stage) Unread() bool { return false }

func (s *stage) Get(_ context.Context, key string) ([]byte, uint64, error) {
	if key != s.now.Key {
		return nil, 0, nil
	}
	return s.now.Body, s.now.Revision, nil
}

func (s *stage) Set(ctx context.Context, key string, body []byte, _ uint64) (uint64, error) {
	return s.Put(ctx, key, body)
}

func (s *stage) Put(ctx context.Context, _ string, body []byte) (uint64, error) {
	w := write{string(body), body == nil, make(chan uint64)}
	select {
	case s.writes <- w:
	case <-ctx.Done():
		return 0, cluster.ErrUnavailable
	}
	select {
	case revision := <-w.revision:
		return revision, nil
	case <-ctx.Done():
		return 0, cluster.ErrUnavailable
	}
}

func (s *stage) Follow(ctx context.Context, _ uint64, synced func(), handle func(cluster.Value) error) error {
	s.follows <- handle
	s.synced <- synced
	<-ctx.Done()
	return nil
}

// begin starts a member on a stage and returns how to tell it a change of its one name.
func begin(t *testing.T, o Options) (*member, *stage, func(body string, revision uint64)) {
	t.Helper()
	s := newStage()
	m := newMember(t, s, o).start()
	handle := <-s.follows
	(<-s.synced)()
	m.sent()
	return m, s, func(body string, revision uint64) {
		t.Helper()
		must(t, handle(cluster.Value{Key: "minions/m/data", Body: []byte(body), Revision: revision}))
	}
}

func (m *member) want(t *testing.T, when, value string) {
	t.Helper()
	if got, err := m.Fetch("minions/m", "data"); string(got) != value || err != nil {
		t.Errorf("%s the copy has %q, %v, want %q", when, got, err, value)
	}
}

func TestWhatWaitsIsNotReplaced(t *testing.T) {
	m, s, tell := begin(t, Options{})
	tell("theirs", 5)
	must(t, m.Store("minions/m", "data", []byte("mine 1")))
	first := <-s.writes
	must(t, m.Store("minions/m", "data", []byte("mine 2"))) // waits for the first one
	tell("theirs again", 6)
	m.want(t, "while a change waits", "mine 2")
	first.revision <- 7
	second := <-s.writes
	if first.body != "mine 1" || second.body != "mine 2" {
		t.Errorf("written are %q and %q", first.body, second.body)
	}
	tell("mine 1", 7)
	m.want(t, "after an own change that was overtaken", "mine 2")
	second.revision <- 8
	m.sent()
	tell("mine 2", 8)
	m.want(t, "at the end", "mine 2")
	tell("theirs at last", 9)
	m.want(t, "after a change by others", "theirs at last")
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.changed["minions/m/data"]; n != 2 {
		t.Errorf("%d changes by others are told, want 2", n)
	}
}

// TestWhatWaitsForASenderIsNotReplaced keeps all senders busy.
func TestWhatWaitsForASenderIsNotReplaced(t *testing.T) {
	m, s, tell := begin(t, Options{})
	for i := range senders {
		must(t, m.Store("minions/other", fmt.Sprint(i), []byte("v")))
	}
	eventually(t, "senders at work", func() bool {
		m.Bank.mu.Lock()
		defer m.Bank.mu.Unlock()
		return len(m.flights) == senders
	})
	must(t, m.Store("minions/m", "data", []byte("mine")))
	tell("theirs", 5)
	m.want(t, "while a change waits", "mine")
	for i := range uint64(senders + 1) {
		w := <-s.writes
		w.revision <- 6 + i
	}
	m.sent()
	m.want(t, "at the end", "mine")
}

func TestALaterChangeWinsOverOneUnderWay(t *testing.T) {
	m, s, tell := begin(t, Options{})
	must(t, m.Store("minions/m", "data", []byte("mine")))
	w := <-s.writes
	tell("mine", 5)
	tell("theirs", 6)
	m.want(t, "while the change is under way", "mine")
	w.revision <- 5
	m.sent()
	m.want(t, "after it", "theirs")
	// an earlier change that is told late does not win
	must(t, m.Store("minions/m", "data", []byte("mine again")))
	w = <-s.writes
	w.revision <- 9
	m.sent()
	tell("theirs, before", 8)
	m.want(t, "after an earlier change", "mine again")
	tell("mine again", 9)
	tell("theirs, after", 10)
	m.want(t, "after a later change", "theirs, after")
}

func TestADurableChangeYieldsToALaterOne(t *testing.T) {
	m, s, _ := begin(t, Options{})
	done := make(chan error)
	go func() { done <- m.Store("batches", "1", []byte("mine")) }()
	w := <-s.writes
	e := entry{"batches/1", "batches", "1"}
	if m.receive(e, cluster.Value{Key: e.name, Body: []byte("theirs"), Revision: 6}) || !m.lacks("batches", "1") {
		t.Error("the copy changes while a change is under way")
	}
	w.revision <- 5
	must(t, <-done)
	if !m.has("batches", "1", "theirs") {
		t.Error("the earlier change wins")
	}
	go func() { done <- m.Flush("batches", "1") }()
	w = <-s.writes
	if !w.deleted || !m.has("batches", "1", "theirs") {
		t.Error("the copy is deleted before a quorum has the deletion")
	}
	w.revision <- 7
	must(t, <-done)
	if !m.lacks("batches", "1") {
		t.Error("the deletion does not reach the copy")
	}
}

// crowd keeps all senders busy and lets one more name wait, which is as many as may.
func crowd(t *testing.T, m *member) {
	t.Helper()
	for i := range senders {
		must(t, m.Store("minions/other", fmt.Sprint(i), []byte("v")))
		eventually(t, "a sender at work", func() bool {
			m.Bank.mu.Lock()
			defer m.Bank.mu.Unlock()
			return len(m.flights) == i+1
		})
	}
	must(t, m.Store("minions/other", "waits", []byte("v")))
}

// compare ends a crowd, and tells the comparison that follows what the shelf has.
func compare(t *testing.T, s *stage, shelf cluster.Value) {
	t.Helper()
	for range senders + 1 {
		w := <-s.writes
		w.revision <- 4
	}
	compared := <-s.follows
	for i := range senders {
		must(t, compared(cluster.Value{Key: fmt.Sprint("minions/other/", i), Body: []byte("v"), Revision: 4}))
	}
	must(t, compared(cluster.Value{Key: "minions/other/waits", Body: []byte("v"), Revision: 4}))
	must(t, compared(shelf))
	(<-s.synced)()
}

// TestAComparisonDoesNotUndoChangesByOthers lets the shelf tell an old value when the copy is compared, and a
// newer one when the difference is looked at.
func TestAComparisonDoesNotUndoChangesByOthers(t *testing.T) {
	m, s, tell := begin(t, Options{MaxWaiting: 1})
	tell("theirs 1", 5)
	crowd(t, m)
	must(t, m.Store("minions/other", "too many", []byte("v")))
	tell("theirs 2", 6)
	s.now = cluster.Value{Key: "minions/m/data", Body: []byte("theirs 3"), Revision: 7}
	compare(t, s, cluster.Value{Key: "minions/m/data", Body: []byte("theirs 1"), Revision: 5})
	for body := ""; body != "v"; {
		w := <-s.writes
		w.revision <- 8
		if body = w.body; body != "v" {
			t.Errorf("%q is written over a later value", body)
		}
	}
	m.sent()
	m.want(t, "after the comparison", "theirs 3")
	tell("theirs 3", 7)
	m.want(t, "at the end", "theirs 3")
}

// TestAComparisonSendsWhatWasNotCounted has an own change on the shelf that the member has not been told of.
func TestAComparisonSendsWhatWasNotCounted(t *testing.T) {
	m, s, tell := begin(t, Options{MaxWaiting: 1})
	tell("theirs", 5)
	must(t, m.Store("minions/m", "data", []byte("mine 1")))
	w := <-s.writes
	w.revision <- 7
	m.sent()
	crowd(t, m)
	must(t, m.Store("minions/m", "data", []byte("mine 2")))
	s.now = cluster.Value{Key: "minions/m/data", Body: []byte("mine 1"), Revision: 7}
	compare(t, s, s.now)
	w = <-s.writes
	w.revision <- 8
	if w.body != "mine 2" {
		t.Errorf("written is %q", w.body)
	}
	m.sent()
	tell("mine 1", 7)
	tell("mine 2", 8)
	m.want(t, "at the end", "mine 2")
}
