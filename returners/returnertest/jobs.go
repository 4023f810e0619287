package returnertest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
)

func testJob(t *testing.T, s *subject) {
	plain := Job(t, 1, "test.ping", "web1", "web2", "größe")
	full := Job(t, 2, "state.apply", "web1")
	full.Missing, full.NoCache = []string{"db1", "db2"}, true
	bare := Job(t, 3, "", "web1")
	bare.Minions = nil
	odd := &returners.Job{ID: "20260301120000000001_4711", Load: []byte{0xc1, 0, 0xff},
		Started: begin}
	for _, j := range []*returners.Job{plain, full, bare, odd} {
		s.save(j)
		s.wantJob(j)
	}
	s.wantReturns(plain.ID)
	s.reopen()
	for _, j := range []*returners.Job{plain, full, bare, odd} {
		s.wantJob(j)
	}
}

func testOwnership(t *testing.T, s *subject) {
	want, given := Job(t, 1, "test.ping", "web1", "web2"), Job(t, 1, "test.ping", "web1", "web2")
	s.save(given)
	clear(given.Load)
	clear(given.Minions)
	s.wantJob(want)
	wantReturn, givenReturn := Return(t, want.ID, "web1", "x", 1), Return(t, want.ID,
		"web1", "x", 1)
	s.ret(want.ID, givenReturn, true)
	clear(givenReturn.Load)
	s.wantReturns(want.ID, wantReturn)
}

func testJobAgain(t *testing.T, s *subject) {
	first := Job(t, 1, "test.ping", "web1")
	s.save(first)
	second := Job(t, 1, "test.echo", "web2", "web1")
	second.NoCache, second.Missing, second.Started = true, []string{"db1"}, begin.Add(time.Hour)
	s.save(second)
	first.Minions = []string{"web1", "web2"}
	s.wantJob(first)
	s.reopen()
	s.wantJob(first)
}

func testAddMinions(t *testing.T, s *subject) {
	j := Job(t, 1, "test.ping", "web2", "web1")
	s.save(j)
	for _, ids := range [][]string{{"web1", "db1"}, {}, {"db1", "db2", "db2"}} {
		if err := s.AddMinions(t.Context(), j.ID, ids); err != nil {
			t.Fatalf("AddMinions(%v) = %v", ids, err)
		}
	}
	j.Minions = []string{"web2", "web1", "db1", "db2"}
	s.wantJob(j)
	s.reopen()
	s.wantJob(j)
}

func testUnknown(t *testing.T, s *subject) {
	s.save(Job(t, 1, "test.ping"))
	for range 2 {
		if j, err := s.Job(t.Context(), "20200101000000000000"); !errors.Is(err,
			returners.ErrUnknownJob) {
			t.Errorf("Job = %v, %v, want ErrUnknownJob", j, err)
		}
		r := Return(t, "20200101000000000000", "web1", true, 1)
		if _, err := s.SaveReturn(t.Context(), "20200101000000000000", r); !errors.Is(err,
			returners.ErrUnknownJob) {
			t.Errorf("SaveReturn = %v, want ErrUnknownJob", err)
		}
		if err := s.AddMinions(t.Context(),
			"20200101000000000000", []string{"web1"}); !errors.Is(err, returners.ErrUnknownJob) {
			t.Errorf("AddMinions = %v, want ErrUnknownJob", err)
		}
		s.wantReturns("20200101000000000000")
	}
	late := Job(t, 2, "test.ping", "web1")
	if _, err := s.Job(t.Context(), late.ID); !errors.Is(err, returners.ErrUnknownJob) {
		t.Errorf("Job = %v, want ErrUnknownJob", err)
	}
	s.save(late)
	s.wantJob(late)
}

func testFilter(t *testing.T, s *subject) {
	for n, fun := range []string{"test.ping", "test.echo", "test.ping", "state.apply",
		"test.ping"} {
		s.save(Job(t, n, fun, "web1"))
	}
	at := func(n int) time.Time { return begin.Add(time.Duration(n) * time.Second) }
	for _, c := range []struct {
		name   string
		filter returners.Filter
		want   []int
	}{
		{"all", returners.Filter{}, []int{4, 3, 2, 1, 0}},
		{"since, which counts", returners.Filter{Since: at(3)}, []int{4, 3}},
		{"until, which does not count", returners.Filter{Until: at(3)}, []int{2, 1, 0}},
		{"between", returners.Filter{Since: at(1), Until: at(4)}, []int{3, 2, 1}},
		{"function", returners.Filter{Fun: "test.ping"}, []int{4, 2, 0}},
		{"a function that is part of another", returners.Filter{Fun: "test"}, nil},
		{"newest", returners.Filter{Limit: 2}, []int{4, 3}},
		{"newest of a function", returners.Filter{Fun: "test.ping", Limit: 2}, []int{4, 2}},
		{"all of these", returners.Filter{Fun: "test.ping", Until: at(4), Limit: 1}, []int{2}},
		{"more than there are", returners.Filter{Limit: 50}, []int{4, 3, 2, 1, 0}},
		{"nothing", returners.Filter{Since: at(5)}, nil},
	} {
		got, err := s.Jobs(t.Context(), c.filter)
		if err != nil {
			t.Fatalf("Jobs: %s: %v", c.name, err)
		}
		var want []job.ID
		for _, n := range c.want {
			want = append(want, job.NewID(at(n)))
		}
		if d := cmp.Diff(want, ids(got)); d != "" {
			t.Errorf("Jobs: %s: -want +got\n%s", c.name, d)
		}
	}
	got, _ := s.Jobs(t.Context(), returners.Filter{Limit: 1})
	if d := diff([]returners.Job{*Job(t, 4, "test.ping", "web1")}, got); d != "" {
		t.Errorf("Jobs: -want +got\n%s", d)
	}
}

func ids(jobs []returners.Job) (list []job.ID) {
	for _, j := range jobs {
		list = append(list, j.ID)
	}
	return list
}

func testClean(t *testing.T, s *subject) {
	for n := range 4 {
		j := Job(t, n, "test.ping", "web1")
		s.save(j)
		s.ret(j.ID, Return(t, j.ID, "web1", int64(n), n), true)
	}
	s.clean(begin, 0)
	s.clean(begin.Add(2*time.Second), 2)
	s.clean(begin.Add(2*time.Second), 0)
	for range 2 {
		for n := range 4 {
			j := Job(t, n, "test.ping", "web1")
			if n >= 2 {
				s.wantJob(j)
				s.wantReturns(j.ID, Return(t, j.ID, "web1", int64(n), n))
				continue
			}
			if _, err := s.Job(t.Context(), j.ID); !errors.Is(err, returners.ErrUnknownJob) {
				t.Errorf("Job(%s) after Clean = %v, want ErrUnknownJob", j.ID, err)
			}
			if _, err := s.SaveReturn(t.Context(), j.ID,
				Return(t, j.ID, "web2", true, 1)); !errors.Is(err, returners.ErrUnknownJob) {
				t.Errorf("SaveReturn(%s) after Clean = %v, want ErrUnknownJob", j.ID, err)
			}
			s.wantReturns(j.ID)
		}
		s.reopen()
	}
	again := Job(t, 0, "test.echo", "web1")
	s.save(again)
	s.wantJob(again)
	s.wantReturns(again.ID)
}

func (s *subject) clean(before time.Time, want int) {
	s.t.Helper()
	if n, err := s.Clean(s.t.Context(), before); err != nil || n != want {
		s.t.Fatalf("Clean(%v) = %d, %v, want %d", before, n, err, want)
	}
}

func testCleanMany(t *testing.T, s *subject) {
	const jobs, keep = 260, 10
	var all []*returners.Job
	for n := range jobs {
		all = append(all, Job(t, n, "test.ping", "web1"))
	}
	s.together(len(all), func(n int) error { return s.SaveJob(t.Context(), all[n]) })
	s.together(4*len(all), func(n int) error {
		j := all[n/4]
		_, err := s.SaveReturn(t.Context(), j.ID,
			Return(t, j.ID, string(rune('a'+n%4)), int64(n), 1))
		return err
	})
	s.clean(all[jobs-keep].Started, jobs-keep)
	left, err := s.Jobs(t.Context(), returners.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	got := ids(left)
	slices.Reverse(got)
	for i, j := range all[jobs-keep:] {
		if i >= len(got) || got[i] != j.ID {
			t.Fatalf("left are %v", got)
		}
		if r, err := s.Returns(t.Context(), j.ID); err != nil || len(r) != 4 {
			t.Errorf("Returns(%s) = %d, %v, want 4", j.ID, len(r), err)
		}
	}
	s.clean(begin.Add(time.Hour), keep)
}
