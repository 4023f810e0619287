package jobstore

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// sample is a file with some jobs and returns, one of them long.
func sample(t *testing.T) (content []byte, jobs []*returners.Job, returns map[job.ID][]*returners.Return) {
	t.Helper()
	s, file, _ := newStore(t)
	returns = map[job.ID][]*returners.Return{}
	for n := range 12 {
		j := returnertest.Job(t, n, "test.echo", "web1", "web2")
		s.saves(t, j)
		for m := range 5 {
			r := returnertest.Return(t, j.ID, fmt.Sprint("web", m),
				append(noise(uint64(n*5+m), 300*m), bytes.Repeat([]byte{byte(n), byte(m)}, 150*m)...), m)
			if n == 3 && m == 3 {
				r = returnertest.Return(t, j.ID, "web3", bytes.Repeat([]byte("long"), 200<<10), m)
			}
			s.savesReturn(t, j.ID, r)
			returns[j.ID] = append(returns[j.ID], r)
		}
		jobs = append(jobs, j)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content, jobs, returns
}

// noise returns bytes that do not become shorter.
func noise(seed uint64, size int) []byte {
	random, b := rand.New(rand.NewPCG(seed, 0)), make([]byte, size)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// outcome returns how many records of a sample a store still has, and checks that all of them are
// correct.
func outcome(
	t *testing.T, s *testStore, jobs []*returners.Job, returns map[job.ID][]*returners.Return,
) (gotJobs, gotReturns int) {
	t.Helper()
	for _, j := range jobs {
		switch got, err := s.Job(t.Context(), j.ID); {
		case err == nil && (string(got.Load) != string(j.Load) ||
			strings.Join(got.Minions, " ") != strings.Join(j.Minions, " ") || !got.Started.Equal(j.Started)):
			t.Errorf("job %s has become %v", j.ID, got)
		case err == nil:
			gotJobs++
		case !errors.Is(err, returners.ErrUnknownJob):
			t.Errorf("Job(%s) = %v", j.ID, err)
		}
		list, err := s.Returns(t.Context(), j.ID)
		if err != nil {
			t.Errorf("Returns(%s) = %v", j.ID, err)
		}
		gotReturns += len(list)
		for _, r := range list {
			checkReturn(t, j.ID, r, returns[j.ID])
		}
	}
	return gotJobs, gotReturns
}

func checkReturn(t *testing.T, id job.ID, got returners.Return, all []*returners.Return) {
	t.Helper()
	for _, r := range all {
		if r.Minion == got.Minion && bytes.Equal(r.Load, got.Load) && r.Received.Equal(got.Received) {
			return
		}
	}
	t.Errorf("job %s has a return of minion %q that was not saved", id, got.Minion)
}

// works checks that a store can save and read after its file was damaged.
func works(t *testing.T, s *testStore) {
	t.Helper()
	for n := 100; n < 103; n++ {
		j := returnertest.Job(t, n, "test.ping", "web1")
		s.saves(t, j)
		s.savesReturn(t, j.ID, returnertest.Return(t, j.ID, "web1", make([]byte, 300<<10), 1))
		if got := s.minions(t, j.ID); got != "web1" {
			t.Errorf("returned have %q", got)
		}
	}
	if list, err := s.Jobs(t.Context(), returners.Filter{Limit: 3}); err != nil || len(list) != 3 {
		t.Errorf("Jobs = %v, %v", list, err)
	}
	if _, err := s.Clean(t.Context(), time.Date(2026, 3, 1, 12, 0, 5, 0, time.UTC)); err != nil {
		t.Errorf("Clean = %v", err)
	}
}

func TestDamagedFiles(t *testing.T) {
	content, jobs, returns := sample(t)
	write := func(b []byte) func(string) error {
		return func(file string) error { return os.WriteFile(file, b, 0o600) }
	}
	for _, c := range []struct {
		name  string
		spoil func(file string) error
		lines int
		found int // minimum number of returns
	}{
		{"sound", write(content), 0, 60},
		{"empty", write(nil), 0, 0},
		{"text", write([]byte(strings.Repeat("no database ", 1000))), 1, 0},
		{"short text", write([]byte("x")), 1, 0},
		{"one page left", write(content[:4096]), 1, 0},
		{"cut inside a page", write(content[:len(content)/2+100]), 1, 0},
		{"last page lost", write(content[:len(content)-4096]), 1, 50},
		{"a folder", func(file string) error { return os.Mkdir(file, 0o755) }, 1, 0},
		{"tables of others", func(file string) error {
			db, err := sql.Open("sqlite", file)
			if err != nil {
				return err
			}
			_, err = db.Exec("CREATE TABLE jobs (a, b)")
			return errors.Join(err, db.Close())
		}, 1, 0},
		{"rebuilt by an operator", func(file string) error {
			if err := os.WriteFile(file, content, 0o600); err != nil {
				return err
			}
			db, err := sql.Open("sqlite", file)
			if err != nil {
				return err
			}
			_, err = db.Exec("PRAGMA auto_vacuum = 0; VACUUM; ANALYZE; CREATE INDEX mine ON jobs (fun)")
			return errors.Join(err, db.Close())
		}, 0, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, log := filepath.Join(t.TempDir(), "jobs.db"), &record{}
			if err := c.spoil(file); err != nil {
				t.Fatal(err)
			}
			s := openStore(t, file, log)
			if _, got := outcome(t, s, jobs, returns); got < c.found {
				t.Errorf("%d returns are there, want %d at least", got, c.found)
			}
			works(t, s)
			if got := log.count(file + ".damaged-2"); got != c.lines {
				t.Errorf("the log has %d lines about the file, want %d: %q", got, c.lines, log.lines)
			}
			if aside, _ := filepath.Glob(file + ".damaged-*Z"); len(aside) != c.lines {
				t.Errorf("aside lie %v", aside)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			works2 := openStore(t, file, log)
			if got := works2.minions(t, returnertest.Job(t, 101, "").ID); got != "web1" {
				t.Errorf("after opening again: returned have %q", got)
			}
		})
	}
}

// TestFlippedBits flips bits of the first page, which describes all others, and of all others.
func TestFlippedBits(t *testing.T) {
	content, jobs, returns := sample(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := 120
	if n, err := strconv.Atoi(os.Getenv("BRINE_JOBSTORE_FLIPS")); err == nil {
		rounds = n
	}
	if testing.Short() {
		rounds = 20
	}
	kept := 0
	// Pages of keys in which a search went astray: the indexes of jobs, of start times and of returns, and the table of
	// returns.
	bits := []int{162715, 228963, 263133, 261218}
	for round := range rounds {
		if round%2 == 1 {
			bits = append(bits, random.IntN(len(content)*8))
		} else {
			bits = append(bits, random.IntN(4096*8))
		}
	}
	for _, bit := range bits {
		spoiled := bytes.Clone(content)
		spoiled[bit/8] ^= 1 << (bit % 8)
		ok := t.Run(fmt.Sprint("bit ", bit), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "jobs.db")
			if err := os.WriteFile(file, spoiled, 0o600); err != nil {
				t.Fatal(err)
			}
			s := openStore(t, file, &record{})
			_, got := outcome(t, s, jobs, returns)
			kept += got
			works(t, s)
		})
		if !ok {
			t.Fatalf("seed %d, bit %d", seed, bit)
		}
	}
	t.Logf("of %d returns %d were left", 60*len(bits), kept)
}

// TestDamagedRecord changes one record in place: only that one is left out, and its minion may
// return again.
func TestDamagedRecord(t *testing.T) {
	s, _, log := newStore(t)
	j := returnertest.Job(t, 1, "test.echo", "a", "b")
	s.saves(t, j)
	for _, minion := range []string{"a", "b", "c"} {
		s.savesReturn(t, j.ID, returnertest.Return(t, j.ID, minion, make([]byte, 600<<10), 1))
	}
	for _, text := range []string{
		"UPDATE returns SET load = CAST(substr(load, 1, 1000) || x'01' || substr(load, 1002) AS BLOB) WHERE minion = 'a'",
		"UPDATE returns SET received = 'long ago' WHERE minion = 'b'",
		"DELETE FROM pieces WHERE n = (SELECT max(n) FROM pieces)",
	} {
		if _, err := s.file.conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.minions(t, j.ID); got != "" {
		t.Errorf("returned have %q", got)
	}
	log.want(t, 3, `minion "a"`, `minion "c"`)
	for _, minion := range []string{"c", "b", "a"} {
		s.savesReturn(t, j.ID, returnertest.Return(t, j.ID, minion, make([]byte, 600<<10), 1))
	}
	if got := s.minions(t, j.ID); got != "c b a" {
		t.Errorf("returned have %q", got)
	}
}

func TestDamagedJob(t *testing.T) {
	s, _, log := newStore(t)
	j := returnertest.Job(t, 1, "test.echo", "a", "b")
	s.saves(t, j)
	if _, err := s.file.conn.ExecContext(t.Context(), "UPDATE jobs SET minions = x'01'"); err != nil {
		t.Fatal(err)
	}
	s.recent.clear()
	if _, err := s.Job(t.Context(), j.ID); !errors.Is(err, returners.ErrUnknownJob) {
		t.Errorf("Job = %v, want ErrUnknownJob", err)
	}
	if list, err := s.Jobs(t.Context(), returners.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("Jobs = %v, %v", list, err)
	}
	if err := s.AddMinions(t.Context(), j.ID, []string{"c"}); !errors.Is(err, returners.ErrUnknownJob) {
		t.Errorf("AddMinions = %v, want ErrUnknownJob", err)
	}
	log.want(t, 2)
	s.savesReturn(t, j.ID, returnertest.Return(t, j.ID, "a", true, 1))
	s.saves(t, j)
	s.recent.clear()
	if got, err := s.Job(t.Context(), j.ID); err != nil || len(got.Minions) != 2 {
		t.Errorf("Job = %v, %v", got, err)
	}
	log.want(t, 2)
}

// TestDamageWhileRunning overwrites pages of a file that is in use, as a failing disk would.
func TestDamageWhileRunning(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(t *testing.T, s *testStore, id job.ID)
	}{
		{"found by a writer", func(t *testing.T, s *testStore, id job.ID) {
			s.saves(t, returnertest.Job(t, 50, "test.ping", "web1"))
		}},
		{"found by a reader", func(t *testing.T, s *testStore, id job.ID) {
			if _, err := s.Jobs(t.Context(), returners.Filter{}); err != nil {
				t.Errorf("Jobs = %v", err)
			}
			if _, err := s.Returns(t.Context(), id); err != nil {
				t.Errorf("Returns = %v", err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			content, jobs, returns := sample(t)
			file, log := filepath.Join(t.TempDir(), "jobs.db"), &record{}
			for i := 8 * 4096; i < len(content)-8*4096; i += 4096 {
				copy(content[i:], "overwritten by a failing disk")
			}
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			s := openStore(t, file, log)
			log.want(t, 0)
			c.call(t, s, jobs[0].ID)
			works(t, s)
			outcome(t, s, jobs, returns)
			if aside, _ := filepath.Glob(file + ".damaged-*Z"); len(aside) != 1 ||
				log.count(".damaged-2") != 1 {
				t.Errorf("aside lie %v, log %q", aside, log.lines)
			}
		})
	}
}

// TestDamageAgain damages a new file soon: it is not replaced forever.
func TestDamageAgain(t *testing.T) {
	s, file, log := newStore(t)
	cause := fmt.Errorf("%w: on purpose", errDamaged)
	if err := s.renewFile(t.Context(), s.file, cause); err != nil {
		t.Fatal(err)
	}
	if err := s.renewFile(t.Context(), s.file, cause); !errors.Is(err, errDamaged) {
		t.Errorf("the second renewal = %v", err)
	}
	works(t, s)
	log.want(t, 1)
	if aside, _ := filepath.Glob(file + ".damaged-*Z"); len(aside) != 1 {
		t.Errorf("aside lie %v", aside)
	}
}

// TestRemoved removes the file, and then its directory, as operators do to clear a cache.
func TestRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "master")
	file, log := filepath.Join(dir, "jobs.db"), &record{}
	s := openStore(t, file, log)
	for n, remove := range []func() error{
		func() error { return os.Remove(file) },
		func() error { return os.RemoveAll(dir) },
		func() error { return os.Rename(file, file+".old") },
	} {
		j := returnertest.Job(t, n, "test.ping", "web1")
		s.saves(t, j)
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SaveReturn(t.Context(), j.ID,
			returnertest.Return(t, j.ID, "web1", true, 1)); !errors.Is(err, returners.ErrUnknownJob) {
			t.Errorf("SaveReturn = %v, want ErrUnknownJob", err)
		}
		works(t, s)
		if r, err := OpenReadOnly(t.Context(), file, Options{}); err != nil {
			t.Error(err)
		} else if list, err := r.Jobs(t.Context(), returners.Filter{}); len(list) != 3 ||
			errors.Join(err, r.Close()) != nil {
			t.Errorf("on disk are %d jobs, %v, want 3", len(list), err)
		}
		log.want(t, n+1, "removed")
	}
}
