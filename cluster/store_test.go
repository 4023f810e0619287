package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// scripted answers attempts, and questions for the last message, in the given order.
type scripted struct {
	t        *testing.T
	attempts []error // nil means: the stream has the message already, as 8
	lasts    []uint64
	own      bool // whether the last message is that of the write
}

func (s *scripted) attempt(context.Context, write) (uint64, bool, error) {
	if len(s.attempts) == 0 {
		s.t.Fatal("an attempt too many")
	}
	err := s.attempts[0]
	s.attempts = s.attempts[1:]
	if err != nil {
		return 0, false, err
	}
	return 8, true, nil
}

func (s *scripted) newest(_ context.Context, w write) (uint64, string, error) {
	if len(s.lasts) == 0 {
		s.t.Fatal("a question too many")
	}
	last := s.lasts[0]
	s.lasts = s.lasts[1:]
	if s.own {
		return last, w.id, nil
	}
	return last, "of another member", nil
}

// TestALostAcknowledgementIsNoConflict: ErrConflict promises that nothing was stored. An attempt without an
// answer may have been stored, and what conflicts with the next one may be that.
func TestALostAcknowledgementIsNoConflict(t *testing.T) {
	const expected = 7
	for name, c := range map[string]struct {
		scripted
		want error
	}{
		"refused at once":            {scripted{attempts: []error{ErrConflict}}, ErrConflict},
		"stored, and the last value": {scripted{attempts: []error{ErrUnavailable, ErrConflict}, lasts: []uint64{8}, own: true}, nil},
		"stored, and replaced since": {scripted{attempts: []error{ErrUnavailable, ErrConflict, nil}, lasts: []uint64{9}}, nil},
		"not stored, another was":    {scripted{attempts: []error{ErrUnavailable, ErrConflict, ErrConflict}, lasts: []uint64{8}}, ErrConflict},
		"the old value is gone":      {scripted{attempts: []error{ErrUnavailable, ErrConflict, ErrConflict}, lasts: []uint64{0}}, ErrConflict},
		"stored later": {scripted{attempts: []error{ErrUnavailable, ErrConflict, ErrConflict, nil},
			lasts: []uint64{expected, expected}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.t = t
				revision := uint64(expected)
				s := persist(t.Context(), &c.scripted, write{id: "own", expect: &revision})
				if !errors.Is(s.err, c.want) || s.err == nil && (s.sequence != 8 || !s.repeated) {
					t.Errorf("stored as %d, repeated %v, error %v; want %v", s.sequence, s.repeated, s.err, c.want)
				}
				if len(c.attempts) > 0 || len(c.lasts) > 0 {
					t.Errorf("%d attempts and %d questions were not made", len(c.attempts), len(c.lasts))
				}
			})
		})
	}
}
