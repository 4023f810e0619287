package returnertest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
)

// progressOf returns the progress of a job in one line: minions with their states.
func (s *subject) progressOf(id job.ID) string {
	s.t.Helper()
	list, err := returners.ProgressOf(s.t.Context(), s.JobCache, id)
	if err != nil {
		s.t.Fatalf("ProgressOf(%s) = %v", id, err)
	}
	var b strings.Builder
	for _, p := range list {
		if p.Since.IsZero() {
			s.t.Errorf("ProgressOf(%s) does not say since when %s is %s", id, p.Minion, p.State)
		}
		fmt.Fprintf(&b, " %s=%s", p.Minion, p.State)
		if p.Why != "" {
			fmt.Fprintf(&b, "(%s)", p.Why)
		}
	}
	if tracker, ok := s.JobCache.(returners.Tracker); ok {
		for _, p := range append(list, returners.Progress{Minion: "nobody"}) {
			if state, err := tracker.State(s.t.Context(), id, p.Minion); state != p.State || err != nil {
				s.t.Errorf("State(%s, %s) = %q, %v, want %q", id, p.Minion, state, err, p.State)
			}
		}
	}
	return strings.TrimSpace(b.String())
}

func (s *subject) wantProgress(id job.ID, want string) {
	s.t.Helper()
	if got := s.progressOf(id); got != want {
		s.t.Errorf("progress of job %s: %s, want %s", id, got, want)
	}
}

func testProgress(t *testing.T, s *subject) {
	j := Job(t, 1, "test.ping", "c", "a", "b")
	s.save(j)
	s.wantProgress(j.ID, "c=sent a=sent b=sent")
	s.ret(j.ID, Return(t, j.ID, "a", true, 1), true)
	s.ret(j.ID, Return(t, j.ID, "other", true, 2), true)
	for range 2 {
		s.wantProgress(j.ID, "c=sent a=returned b=sent other=returned")
		s.reopen()
	}
	if list, err := returners.ProgressOf(t.Context(), s.JobCache,
		Job(t, 2, "test.ping").ID); !errors.Is(err, returners.ErrUnknownJob) {
		t.Errorf("ProgressOf of an unknown job = %v, %v, want ErrUnknownJob", list, err)
	}
}

// track records one state.
func (s *subject) track(id job.ID, minion string, state returners.State, why string) {
	s.t.Helper()
	s.JobCache.(returners.Tracker).Track(id,
		returners.Progress{Minion: minion, State: state, Since: begin.Add(time.Minute), Why: why})
}

func (s *subject) needTracker() {
	s.t.Helper()
	if _, ok := s.JobCache.(returners.Tracker); !ok {
		s.t.Skip("this cache keeps no states: it is no Tracker")
	}
}

func testTracker(t *testing.T, s *subject) {
	s.needTracker()
	j := Job(t, 1, "test.ping", "a", "b", "c", "d", "e", "f", "h", "i")
	j.Absent = []string{"c", "d"}
	s.save(j)
	s.wantProgress(j.ID, "a=sent b=sent c=not connected d=not connected e=sent f=sent h=sent i=sent")
	s.track(j.ID, "a", returners.Acknowledged, "")
	s.track(j.ID, "b", returners.Running, "")
	s.track(j.ID, "b", returners.Acknowledged, "") // late
	s.track(j.ID, "c", returners.Queued, "")
	s.track(j.ID, "e", returners.Refused, "its signature is wrong")
	s.track(j.ID, "f", returners.Gone, "it says so")
	s.track(j.ID, "h", returners.Missed, "it was away")
	s.track(j.ID, "h", returners.Sent, "") // late
	s.track(j.ID, "i", returners.Missed, "it was away")
	s.track(j.ID, "a", returners.Missed, "it has it")
	s.track(Job(t, 2, "x").ID, "a", returners.Running, "") // an unknown job
	want := "a=acknowledged b=running c=queued d=not connected e=refused(its signature is wrong) f=gone(it says so) h=missed(it was away) i=missed(it was away)"
	for range 2 {
		s.wantProgress(j.ID, want)
		s.reopen()
	}
	s.track(j.ID, "a", returners.Running, "")
	s.track(j.ID, "b", returners.Sent, "") // late
	s.track(j.ID, "c", returners.Sent, "")
	s.track(j.ID, "e", returners.Running, "")
	s.track(j.ID, "f", returners.Acknowledged, "") // it came back
	s.track(j.ID, "g", returners.Acknowledged, "") // not expected
	s.track(j.ID, "h", returners.Running, "")      // it had the job after all
	s.track(j.ID, "f", returners.Missed, "late")
	want = "a=running b=running c=sent d=not connected e=refused(its signature is wrong) f=acknowledged h=running i=missed(it was away) g=acknowledged"
	for range 2 {
		s.wantProgress(j.ID, want)
		s.reopen()
	}
	for _, minion := range []string{"a", "d", "e", "i"} {
		s.ret(j.ID, Return(t, j.ID, minion, true, 1), true)
	}
	s.track(j.ID, "a", returners.Gone, "late")
	want = "a=returned b=running c=sent d=returned e=returned f=acknowledged h=running i=returned g=acknowledged"
	for range 2 {
		s.wantProgress(j.ID, want)
		s.reopen()
	}
}

func testTrackerClean(t *testing.T, s *subject) {
	s.needTracker()
	old, young := Job(t, 1, "test.ping", "a", "b"), Job(t, 5000, "test.ping", "a", "b")
	old.Absent, young.Absent = []string{"b"}, []string{"b"}
	s.save(old, young)
	s.track(old.ID, "a", returners.Gone, "")
	s.track(young.ID, "a", returners.Gone, "")
	s.reopen()
	s.clean(begin.Add(1000*time.Second), 1)
	s.save(old) // it inherits none of the earlier states
	s.wantProgress(young.ID, "a=gone b=not connected")
	s.wantProgress(old.ID, "a=sent b=not connected")
}
