package jobstore

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// victimFile is the environment variable that makes a test binary a victim.
const victimFile = "BRINE_JOBSTORE_VICTIM"

// victim saves jobs and returns from eight goroutines until it is killed, and prints each
// acknowledged one. Meanwhile it deletes old jobs.
func victim(file string) {
	s, err := Open(context.Background(), file, Options{})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	var (
		out sync.Mutex
		all sync.WaitGroup
	)
	acknowledge := func(words ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Println(words...)
	}
	for caller := range 8 {
		all.Go(func() {
			if err := save(s, caller, acknowledge); err != nil {
				acknowledge("error", err)
			}
		})
	}
	all.Go(func() {
		for {
			if _, err := s.Clean(context.Background(), victimTime(0)); err != nil {
				acknowledge("error", err)
			}
		}
	})
	all.Wait()
}

// save saves from one caller. The length of each return identifies the caller and the return.
func save(s *Store, caller int, acknowledge func(...any)) error {
	ctx := context.Background()
	for n := 0; ; n++ {
		j := &returners.Job{ID: victimJob(caller), Started: victimTime(1)}
		old := &returners.Job{ID: job.ID(fmt.Sprintf("%s_%d", victimJob(caller), n)), Started: victimTime(-1)}
		if err := s.SaveJob(ctx, j); err != nil {
			return err
		}
		if err := s.SaveJob(ctx, old); err != nil {
			return err
		}
		minion := fmt.Sprintf("m%d-%d", os.Getpid(), n)
		for _, id := range []job.ID{j.ID, old.ID} {
			s.Track(id, returners.Progress{Minion: minion, State: returners.Acknowledged,
				Since: victimTime(n)})
			_, err := s.SaveReturn(ctx, id,
				&returners.Return{Minion: minion, Load: victimLoad(minion, n), Received: victimTime(n)})
			if err != nil && id == j.ID {
				return err
			}
		}
		acknowledge("saved", j.ID, minion, n)
	}
}

func victimLoad(minion string, n int) []byte {
	load := make([]byte, 20+n%50*n%50*500)
	copy(load, minion)
	return load
}

// TestKilled kills a saving process several times over the same file: each acknowledged return is
// there afterwards, complete, and the file needs no repair.
func TestKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.db")
	acknowledged := map[job.ID]map[string]int{}
	for round := range 4 {
		killed(t, file, 20<<(2*round), acknowledged)
		log := &record{}
		s := openStore(t, file, log)
		log.want(t, 0)
		for id, minions := range acknowledged {
			checkVictim(t, s, id, minions)
		}
		s.saves(t, returnertest.Job(t, round, "test.ping", "web1"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func checkVictim(t *testing.T, s *testStore, id job.ID, minions map[string]int) {
	t.Helper()
	checkProgress(t, s, id, minions)
	got, err := s.Returns(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, r := range got {
		found[r.Minion] = string(r.Load)
	}
	for minion, n := range minions {
		if found[minion] != string(victimLoad(minion, n)) {
			t.Errorf("the acknowledged return of %s for job %s is lost or another (%d bytes)",
				minion, id, len(found[minion]))
		}
	}
}

// killed runs a victim until it has acknowledged a number of returns and kills it at once.
func killed(t *testing.T, file string, after int, acknowledged map[job.ID]map[string]int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), victimFile+"="+file)
	c.Stderr = t.Output()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for n := 0; ; n++ {
		if n == after {
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			if n < after || err != io.EOF {
				t.Fatalf("the victim ended after %d lines: %v", n, err)
			}
			break
		}
		note(t, line, acknowledged)
	}
	if err := c.Wait(); err == nil {
		t.Fatal("the victim ended by itself")
	}
}

func note(t *testing.T, line string, acknowledged map[job.ID]map[string]int) {
	t.Helper()
	var (
		id     job.ID
		minion string
		n      int
	)
	if _, err := fmt.Sscanf(line, "saved %s %s %d\n", &id, &minion, &n); err != nil {
		t.Fatalf("the victim says %q", strings.TrimSpace(line))
	}
	if acknowledged[id] == nil {
		acknowledged[id] = map[string]int{}
	}
	acknowledged[id][minion] = n
}

func victimJob(caller int) job.ID { return job.NewID(victimTime(caller)) }

func victimTime(n int) time.Time {
	return time.Date(2026, 3, 1, 0, 0, n, 0, time.UTC)
}

// checkProgress checks that exactly the minions whose returns were acknowledged have the state
// returned.
func checkProgress(t *testing.T, s *testStore, id job.ID, minions map[string]int) {
	t.Helper()
	list, err := s.Progress(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]returners.State{}
	for _, p := range list {
		told[p.Minion] = p.State
	}
	for minion := range minions {
		if told[minion] != returners.Returned {
			t.Fatalf("job %s: minion %s is %q, its return was acknowledged", id, minion, told[minion])
		}
	}
	returns, err := s.Returns(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range returns {
		delete(told, r.Minion)
	}
	for minion, state := range told {
		if state != returners.Acknowledged {
			t.Fatalf("job %s: minion %s is %q without a return", id, minion, state)
		}
	}
}
