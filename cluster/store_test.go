package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// scripted answers attempts, and questions for the last message, in the given order.
type scripted struct {
	t        *testing.T
	attempts []error // nil means: the stream has stored the message, as 8
	forever  error   // the answer to all later attempts; nil means that there must be none
	last     uint64
	own      bool // whether the last message is that of the write
}

func (s *scripted) attempt(context.Context, write) (uint64, bool, error) {
	if len(s.attempts) == 0 {
		if s.forever == nil {
			s.t.Fatal("an attempt too many")
		}
		return 0, false, s.forever
	}
	err := s.attempts[0]
	s.attempts = s.attempts[1:]
	if err != nil {
		return 0, false, err
	}
	return 8, true, nil
}

func (s *scripted) newest(_ context.Context, w write) (uint64, string, error) {
	if s.own {
		return s.last, w.id, nil
	}
	return s.last, "of another member", nil
}

// wrong is the answer of a server that has stored a message of the subject as last.
func wrong(last uint64) error {
	return refusal(&jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence,
		Description: fmt.Sprint("wrong last sequence: ", last)})
}

// TestALostAcknowledgementIsNoConflict: ErrConflict promises that nothing was stored. An attempt without an
// answer may have been stored. So may one that a server without the lead refuses. Such a server knows no
// later message than the expected one, or calls a message under way.
func TestALostAcknowledgementIsNoConflict(t *testing.T) {
	const expected = 7
	underWay := refusal(&jetstream.APIError{Code: 400,
		ErrorCode: jetstream.JSErrCodeStreamWrongLastSequenceConstant, Description: "wrong last sequence"})
	for name, c := range map[string]struct {
		scripted
		want error
	}{
		"refused at once":            {scripted{attempts: []error{wrong(8)}}, ErrConflict},
		"stored, and the last value": {scripted{attempts: []error{ErrUnavailable, wrong(8)}, last: 8, own: true}, nil},
		"stored, and replaced since": {scripted{attempts: []error{ErrUnavailable, nil}}, nil},
		"not stored, another was":    {scripted{attempts: []error{ErrUnavailable, wrong(8)}, last: 8}, ErrConflict},
		"refused by a former leader": {scripted{attempts: []error{underWay, nil}}, nil},
		"and by one that is behind":  {scripted{attempts: []error{wrong(3), underWay, wrong(0), nil}}, nil},
		"another writes, too":        {scripted{attempts: []error{underWay, wrong(8)}, last: 8}, ErrConflict},
		"the old value is gone":      {scripted{forever: wrong(0)}, ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.t = t
				revision := uint64(expected)
				s := persist(t.Context(), &c.scripted, write{id: "own", expect: &revision})
				if !errors.Is(s.err, c.want) || s.err == nil && (s.sequence != 8 || !s.repeated) {
					t.Errorf("stored as %d, repeated %v, error %v; want %v", s.sequence, s.repeated, s.err, c.want)
				}
				if len(c.attempts) > 0 {
					t.Errorf("%d attempts were not made", len(c.attempts))
				}
			})
		})
	}
}

// TestAConflictIsKnownBeforeTheDeadline: the record of a member that was stopped for a minute is gone, and the
// member has the time of one heartbeat to learn that, and to write another record.
func TestAConflictIsKnownBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), lostAfter)
		defer cancel()
		revision := uint64(7)
		s := persist(ctx, &scripted{t: t, forever: wrong(0)}, write{id: "own", expect: &revision})
		end, _ := ctx.Deadline()
		if left := time.Until(end); !errors.Is(s.err, ErrConflict) || left < lostAfter/3 {
			t.Errorf("%v with %v left, want %v with a third of %v", s.err, left, ErrConflict, lostAfter)
		}
	})
}
