package jobstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// fill saves returns of many callers until some were rejected, and returns the minions whose
// returns were confirmed.
func fill(t *testing.T, s *testStore, j *returners.Job, size int) (saved map[string]bool) {
	t.Helper()
	var (
		mu      sync.Mutex
		all     sync.WaitGroup
		refused atomic.Int64
	)
	saved = map[string]bool{}
	for caller := range 16 {
		all.Go(func() {
			for n := 0; n < 200 && refused.Load() < 50; n++ {
				minion := fmt.Sprintf("m%d-%d", caller, n)
				value := bytes.Repeat([]byte{byte(n)}, size*(1+n%3*10))
				fresh, err := s.SaveReturn(t.Context(), j.ID, returnertest.Return(t, j.ID, minion, value, 1))
				mu.Lock()
				if saved[minion] = err == nil && fresh; err != nil {
					refused.Add(1)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if refused.Load() == 0 {
		t.Fatal("the disk did not fill")
	}
	return saved
}

func checkFilled(t *testing.T, s *testStore, j *returners.Job, saved map[string]bool) {
	t.Helper()
	list, err := s.Returns(t.Context(), j.ID)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, r := range list {
		if there[r.Minion] = true; !saved[r.Minion] {
			t.Errorf("the return of %s is there, though it was refused", r.Minion)
		}
	}
	for minion, ok := range saved {
		if ok && !there[minion] {
			t.Errorf("the return of %s was acknowledged and is lost", minion)
		}
	}
}

// TestFileFull limits the file: callers whose returns were rejected get an error, and nobody else.
// Small returns still fit when long ones do not.
func TestFileFull(t *testing.T) {
	s, _, log := newStore(t)
	j := returnertest.Job(t, 1, "test.echo")
	s.saves(t, j)
	limit := func(pages int) {
		t.Helper()
		if _, err := s.file.conn.ExecContext(t.Context(),
			fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(2000)
	saved := fill(t, s, j, 50<<10)
	checkFilled(t, s, j, saved)
	limit(1 << 30)
	works(t, s)
	s.savesReturn(t, returnertest.Job(t, 100, "").ID,
		returnertest.Return(t, j.ID, "late", make([]byte, 5<<20), 1))
	log.want(t, 0)
}

// TestDiskFull fills a small file system.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	unmount, err := mountSmall(dir, 8<<20)
	need.That(t, "right to mount a tmpfs", err)
	t.Cleanup(func() {
		if err := unmount(); err != nil {
			t.Error(err)
		}
	})
	log := &record{}
	file := dir + "/jobs.db"
	s := openStore(t, file, log)
	j := returnertest.Job(t, 1, "test.echo")
	s.saves(t, j)
	ballast := dir + "/ballast"
	if err := os.WriteFile(ballast, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	saved := fill(t, s, j, 5<<10)
	checkFilled(t, s, j, saved)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	late := returnertest.Job(t, 2, "test.echo", "web1")
	s.saves(t, late)
	s.savesReturn(t, late.ID, returnertest.Return(t, late.ID, "web1", make([]byte, 300<<10), 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, file, log)
	checkFilled(t, s, j, saved)
	if got := s.minions(t, late.ID); got != "web1" {
		t.Errorf("returned have %q", got)
	}
	log.want(t, 0)
	if err := errors.Join(s.Close()); err != nil {
		t.Fatal(err)
	}
}
