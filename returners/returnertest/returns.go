package returnertest

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
)

func testReturns(t *testing.T, s *subject) {
	one, other := Job(t, 1, "test.echo", "c", "a", "b"), Job(t, 2, "test.echo", "a")
	s.save(one, other)
	var want []*returners.Return
	for n, minion := range []string{"c", "a", "not expected", "b"} {
		r := Return(t, one.ID, minion, int64(n), 9-n)
		want = append(want, r)
		s.ret(one.ID, r, true)
		if n == 1 {
			s.ret(other.ID, Return(t, other.ID, "a", "other", 1), true)
		}
	}
	for range 2 {
		s.wantReturns(one.ID, want...)
		s.wantReturns(other.ID, Return(t, other.ID, "a", "other", 1))
		s.reopen()
	}
}

func testRepeats(t *testing.T, s *subject) {
	j := Job(t, 1, "test.echo", "web1")
	s.save(j)
	first := Return(t, j.ID, "web1", "x", 1)
	s.ret(j.ID, first, true)
	s.ret(j.ID, first, false)
	// sent again later, with another time stamp
	s.ret(j.ID, Return(t, j.ID, "web1", "x", 30), false)
	s.reopen()
	s.ret(j.ID, first, false)
	s.wantReturns(j.ID, first)

	odd := &returners.Return{Minion: "odd", Load: []byte{0xc1, 1}, Received: begin}
	s.ret(j.ID, odd, true)
	s.ret(j.ID, odd, false)
	s.wantReturns(j.ID, first, odd)
}

func testConflicts(t *testing.T, s *subject) {
	j := Job(t, 1, "test.echo", "web1")
	s.save(j)
	first := Return(t, j.ID, "web1", "x", 1)
	odd := &returners.Return{Minion: "odd", Load: []byte{0xc1, 1}, Received: begin}
	s.ret(j.ID, first, true)
	s.ret(j.ID, odd, true)
	for name, r := range map[string]*returners.Return{
		"another value":        with(t, first, "return", "y"),
		"a value that is more": with(t, first, "return", "xx"),
		"no value":             with(t, first, "return", nil),
		"another retcode":      with(t, first, "retcode", int64(1)),
		"another load":         {Minion: "odd", Load: []byte{0xc1, 2}, Received: begin},
	} {
		if fresh, err := s.SaveReturn(t.Context(), j.ID, r); fresh ||
			!errors.Is(err, returners.ErrConflict) {
			t.Errorf("SaveReturn with %s = %v, %v, want ErrConflict", name, fresh, err)
		}
	}
	s.wantReturns(j.ID, first, odd)
}

func testLong(t *testing.T, s *subject) {
	j := Job(t, 1, "test.echo", "a", "b", "c")
	s.save(j)
	var want []*returners.Return
	for n, minion := range []string{"a", "b", "c"} {
		text := bytes.Repeat([]byte("0123456789abcdef"), 3<<16+n)
		text[len(text)/2] = byte(n)
		r := Return(t, j.ID, minion, text, n)
		want = append(want, r)
		s.ret(j.ID, r, true)
		s.ret(j.ID, r, false)
		text[len(text)-1]++
		if _, err := s.SaveReturn(t.Context(), j.ID,
			Return(t, j.ID, minion, text, n)); !errors.Is(err, returners.ErrConflict) {
			t.Errorf("SaveReturn with another last byte = %v, want ErrConflict", err)
		}
	}
	s.reopen()
	s.wantReturns(j.ID, want...)
	s.clean(j.Started.Add(time.Microsecond), 1)
	s.save(j)
	s.wantReturns(j.ID)
}

func testReopen(t *testing.T, s *subject) {
	s.reopen()
	var jobs []*returners.Job
	returns := map[job.ID][]*returners.Return{}
	for n := range 5 {
		j := Job(t, n, "test.echo", "web1", "web2")
		s.save(j)
		for m, minion := range j.Minions {
			r := Return(t, j.ID, minion, int64(n), m)
			s.ret(j.ID, r, true)
			returns[j.ID] = append(returns[j.ID], r)
		}
		jobs = append(jobs, j)
		s.reopen()
	}
	for _, j := range jobs {
		s.wantJob(j)
		s.wantReturns(j.ID, returns[j.ID]...)
	}
}
