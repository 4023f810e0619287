package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A write is a message for a stream.
type write struct {
	subject, stream string
	id              string // message id; "" means a new one
	// again lets the message be sent under another id when a stream says for long that the first is under
	// way. Without it there must be only one.
	again  bool
	body   []byte // sealed
	expect *uint64
}

// slack is what a message has besides its body: subject and headers.
const slack = 1024

// payload returns how many bytes a sealed value may have.
func (c *Cluster) payload() int { return int(c.maxPayload.Load()) - slack }

// stored is the outcome of a write.
type stored struct {
	sequence uint64
	repeated bool // the stream had the message already
	err      error
}

// store writes a message and waits until a majority of the replicas has it. It repeats the message
// under the same id until ctx ends.
func (c *Cluster) store(ctx context.Context, w write) (sequence uint64, repeated bool, err error) {
	if limit := c.payload(); len(w.body) > limit {
		return 0, false, fmt.Errorf("%w: %d bytes, the server allows %d", ErrTooLarge, len(w.body), limit)
	}
	weight := int64(max(len(w.body), perWrite))
	if err := c.room.Acquire(ctx, weight); err != nil {
		return 0, false, fmt.Errorf("%w: %w", ErrBusy, err)
	}
	if w.id == "" {
		w.id = rand.Text()
	}
	// the client of NATS does not heed ctx while it connects, for two seconds at most
	done := make(chan stored, 1)
	go func() {
		defer c.room.Release(weight)
		done <- persist(ctx, c, w)
	}()
	select {
	case s := <-done:
		return s.sequence, s.repeated, s.err
	case <-ctx.Done():
		return 0, false, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
}

// errUnderWay is the answer of nats-server to a repetition while the first message is under way: a code
// from 2.11 on, a sequence of 0 before. If the server loses the lead meanwhile, the message may be lost, and
// the answer stays for the time in which the stream knows repetitions.
var errUnderWay = errors.New("the message is under way")

// underWayTime is how long that may be so before the message is sent under another id. That one may be lost in
// the same way, so each has an id of its own.
const underWayTime = time.Second

// A streamer writes to a stream and reads from it, for persist.
type streamer interface {
	// attempt sends a message once.
	attempt(ctx context.Context, w write) (sequence uint64, repeated bool, err error)
	// newest returns sequence and message id of the last message of a subject, or 0 if there is none.
	newest(ctx context.Context, w write) (sequence uint64, id string, err error)
}

const (
	// conflictPause is the first pause after a conflict that does not say with what; it doubles.
	conflictPause = 5 * time.Millisecond
	// conflictTime is how long such conflicts count as doubtful, at most: half of the time that is left for a
	// write is for what its caller does about a conflict. A server that leads no more learns of it within that time.
	conflictTime = 3 * time.Second
)

// doubtsUntil returns until when conflicts count as doubtful if the first of them comes now.
func doubtsUntil(ctx context.Context) time.Time {
	limit := conflictTime
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/2)
	}
	return time.Now().Add(limit)
}

// persist sends a message until it is acknowledged, refused, or ctx ends. While a stream changes its
// leader, the former one may take an order, too, and refuse what the new one stores; whose answer comes
// first is chance.
func persist(ctx context.Context, c streamer, w write) stored {
	uncertain := false // an attempt may have been stored although its answer says otherwise or is lost
	first := w.id
	var since, doubts time.Time // when the message was under way, and until when conflicts are doubtful
	for wait, again := pause, conflictPause; ; {
		sequence, repeated, err := c.attempt(ctx, w)
		next := wait
		switch {
		case isDoubtful(err, w) && (doubts.IsZero() || time.Now().Before(doubts)):
			if doubts.IsZero() {
				doubts = doubtsUntil(ctx)
			}
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
			next, again = min(again, max(conflictPause, time.Until(doubts))), min(2*again, longestPause)
		case errors.Is(err, ErrConflict) && uncertain:
			// The servers know their latest messages by id, and look for a repetition first. This one may have
			// forgotten it at a restart.
			last, id, failed := c.newest(ctx, w)
			if failed != nil {
				return stored{err: fmt.Errorf("%w: %w", ErrUnavailable, failed)}
			}
			if id == w.id {
				return stored{last, true, nil}
			}
		default:
			wait = min(2*wait, longestPause)
		}
		if !errors.Is(err, ErrUnavailable) {
			return stored{sequence, repeated, err}
		}
		if w.again && errors.Is(err, errUnderWay) {
			switch {
			case since.IsZero():
				since = time.Now()
			case time.Since(since) >= underWayTime:
				w.id, since = first+"."+rand.Text(), time.Time{}
			}
		}
		uncertain = true
		select {
		case <-ctx.Done():
			return stored{err: err}
		case <-time.After(next):
		}
	}
}

// A conflictError is the refusal of a write whose expectation is not met.
type conflictError struct {
	last  uint64 // the last sequence of the subject, by the server that has answered
	known bool   // otherwise a message of the subject is under way on that server
	cause error
}

func (e *conflictError) Error() string { return fmt.Sprintf("%v: %v", ErrConflict, e.cause) }

func (e *conflictError) Unwrap() []error { return []error{ErrConflict, e.cause} }

// isDoubtful reports whether err is a conflict that a former leader may report: it names no later message
// than the expected one.
func isDoubtful(err error, w write) bool {
	var c *conflictError
	return errors.As(err, &c) && w.expect != nil && (!c.known || c.last <= *w.expect)
}

func (c *Cluster) attempt(ctx context.Context, w write) (uint64, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	options := []jetstream.PublishOpt{jetstream.WithMsgID(w.id), jetstream.WithRetryAttempts(0)}
	if w.stream != "" {
		options = append(options, jetstream.WithExpectStream(w.stream))
	}
	if w.expect != nil {
		options = append(options, jetstream.WithExpectLastSequencePerSubject(*w.expect))
	}
	ack, err := c.js.PublishMsg(ctx, &nats.Msg{Subject: w.subject, Data: w.body}, options...)
	if err != nil {
		return 0, false, refusal(err)
	}
	if ack.Sequence == 0 {
		return 0, false, fmt.Errorf("%w: %w", ErrUnavailable, errUnderWay)
	}
	return ack.Sequence, ack.Duplicate, nil
}

func (c *Cluster) newest(ctx context.Context, w write) (sequence uint64, id string, err error) {
	m, err := c.last(ctx, w.stream, w.subject)
	if err != nil || m == nil {
		return 0, "", err
	}
	return m.Sequence, m.Header.Get(jetstream.MsgIDHeader), nil
}

// last returns the last message of a subject from the leader of its stream, or nil if there is none.
func (c *Cluster) last(ctx context.Context, stream, subject string) (*jetstream.RawStreamMsg, error) {
	var m *jetstream.RawStreamMsg
	err := c.patiently(ctx, func(ctx context.Context) error {
		s, err := c.handle(ctx, stream)
		if err != nil {
			return err
		}
		if m, err = s.GetLastMsgForSubject(ctx, subject); errors.Is(err, jetstream.ErrMsgNotFound) {
			m, err = nil, nil
		}
		return err
	})
	return m, err
}

// handle returns a handle of a stream. It asks the server once.
func (c *Cluster) handle(ctx context.Context, stream string) (jetstream.Stream, error) {
	c.mu.Lock()
	s := c.handles[stream]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := c.js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handles[stream] = s
	return s, nil
}

// conflictOf reads the last sequence of a subject from the refusal of a write, "wrong last sequence: 7".
func conflictOf(answer *jetstream.APIError) *conflictError {
	e := &conflictError{cause: answer}
	if _, number, ok := strings.Cut(answer.Description, ": "); ok {
		last, err := strconv.ParseUint(number, 10, 64)
		e.last, e.known = last, err == nil
	}
	return e
}

// refusal turns an error of a publish into one of this package.
func refusal(err error) error {
	var answer *jetstream.APIError
	if !errors.As(err, &answer) {
		if errors.Is(err, nats.ErrMaxPayload) {
			return fmt.Errorf("%w: %w", ErrTooLarge, err)
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	switch answer.ErrorCode {
	case codeUnderWay:
		return fmt.Errorf("%w: %w", ErrUnavailable, errUnderWay)
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return conflictOf(answer)
	case jetstream.JSErrCodeStreamMessageExceedsMaximum:
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case codeInsufficient, codeStorageExceeded, codeStorageOfAccount, codeMemoryExceeded, codeStoreFailed:
		return fmt.Errorf("%w: %s", ErrFull, answer.Description)
	}
	if strings.Contains(answer.Description, "maximum") && strings.Contains(answer.Description, "exceeded") {
		return fmt.Errorf("%w: %s", ErrFull, answer.Description)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
