package jobstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// told returns the states of a job's minions.
func told(t *testing.T, r returners.ProgressReader, id job.ID) map[string]returners.State {
	t.Helper()
	list, err := r.Progress(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]returners.State{}
	for _, p := range list {
		states[p.Minion] = p.State
	}
	return states
}

// makeOld creates a file of version 1 with a job and a return.
func makeOld(t *testing.T, file string) *returners.Job {
	t.Helper()
	s := openStore(t, file, &record{})
	j := returnertest.Job(t, 1, "test.ping", "web1", "web2")
	s.saves(t, j)
	s.savesReturn(t, j.ID, returnertest.Return(t, j.ID, "web1", true, 1))
	_, err := s.file.conn.ExecContext(t.Context(),
		"BEGIN IMMEDIATE; DROP TABLE progress; DROP TABLE absent; UPDATE about SET version = 1, tables = "+
			described+", roots = "+roots+"; PRAGMA user_version = 1; COMMIT")
	if err = errors.Join(err, s.closeFile(), s.Close()); err != nil {
		t.Fatal(err)
	}
	return j
}

// TestOldFileIsMigrated opens a file of version 1: it gets the new tables and loses nothing.
func TestOldFileIsMigrated(t *testing.T) {
	file, log := filepath.Join(t.TempDir(), "jobs.db"), &record{}
	j := makeOld(t, file)
	for range 2 {
		s := openStore(t, file, log)
		if got := s.minions(t, j.ID); got != "web1" {
			t.Errorf("returns of %q, want web1", got)
		}
		s.Track(j.ID, returners.Progress{Minion: "web2", State: returners.Running, Since: time.Now()})
		if got := told(t, s, j.ID); got["web1"] != returners.Returned || got["web2"] != returners.Running {
			t.Errorf("progress %v", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	log.want(t, 0)
}

// TestFileOfVersion2IsMigrated opens a file whose returns are stored as they are, and adds one that becomes
// shorter.
func TestFileOfVersion2IsMigrated(t *testing.T) {
	file, log := filepath.Join(t.TempDir(), "jobs.db"), &record{}
	s := openStore(t, file, log)
	j := returnertest.Job(t, 1, "test.ping", "web1", "web2")
	s.saves(t, j)
	first := returnertest.Return(t, j.ID, "web1", strings.Repeat("text", 5000), 1)
	s.savesReturn(t, j.ID, first)
	_, err := s.file.conn.ExecContext(t.Context(), "UPDATE returns SET load = ?", []byte(first.Load))
	if err == nil {
		_, err = s.file.conn.ExecContext(t.Context(), "UPDATE about SET version = 2; PRAGMA user_version = 2")
	}
	if err = errors.Join(err, s.closeFile(), s.Close()); err != nil {
		t.Fatal(err)
	}
	second := returnertest.Return(t, j.ID, "web2", strings.Repeat("more", 5000), 2)
	for n := range 2 {
		s := openStore(t, file, log)
		if n == 0 {
			s.savesReturn(t, j.ID, second)
		}
		list, err := s.Returns(t.Context(), j.ID)
		if err != nil || len(list) != 2 || !bytes.Equal(list[0].Load, first.Load) ||
			!bytes.Equal(list[1].Load, second.Load) {
			t.Errorf("%d returns, %v", len(list), err)
		}
		sizes := [2]int64{}
		for i := range sizes {
			sizes[i], err = readNumber(t.Context(), s.file.read, "SELECT length(load) FROM returns WHERE n = ?", i+1)
			if err != nil {
				t.Fatal(err)
			}
		}
		if sizes[0] != int64(len(first.Load)) || sizes[1] > int64(len(second.Load)/4) {
			t.Errorf("they have %d bytes on disk", sizes)
		}
		if v, err := readNumber(t.Context(), s.file.read, "PRAGMA user_version"); err != nil || v != version {
			t.Errorf("version %d, %v", v, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	log.want(t, 0)
}

// TestOldFileIsRead reads a file of version 1 beside its master, without changing it.
func TestOldFileIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.db")
	j := makeOld(t, file)
	r, err := OpenReadOnly(t.Context(), file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := told(t, r, j.ID); got["web1"] != returners.Returned || got["web2"] != returners.Sent {
		t.Errorf("progress %v", got)
	}
	if v, err := readNumber(t.Context(), r.file.read, "PRAGMA user_version"); err != nil || v != 1 {
		t.Errorf("version %d, %v", v, err)
	}
}

// TestOtherProcessSeesProgress reads with a Reader the states that a Store recorded, after the half
// second of collecting.
func TestOtherProcessSeesProgress(t *testing.T) {
	s, file, log := newStore(t)
	j := returnertest.Job(t, 1, "test.ping", "web1", "web2")
	j.Absent = []string{"web2"}
	s.saves(t, j)
	r, err := OpenReadOnly(t.Context(), file, log.options(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := told(t, r, j.ID); got["web1"] != returners.Sent || got["web2"] != returners.Absent {
		t.Errorf("progress %v", got)
	}
	s.Track(j.ID, returners.Progress{Minion: "web1", State: returners.Acknowledged, Since: time.Now()})
	if got := told(t, s, j.ID); got["web1"] != returners.Acknowledged {
		t.Errorf("its own progress %v", got)
	}
	for end := time.Now().Add(20 * time.Second); told(t, r,
		j.ID)["web1"] != returners.Acknowledged; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("another process never sees it")
		}
	}
}

// TestReturnedMinionsAreNotWritten records that minions have acknowledged a job, and saves their
// returns at once: the acknowledgements are not written.
func TestReturnedMinionsAreNotWritten(t *testing.T) {
	s, _, _ := newStore(t)
	j := returnertest.Job(t, 1, "test.ping")
	s.saves(t, j)
	s.tracks.mu.Lock() // nothing is written while the test notes and returns
	s.tracks.timer = time.NewTimer(time.Hour)
	s.tracks.mu.Unlock()
	for n := range 100 {
		minion := fmt.Sprint("web", n)
		s.Track(j.ID, returners.Progress{Minion: minion, State: returners.Acknowledged, Since: time.Now()})
		s.savesReturn(t, j.ID, returnertest.Return(t, j.ID, minion, true, 1))
	}
	s.Track(j.ID, returners.Progress{Minion: "db1", State: returners.Acknowledged, Since: time.Now()})
	s.tracks.flush()
	if n, err := readNumber(t.Context(), s.file.read, "SELECT count(*) FROM progress"); err != nil || n != 1 {
		t.Errorf("%d states were written, %v, want that of db1 alone", n, err)
	}
}

// TestPendingStatesAreLimited records more states than may be pending.
func TestPendingStatesAreLimited(t *testing.T) {
	tr := newTracks(func(map[jobMinion]returners.Progress) error { return nil })
	for n := range maxTracks + 100 {
		tr.note("20260301120001123456",
			[]returners.Progress{{Minion: fmt.Sprint(n), State: returners.Acknowledged}})
	}
	if len(tr.waiting) > maxTracks {
		t.Errorf("%d states wait", len(tr.waiting))
	}
	tr.close()
}

// TestStatesSurviveAFailure makes writing fail once.
func TestStatesSurviveAFailure(t *testing.T) {
	var written map[jobMinion]returners.Progress
	fault := errors.New("disk full")
	tr := newTracks(func(states map[jobMinion]returners.Progress) error { written = states; return fault })
	at := jobMinion{"20260301120001123456", "web1"}
	tr.note(at.id, []returners.Progress{{Minion: at.minion, State: returners.Acknowledged}})
	tr.flush()
	if got := tr.of(at.id); len(got) != 1 {
		t.Fatalf("after a failure %v is known", got)
	}
	fault = nil
	tr.close()
	if written[at].State != returners.Acknowledged || len(tr.of(at.id)) != 0 {
		t.Errorf("written %v", written)
	}
}

// TestRunningJobIsKept cleans while a minion runs an old job: its return finds the job. A much
// older job is deleted anyway.
func TestRunningJobIsKept(t *testing.T) {
	s, _, _ := newStore(t)
	activeJob, done, ancient := returnertest.Job(t, 10000, "a", "web1"), returnertest.Job(t, 10001,
		"b", "web1"), returnertest.Job(t, 0, "c", "web1")
	s.saves(t, activeJob, done, ancient)
	for _, j := range []*returners.Job{activeJob, done, ancient} {
		s.Track(j.ID, returners.Progress{Minion: "web1", State: returners.Running, Since: j.Started})
	}
	s.tracks.flush()
	s.savesReturn(t, done.ID, returnertest.Return(t, done.ID, "web1", true, 1))
	s.o.Now = func() time.Time { return done.Started.Add(time.Minute) }
	if n, err := s.Clean(t.Context(), done.Started.Add(time.Second)); err != nil || n != 2 {
		t.Fatalf("Clean = %d, %v, want the two that nobody works on, or not any more", n, err)
	}
	s.savesReturn(t, activeJob.ID, returnertest.Return(t, activeJob.ID, "web1", true, 1))
	if n, err := s.Clean(t.Context(), done.Started.Add(time.Second)); err != nil || n != 1 {
		t.Errorf("Clean = %d, %v, want the one that has returned", n, err)
	}
}

// TestDamagedStatesAreLeftOut damages stored states: readers get the state before, and the log
// reports it.
func TestDamagedStatesAreLeftOut(t *testing.T) {
	s, _, log := newStore(t)
	j := returnertest.Job(t, 1, "test.ping", "web1", "web2")
	j.Absent = []string{"web2"}
	s.saves(t, j)
	s.Track(j.ID, returners.Progress{Minion: "web1", State: returners.Running, Since: j.Started})
	s.tracks.flush()
	damage := func(text string) {
		t.Helper()
		if err := s.queue.do(t.Context(), &change{do: func(f *file) error {
			_, err := f.conn.ExecContext(context.Background(), text)
			return err
		}}); err != nil {
			t.Fatal(err)
		}
	}
	damage("UPDATE progress SET state = 6")
	damage("UPDATE absent SET minions = x'9141'")
	if got := told(t, s, j.ID); got["web1"] != returners.Sent || got["web2"] != returners.Sent {
		t.Errorf("progress %v", got)
	}
	log.want(t, 2, "left out")
}

// BenchmarkTrackedReturn is BenchmarkSaveReturn of minions that have acknowledged the job before.
func BenchmarkTrackedReturn(b *testing.B) {
	s, _, _ := newStore(b)
	j := returnertest.Job(b, 1, "test.echo", make([]string, 300)...)
	s.saves(b, j)
	r := returnertest.Return(b, j.ID, "", make([]byte, 200), 1)
	b.ReportAllocs()
	each(b, 256, func(n int) error {
		own := *r
		own.Minion = fmt.Sprint("minion", n)
		s.Track(j.ID, returners.Progress{Minion: own.Minion, State: returners.Acknowledged,
			Since: r.Received})
		_, err := s.SaveReturn(b.Context(), j.ID, &own)
		return err
	})
}

// BenchmarkState looks at the state of one minion of a job that has returned, of one that has not, and at those
// of all for comparison.
func BenchmarkState(b *testing.B) {
	for _, n := range []int{100, 1000} {
		s, _, _ := newStore(b)
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprint("minion", i)
		}
		j := returnertest.Job(b, 1, "test.echo", ids...)
		s.saves(b, j)
		for _, id := range ids[1:] {
			if _, err := s.SaveReturn(b.Context(), j.ID, returnertest.Return(b, j.ID, id, true, 1)); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("minions=%d/one", n), func(b *testing.B) {
			for b.Loop() {
				if state, err := s.State(b.Context(), j.ID, ids[n/2]); state != returners.Returned || err != nil {
					b.Fatal(state, err)
				}
			}
		})
		b.Run(fmt.Sprintf("minions=%d/sent", n), func(b *testing.B) {
			for b.Loop() {
				if state, err := s.State(b.Context(), j.ID, ids[0]); state != returners.Sent || err != nil {
					b.Fatal(state, err)
				}
			}
		})
		b.Run(fmt.Sprintf("minions=%d/all", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Progress(b.Context(), j.ID); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
