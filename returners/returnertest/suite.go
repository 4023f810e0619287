// Package returnertest tests the contract of a [returners.JobCache]. Every implementation runs it:
//
//	func TestContract(t *testing.T) {
//		returnertest.Run(t, func(t *testing.T) returnertest.Opener {
//			file := filepath.Join(t.TempDir(), "jobs.db")
//			return func(ctx context.Context) (returners.JobCache, error) { return Open(ctx, file) }
//		})
//	}
package returnertest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// An Opener opens one store. After its cache was closed, it opens the same store again.
type Opener func(ctx context.Context) (returners.JobCache, error)

// Run tests the caches that place returns. Each call of place is for a new and empty one.
func Run(t *testing.T, place func(t *testing.T) Opener) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, s *subject)
	}{
		{"a job comes back as it was saved", testJob},
		{"the cache keeps no memory of its callers", testOwnership},
		{"a job that is saved again stays and gains minions", testJobAgain},
		{"minions are added once", testAddMinions},
		{"an unknown job is an error", testUnknown},
		{"returns come back in the order in which they came", testReturns},
		{"a repetition is taken once", testRepeats},
		{"another answer is a conflict", testConflicts},
		{"a long return comes back whole", testLong},
		{"jobs are found by time, function and number", testFilter},
		{"old jobs are dropped with their returns", testClean},
		{"many jobs are dropped", testCleanMany},
		{"what was saved is there after opening again", testReopen},
		{"a closed cache says so", testClosed},
		{"an ended context changes nothing", testEnded},
		{"a context that ends at any time leaves all or nothing", testCancelled},
		{"many callers save and read at once", testConcurrent},
		{"who has returned, and who was not there, is told of any cache", testProgress},
		{"states follow one another in order, over opening again", testTracker},
		{"states of jobs that are dropped are dropped", testTrackerClean},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &subject{t: t, opener: place(t)}
			s.open()
			t.Cleanup(func() { _ = s.Close() })
			c.test(t, s)
		})
	}
}

// A subject is the cache under test, with checks that end the test.
type subject struct {
	returners.JobCache
	t      *testing.T
	opener Opener
}

func (s *subject) open() {
	s.t.Helper()
	cache, err := s.opener(s.t.Context())
	if err != nil {
		s.t.Fatalf("open: %v", err)
	}
	s.JobCache = cache
}

func (s *subject) reopen() {
	s.t.Helper()
	if err := s.Close(); err != nil {
		s.t.Fatalf("Close() = %v", err)
	}
	s.open()
}

func (s *subject) save(jobs ...*returners.Job) {
	s.t.Helper()
	for _, j := range jobs {
		if err := s.SaveJob(s.t.Context(), j); err != nil {
			s.t.Fatalf("SaveJob(%s) = %v", j.ID, err)
		}
	}
}

// ret saves a return and checks whether it was new.
func (s *subject) ret(id job.ID, r *returners.Return, fresh bool) {
	s.t.Helper()
	if got, err := s.SaveReturn(s.t.Context(), id, r); err != nil || got != fresh {
		s.t.Fatalf("SaveReturn(%s, %s) = %v, %v, want %v", id, r.Minion, got, err, fresh)
	}
}

func (s *subject) wantJob(want *returners.Job) {
	s.t.Helper()
	got, err := s.Job(s.t.Context(), want.ID)
	if err != nil {
		s.t.Fatalf("Job(%s) = %v", want.ID, err)
	}
	if d := diff(want, got); d != "" {
		s.t.Errorf("Job(%s): -want +got\n%s", want.ID, d)
	}
}

func (s *subject) wantReturns(id job.ID, want ...*returners.Return) {
	s.t.Helper()
	got, err := s.Returns(s.t.Context(), id)
	if err != nil {
		s.t.Fatalf("Returns(%s) = %v", id, err)
	}
	list := make([]returners.Return, len(want))
	for i, r := range want {
		list[i] = *r
	}
	if d := diff(list, append([]returners.Return{}, got...)); d != "" {
		s.t.Errorf("Returns(%s): -want +got\n%s", id, d)
	}
}

// diff compares jobs and returns; nil and empty lists are equal.
func diff(want, got any) string {
	return cmp.Diff(want, got,
		cmp.Comparer(func(a, b data.Raw) bool { return bytes.Equal(a, b) }),
		cmp.Comparer(func(a, b []string) bool { return slices.Equal(a, b) }))
}

// begin is the start time of the tests' jobs.
var begin = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// Job returns job number n, which runs fun; each starts a second after the one before it.
func Job(t testing.TB, n int, fun string, minions ...string) *returners.Job {
	t.Helper()
	started := begin.Add(time.Duration(n) * time.Second)
	load := encode(t, data.NewMap("jid", string(job.NewID(started)), "fun", fun, "tgt", "*",
		"arg", []any{int64(n), "größe"}))
	return &returners.Job{ID: job.NewID(started), Load: load, Minions: minions, Started: started}
}

// Return returns a minion's return for a job: value, and a time stamp by which repetitions differ.
func Return(t testing.TB, id job.ID, minion string, value any, stamp int) *returners.Return {
	t.Helper()
	load := data.NewMap("cmd", "_return", "id", minion, "jid", string(id), "return", value,
		"retcode", int64(0), "success", true, "fun", "test.echo", "_stamp",
		fmt.Sprintf("2026-03-01T12:00:%02d.000000", stamp))
	return &returners.Return{Minion: minion, Load: encode(t, load),
		Received: begin.Add(time.Duration(stamp) * time.Second)}
}

func encode(t testing.TB, m *data.Map) data.Raw {
	t.Helper()
	raw, err := payload.MarshalBin(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// with returns a copy of r with an additional field in its load.
func with(t testing.TB, r *returners.Return, field string, value any) *returners.Return {
	t.Helper()
	fields, err := payload.ParseFields(slices.Clone(r.Load), payload.WireLimits())
	if err != nil {
		t.Fatal(err)
	}
	if err := fields.SetBin(field, value); err != nil {
		t.Fatal(err)
	}
	return &returners.Return{Minion: r.Minion, Load: fields.Marshal(), Received: r.Received}
}
