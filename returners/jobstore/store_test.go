package jobstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// record is a log that records its lines.
type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) Levels() []logrus.Level { return logrus.AllLevels }

func (r *record) Fire(e *logrus.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprint(e.Message, " ", e.Data))
	return nil
}

func (r *record) want(t *testing.T, n int, words ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lines) != n {
		t.Errorf("the log has %d lines, want %d: %q", len(r.lines), n, r.lines)
	}
	for _, w := range words {
		if !strings.Contains(strings.Join(r.lines, "\n"), w) {
			t.Errorf("the log has no word of %q: %q", w, r.lines)
		}
	}
}

// count returns the number of lines with a word.
func (r *record) count(word string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		if strings.Contains(l, word) {
			n++
		}
	}
	return n
}

func (r *record) options(t testing.TB) Options {
	log := logrus.New()
	log.SetOutput(t.Output())
	log.AddHook(r)
	return Options{Log: log}
}

// A testStore is a Store with methods that end the test if they fail.
type testStore struct{ *Store }

func openStore(t testing.TB, file string, log *record) *testStore {
	t.Helper()
	s, err := Open(t.Context(), file, log.options(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &testStore{s}
}

func newStore(t testing.TB) (s *testStore, file string, log *record) {
	file, log = filepath.Join(t.TempDir(), "jobs.db"), &record{}
	return openStore(t, file, log), file, log
}

func (s *testStore) saves(t testing.TB, jobs ...*returners.Job) {
	t.Helper()
	for _, j := range jobs {
		if err := s.SaveJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *testStore) savesReturn(t testing.TB, id job.ID, r *returners.Return) {
	t.Helper()
	if fresh, err := s.SaveReturn(t.Context(), id, r); err != nil || !fresh {
		t.Fatalf("SaveReturn(%s, %s) = %v, %v", id, r.Minion, fresh, err)
	}
}

// minions returns the minions that have returned.
func (s *testStore) minions(t testing.TB, id job.ID) string {
	t.Helper()
	list, err := s.Returns(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.Minion
	}
	return strings.Join(names, " ")
}

func TestFilesArePrivate(t *testing.T) {
	s, file, log := newStore(t)
	s.saves(t, returnertest.Job(t, 1, "test.ping"))
	private := func() {
		t.Helper()
		for _, ending := range []string{"", "-wal", "-shm"} {
			if info, err := os.Stat(file + ending); err != nil || info.Mode() != 0o600 {
				t.Errorf("%s: %v, %v", file+ending, info.Mode(), err)
			}
		}
	}
	private()
	for _, mode := range []fs.FileMode{0o644, 0} {
		if err := errors.Join(s.Close(), os.Chmod(file, mode)); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, file, log)
		s.saves(t, returnertest.Job(t, 2, "test.ping"))
		private()
	}
	log.want(t, 0)
}

func TestWritesAreFlushed(t *testing.T) {
	s, _, _ := newStore(t)
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal",
		"cache_size": "-512", "mmap_size": "0", "auto_vacuum": "2"} {
		var got string
		if err := s.file.conn.QueryRowContext(t.Context(), "PRAGMA "+
			pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", pragma, got, err, want)
		}
	}
}

func TestNewerVersionIsRefused(t *testing.T) {
	s, file, log := newStore(t)
	j := returnertest.Job(t, 1, "test.ping", "web1")
	s.saves(t, j)
	change := func(s *testStore, version int) {
		t.Helper()
		_, err := s.file.conn.ExecContext(t.Context(),
			fmt.Sprintf("UPDATE about SET version = %d; PRAGMA user_version = %d", version, version))
		if err = errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	change(s, version+1)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), file, log.options(t)); !errors.Is(err, ErrNewer) ||
		!strings.Contains(err.Error(), file) {
		t.Errorf("Open = %v, want ErrNewer", err)
	}
	if _, err := OpenReadOnly(t.Context(), file, log.options(t)); !errors.Is(err, ErrNewer) {
		t.Errorf("OpenReadOnly = %v, want ErrNewer", err)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the file was changed (%v)", err)
	}
	log.want(t, 0)
}

func TestOpenFailsWithoutDamage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(t.Context(), filepath.Join(file, "jobs.db"), Options{}); err == nil {
		t.Errorf("Open below a file = %v", errors.Join(s.Close()))
	}
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenReadOnly(t.Context(), filepath.Join(dir, "jobs.db"),
		Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenReadOnly of nothing = %v", err)
	}
	s, file, log := newStore(t)
	r, err := OpenReadOnly(t.Context(), file, log.options(t))
	if err != nil {
		t.Fatal(err)
	}
	j := returnertest.Job(t, 1, "test.ping", "web1")
	look := func(want int) {
		t.Helper()
		if _, err := r.Job(t.Context(), j.ID); err != nil {
			t.Errorf("Job = %v", err)
		}
		if list, err := r.Returns(t.Context(), j.ID); err != nil || len(list) != want {
			t.Errorf("Returns = %v, %v, want %d", list, err, want)
		}
		if list, err := r.Jobs(t.Context(), returners.Filter{}); err != nil || len(list) != 1 {
			t.Errorf("Jobs = %v, %v", list, err)
		}
	}
	if _, err := r.Job(t.Context(), j.ID); !errors.Is(err, returners.ErrUnknownJob) {
		t.Errorf("Job = %v, want ErrUnknownJob", err)
	}
	s.saves(t, j)
	look(0)
	s.savesReturn(t, j.ID, returnertest.Return(t, j.ID, "web1", true, 1))
	look(1) // while the master runs
	if err := errors.Join(s.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	if r, err = OpenReadOnly(t.Context(), file, log.options(t)); err != nil {
		t.Fatal(err)
	}
	look(1) // while it does not
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	openStore(t, file, log)
	log.want(t, 0)
}

func TestReadOnlyDoesNotMend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReadOnly(t.Context(), file, Options{}); err == nil {
		t.Error("OpenReadOnly of a damaged file is no error")
	}
	if list, _ := os.ReadDir(filepath.Dir(file)); len(list) != 1 {
		t.Errorf("there is %v now", list)
	}
}

func TestCleanGivesSpaceBack(t *testing.T) {
	s, file, _ := newStore(t)
	j := returnertest.Job(t, 1, "test.echo")
	s.saves(t, j)
	for n := range 4 {
		s.savesReturn(t, j.ID, returnertest.Return(t, j.ID, fmt.Sprint("m", n), make([]byte, 5<<20), n))
	}
	if _, err := s.Clean(t.Context(), j.Started.Add(1e9)); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"jobs", "returns", "pieces", "gone"} {
		if n, err := readNumber(t.Context(), s.file.conn, "SELECT count(*) FROM "+
			table); err != nil || n != 0 {
			t.Errorf("%s has %d rows, %v", table, n, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() > 10<<20 {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
}

// TestStoppedCleanIsFinished stops Clean when a job is deleted and its returns are not.
func TestStoppedCleanIsFinished(t *testing.T) {
	s, _, _ := newStore(t)
	j := returnertest.Job(t, 1, "test.echo")
	s.saves(t, j)
	s.savesReturn(t, j.ID, returnertest.Return(t, j.ID, "old", 1, 1))
	if n, err := s.dropOld(t.Context(), j.Started.Add(1e9)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	s.saves(t, j)
	s.savesReturn(t, j.ID, returnertest.Return(t, j.ID, "new", 1, 1))
	if got := s.minions(t, j.ID); got != "new" {
		t.Errorf("returned have %q", got)
	}
	if n, err := s.Clean(t.Context(), j.Started); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := readNumber(t.Context(), s.file.conn, "SELECT count(*) FROM returns"); err != nil || n != 1 {
		t.Errorf("%d returns are left, %v, want 1", n, err)
	}
}

func TestRecentIsBounded(t *testing.T) {
	r := newRecent()
	big := func(n int) *returners.Job {
		return &returners.Job{ID: job.ID(fmt.Sprint(n)), Load: make([]byte, 1<<20)}
	}
	for n := range 10 {
		r.set(big(n))
	}
	if len(r.jobs) > 4 || r.bytes > recentBytes || r.order.Len() != len(r.jobs) {
		t.Errorf("%d jobs of %d bytes are held", len(r.jobs), r.bytes)
	}
	huge := &returners.Job{ID: "huge", Load: make([]byte, 2*recentBytes)}
	r.set(huge)
	if j, _ := r.get("huge"); j != huge || len(r.jobs) != 1 {
		t.Errorf("the newest is not held alone: %v", r.jobs)
	}
	for n := range 3 * recentJobs {
		r.set(&returners.Job{ID: job.ID(fmt.Sprint("small", n))})
	}
	if len(r.jobs) != recentJobs {
		t.Errorf("%d jobs are held", len(r.jobs))
	}
}

// TestRecentIsNotStale makes a reader return a job that changed while it was read.
func TestRecentIsNotStale(t *testing.T) {
	r := newRecent()
	_, state := r.get("1")
	r.set(&returners.Job{ID: "1", Minions: []string{"new"}})
	r.cacheRead(&returners.Job{ID: "1"}, state)
	if j, _ := r.get("1"); len(j.Minions) != 1 {
		t.Error("an old state replaced a new one")
	}
	_, state = r.get("2")
	r.clear()
	r.cacheRead(&returners.Job{ID: "2"}, state)
	if j, _ := r.get("2"); j != nil {
		t.Error("a job that was dropped is back")
	}
}
