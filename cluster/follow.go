package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// A lost consumer, or a server that stands still, is noticed after two heartbeats.
	followBeat   = time.Second
	followExpiry = 5 * time.Second
	followIdle   = 30 * time.Second // until the server drops the consumer of a member that is gone
	followBytes  = 4 << 20          // messages under way to this member, or one that is larger
	// followDoubt is how long nothing may come before the leader of the stream is asked for its end:
	// a consumer is on one replica, which can fall behind without an error.
	followDoubt = 3 * time.Second
)

// DeposedTime is how long a stream may seem to end early, as it does on a server that was cut off and has not
// noticed yet that another one leads. After it the end is believed.
const DeposedTime = 10 * time.Second

// A follower reads a stream in order from a position on, across restarts of servers.
type follower struct {
	c      *Cluster
	stream string
	after  uint64 // sequence of the last message that the caller has
	strict bool   // messages are not overwritten: a missing sequence after the first message is an error
	handle func(message) error
	idle   func() // called when everything is read that the stream had; may be nil

	identity string    // of the stream; "" before it is known
	target   uint64    // the end of the stream, as its leader told
	consumed uint64    // messages of the present consumer
	server   string    // name of the NATS server that hosts the present consumer
	before   uint64    // sequence before the first message when the present consumer was made
	gone     []uint64  // sequences that were overwritten then, in order
	lacking  time.Time // since when messages after the position are found nowhere
	early    time.Time // since when the stream seems to end before after
}

// A message is one message of a stream.
type message struct {
	sequence uint64
	at       time.Time
	subject  string
	body     []byte
}

// errAgain asks for a new consumer.
var errAgain = errors.New("a message is missing")

// run calls handle for each message until ctx ends, which is no error, or handle fails. Errors of
// the servers make it try again; without an answer it waits.
func (f *follower) run(ctx context.Context) error {
	for wait := pause; ; wait = min(2*wait, longestPause) {
		before := f.after
		attempt, cancel := f.attempt(ctx)
		err := f.round(attempt)
		var stop *stopped
		switch {
		case ctx.Err() != nil:
			cancel()
			return nil
		case errors.As(err, &stop):
			cancel()
			return fmt.Errorf("read stream %s: %w", f.stream, stop.err)
		}
		f.c.o.Log.WithError(err).Debugf("read stream %s from %d on: trying again", f.stream, f.after+1)
		if f.after != before {
			wait = pause
		}
		select {
		case <-attempt.Done(): // also if ctx has ended
			wait = pause
		case <-time.After(wait):
		}
		cancel()
	}
}

// attempt returns the context of one round. Without a quorum it ends when the quorum returns: what was asked
// before that may wait for an answer that was lost.
func (f *follower) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	attempt, cancel := context.WithCancel(ctx)
	if f.c.pulse == nil { // it is joining
		return attempt, cancel
	}
	changed := f.c.Changed()
	if f.c.Quorum() != nil {
		go func() {
			select {
			case <-changed:
				cancel()
			case <-attempt.Done():
			}
		}()
	}
	return attempt, cancel
}

// stopped is an error that ends run.
type stopped struct{ err error }

func (s *stopped) Error() string { return s.err.Error() }
func (s *stopped) Unwrap() error { return s.err }

// round reads with one consumer until it fails.
func (f *follower) round(ctx context.Context) error {
	consumer, err := f.consumer(ctx)
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullHeartbeat(followBeat),
		jetstream.PullExpiry(followExpiry), jetstream.PullMaxMessagesWithBytesLimit(1024, f.c.pullBytes()),
		jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return err
	}
	info := consumer.CachedInfo()
	defer f.discard(info.Name)
	defer messages.Stop()
	f.announce()
	f.consumed, f.server = 0, "(unknown)"
	if info.Cluster != nil && info.Cluster.Leader != "" {
		f.server = info.Cluster.Leader
	}
	stop := context.AfterFunc(ctx, messages.Stop)
	defer stop()
	for {
		m, err := messages.Next(jetstream.NextMaxWait(followDoubt))
		switch {
		case errors.Is(err, nats.ErrTimeout):
			err = f.compare(ctx)
		case err == nil:
			err = f.take(ctx, m)
		}
		if err != nil {
			return err
		}
	}
}

// pullBytes returns how many bytes a consumer may send at once. The largest message that a stream can have
// must be among them: a server that cannot send the next message for its size sends nothing.
func (c *Cluster) pullBytes() int { return max(followBytes, int(c.maxPayload.Load())+slack) }

// compare returns an error if the stream has messages that the consumer has not delivered.
func (f *follower) compare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	s, err := f.c.handle(ctx, f.stream)
	if err != nil {
		return err
	}
	info, err := s.Info(ctx)
	if err != nil {
		return nil //nolint:nilerr // the consumer may still be the better source
	}
	if info.State.LastSeq > f.after && info.State.Msgs > 0 {
		f.c.o.Log.Infof("stream %s: %d messages are not delivered; trying another replica", f.stream,
			info.State.LastSeq-f.after)
		return errAgain
	}
	return nil
}

// consumer makes a consumer for what comes after the position.
func (f *follower) consumer(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	s, err := f.c.handle(ctx, f.stream)
	if err != nil {
		return nil, err
	}
	var options []jetstream.StreamInfoOpt
	if !f.strict {
		options = append(options, jetstream.WithDeletedDetails(true))
	}
	info, err := s.Info(ctx, options...)
	if err != nil {
		return nil, err
	}
	identity := identityOf(info)
	if f.identity != "" && identity != f.identity {
		return nil, &stopped{fmt.Errorf("%w: it was made at %s", ErrRestarted, info.Created.UTC().Format(time.RFC3339))}
	}
	f.identity = identity
	if err := f.checkEnd(info.State.LastSeq); err != nil {
		return nil, err
	}
	f.target = 0
	if info.State.Msgs > 0 {
		f.target = info.State.LastSeq
	}
	f.before, f.gone = max(info.State.FirstSeq, 1)-1, info.State.Deleted
	slices.Sort(f.gone)
	if f.strict && f.after > 0 && f.before > f.after {
		return nil, &stopped{&Gap{f.after + 1, f.before}}
	}
	return s.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: f.after + 1,
		AckPolicy: jetstream.AckNonePolicy, MaxDeliver: 1, InactiveThreshold: followIdle,
		MemoryStorage: true, Replicas: 1,
	})
}

// checkEnd fails if the stream ends before the position for a while.
func (f *follower) checkEnd(last uint64) error {
	switch {
	case last >= f.after:
		f.early = time.Time{}
		return nil
	case f.early.IsZero():
		f.early = time.Now()
	case time.Since(f.early) > DeposedTime:
		return &stopped{fmt.Errorf("%w: it ends at %d, the position is %d", ErrRestarted, last, f.after)}
	}
	return errAgain
}

// discard removes the consumer. The server does so by itself, too, but later.
func (f *follower) discard(name string) {
	_ = f.c.nc.PublishMsg(&nats.Msg{Subject: f.c.apiPrefix() + "CONSUMER.DELETE." + f.stream + "." + name})
}

// apiPrefix returns how subjects of JetStream's API begin.
func (c *Cluster) apiPrefix() string {
	if c.o.Domain == "" {
		return jetstream.DefaultAPIPrefix
	}
	return "$JS." + c.o.Domain + ".API."
}

// take hands a message of the consumer to the caller, after those that only the leader of the stream has.
func (f *follower) take(ctx context.Context, m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return fmt.Errorf("read a message: %w", err)
	}
	if f.consumed++; meta.Sequence.Consumer != f.consumed {
		return errAgain
	}
	sequence := meta.Sequence.Stream
	if sequence <= f.after {
		return errAgain
	}
	if err := f.fill(ctx, sequence); err != nil {
		return err
	}
	return f.deliver(message{sequence, meta.Timestamp, m.Subject(), m.Data()})
}

// deliver hands a message to the caller.
func (f *follower) deliver(m message) error {
	if err := f.handle(m); err != nil {
		return &stopped{err}
	}
	f.after, f.lacking = m.sequence, time.Time{}
	f.announce()
	return nil
}

// mostFilled is how many messages fill delivers before another replica is asked for the rest.
const mostFilled = 100

// fill delivers what the leader of the stream has between the position and a message that the consumer has
// delivered. A replica can lack messages for good: with nats-server 2.10 this was seen after its disk had been
// full.
func (f *follower) fill(ctx context.Context, end uint64) error {
	if !f.hole(end) {
		return nil
	}
	s, err := f.c.handle(ctx, f.stream)
	if err != nil {
		return err
	}
	var filled []uint64
	defer func() {
		if len(filled) > 0 {
			f.c.o.Log.Warnf("fetched %d messages of stream %s from its leader, %d to %d: NATS server %s lacks them",
				len(filled), f.stream, filled[0], filled[len(filled)-1], f.server)
		}
	}()
	for f.hole(end) {
		if len(filled) == mostFilled {
			return errAgain
		}
		next, err := f.next(ctx, s, end)
		if next == nil || err != nil {
			return err
		}
		err = f.deliver(message{next.Sequence, next.Time, next.Subject, next.Data})
		if err != nil {
			return err
		}
		filled = append(filled, next.Sequence)
	}
	return nil
}

// hole reports whether a message may be missing between the position and a later one.
func (f *follower) hole(end uint64) bool {
	after := max(f.after, f.before)
	if end <= after+1 {
		return false
	}
	from, _ := slices.BinarySearch(f.gone, after+1)
	to, _ := slices.BinarySearch(f.gone, end)
	return uint64(to-from) < end-after-1
}

// next returns the first message after the position that the leader of a stream has, or nil if there is none
// before the sequence end.
func (f *follower) next(ctx context.Context, s jetstream.Stream, end uint64) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	after := max(f.after, f.before)
	m, err := s.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(">"))
	// the leader lacks them too, or it is deposed and has not noticed, or its disk is damaged
	unknown := errors.Is(err, jetstream.ErrMsgNotFound)
	if err != nil && !unknown {
		return nil, err
	}
	found := end
	if !unknown {
		found = min(m.Sequence, end)
	}
	// before the first message of a strict stream they can have expired since the consumer was made
	overwritten := !unknown && (!f.strict || f.after == 0)
	switch {
	case found == after+1, overwritten:
	case !f.overdue():
		return nil, errAgain // another replica may have it
	case f.strict && f.after > 0:
		return nil, &stopped{&Gap{after + 1, found - 1}}
	}
	if found == end {
		return nil, nil
	}
	return m, nil
}

// overdue reports whether messages after the position are found nowhere for so long that they are gone.
func (f *follower) overdue() bool {
	if f.lacking.IsZero() {
		f.lacking = time.Now()
	}
	return time.Since(f.lacking) > DeposedTime
}

// announce calls idle if the end is reached. What the consumer has pending does not tell, because
// its replica may be behind.
func (f *follower) announce() {
	if f.idle != nil && f.after >= f.target {
		f.idle()
	}
}
