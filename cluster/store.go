package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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

// persist sends a message until it is acknowledged, refused, or ctx ends.
func persist(ctx context.Context, c streamer, w write) stored {
	uncertain, moved := false, false
	first := w.id
	var since time.Time // when the message was under way
	for wait := pause; ; wait = min(2*wait, longestPause) {
		sequence, repeated, err := c.attempt(ctx, w)
		if errors.Is(err, ErrConflict) && w.expect != nil && uncertain && !moved {
			// An earlier attempt may be what this one conflicts with.
			last, id, failed := c.newest(ctx, w)
			switch {
			case failed != nil:
				return stored{err: fmt.Errorf("%w: %w", ErrUnavailable, failed)}
			case id == w.id:
				return stored{last, true, nil}
			}
			// The server looks for repetitions first: once a later message is stored, one more attempt says
			// which it was. Until then the conflict is with a message that is not stored yet.
			moved = last != *w.expect
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
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
		case <-time.After(wait):
		}
	}
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
		return fmt.Errorf("%w: %w", ErrConflict, err)
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
