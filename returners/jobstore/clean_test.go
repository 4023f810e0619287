package jobstore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

// TestCleaningUnderLoad deletes many old jobs while returns of a current one arrive: all of these
// are stored, others are written between the slices of the work, and no old job is left.
func TestCleaningUnderLoad(t *testing.T) {
	const old, each = 400, 20
	s, _, _ := newStore(t)
	minions := make([]string, each)
	for i := range minions {
		minions[i] = fmt.Sprint("web", i)
	}
	for n := range old {
		j := returnertest.Job(t, n, "test.echo", minions...)
		j.Absent = minions[:each/2]
		s.saves(t, j)
		s.Track(j.ID, returners.Progress{Minion: "web1", State: returners.Gone, Since: j.Started})
	}
	manyAtOnce(t, old*each, func(n int) error {
		j := returnertest.Job(t, n/each, "test.echo")
		_, err := s.SaveReturn(t.Context(), j.ID,
			returnertest.Return(t, j.ID, minions[n%each], make([]byte, 2000), 1))
		return err
	})
	activeJob := returnertest.Job(t, old+1000, "test.echo", "web1")
	s.saves(t, activeJob)
	cleaned := make(chan error, 1)
	go func() {
		n, err := s.Clean(t.Context(), activeJob.Started.Add(-time.Second))
		if err == nil && n != old {
			err = fmt.Errorf("%d jobs were dropped, want %d", n, old)
		}
		cleaned <- err
	}()
	var took []time.Duration
	for ended := false; !ended; {
		began := time.Now()
		s.savesReturn(t, activeJob.ID,
			returnertest.Return(t, activeJob.ID, fmt.Sprint("m", len(took)), true, 1))
		took = append(took, time.Since(began))
		select {
		case err := <-cleaned:
			if err != nil {
				t.Fatal(err)
			}
			ended = true
		default:
		}
	}
	if len(took) < 10 {
		t.Errorf("only %d returns were saved meanwhile", len(took))
	}
	slices.Sort(took)
	t.Logf("%d returns meanwhile; 99 of 100 took at most %v", len(took), took[len(took)*99/100])
	if list, err := s.Returns(t.Context(), activeJob.ID); err != nil || len(list) != len(took) {
		t.Errorf("%d of %d returns of the living job are there, %v", len(list), len(took), err)
	}
	for _, table := range []string{"gone", "absent", "progress"} {
		if n, err := readNumber(t.Context(), s.file.conn, "SELECT count(*) FROM "+
			table); err != nil || n != 0 {
			t.Errorf("%s has %d rows, %v", table, n, err)
		}
	}
}

// manyAtOnce calls do for the numbers below n, from many goroutines.
func manyAtOnce(t *testing.T, n int, do func(n int) error) {
	t.Helper()
	work, done := make(chan int), make(chan error, 256)
	for range 256 {
		go func() {
			var err error
			for i := range work {
				if err == nil {
					err = do(i)
				}
			}
			done <- err
		}()
	}
	for i := range n {
		work <- i
	}
	close(work)
	for range 256 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}
