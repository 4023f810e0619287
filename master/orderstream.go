package master

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// orderTime is how long an order waits for the cluster.
const orderTime = 10 * time.Second

// applyPause is the wait after an entry that this member cannot carry out, for example for want of
// space on its disk.
const applyPause = time.Second

// publications is what the master needs of cluster.Publications.
type publications interface {
	Publish(ctx context.Context, name string, body []byte) (serial uint64, repeated bool, err error)
	Subscribe(ctx context.Context, after uint64, handle func(cluster.Publication) error) error
	First(ctx context.Context) (uint64, error)
	Last(ctx context.Context) (uint64, error)
	Identity(ctx context.Context) (string, error)
}

// An orderStream brings orders to all members: each carries out the entries of the stream of
// publications in their order, for the minions that are connected to it. The sequence of an entry in
// the stream gives its publications their serial numbers, so that these never go back for a minion
// that moves from one member to another.
//
// Entries that were written before this member started are recorded, and not sent: the other
// members have sent them.
type orderStream struct {
	base
	member string
	log    publications
	quorum func() error
	pub    *publishing
	done   *position

	newKey func() error // gives all minions a new session key; nil does nothing

	mu      sync.Mutex
	waiting map[string]*placed // orders of this member by nonce
	seen    map[string]int64   // nonces of the last entries, and when they were written
	swept   int64              // when seen was cleaned
	token   uint64             // of the latest lead in the stream
	start   uint64             // the end of the stream when this member started
	moved   bool               // an entry was carried out since
	begun   uint64             // sequence of the latest entry that was begun

	steps batchSteps
}

func newOrderStream(c *member, done *position, pub *publishing) *orderStream {
	return &orderStream{base: c.base, member: c.id, log: c.c.Publications(), quorum: c.c.Quorum, pub: pub,
		done: done, waiting: map[string]*placed{}, token: done.token, newKey: c.shared.secrets.Rotate}
}

// A placed order waits until this member has carried it out. Until done is closed, its fields are the
// stream's.
type placed struct {
	o    *order
	sent *sentJob
	err  error
	done chan struct{}
}

// newPlaced returns a copy of an order for the stream, which may still work on it when the caller has got a
// reply.
func newPlaced(o *order, sent *sentJob) *placed {
	own, to := *o, *sent
	own.load, own.kwargs = o.load.Clone(), o.kwargs.Clone()
	return &placed{o: &own, sent: &to, done: make(chan struct{})}
}

// order implements orderLog.
func (s *orderStream) order(ctx context.Context, o *order, sent *sentJob) (*sentJob, error) {
	r, err := recordOf(o, sent)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnrecorded, err)
	}
	name := string(sent.id) // so that two members cannot give one id to two jobs
	if sent.step {
		name = stepName(ctx, o)
	}
	p := newPlaced(o, sent)
	if err := s.place(ctx, r, name, p); err != nil {
		return nil, err
	}
	select {
	case <-p.done:
		return p.sent, nil
	default: // it is carried out later
		return sent, nil
	}
}

// stepName returns the name under which the stream takes a step of a job once from one leader. It has
// the target too, since this master may not know all minions that a step reaches through syndics.
func stepName(ctx context.Context, o *order) string {
	parts := append([]string{string(o.own.ID), strconv.FormatUint(tokenOf(ctx), 10),
		data.Repr(o.load.Value("tgt"))}, o.record.Minions...)
	return strings.Join(parts, "\x00")
}

// again implements orderLog.
func (s *orderStream) again(
	ctx context.Context, pub *job.Publication, minions []string, queued bool,
) error {
	o := &order{pub: pub}
	r := &orderRecord{Kind: kindAgain, JID: string(pub.JID), Minions: minions, Queued: queued}
	var err error
	if r.Pub, err = marshalPublication(pub); err != nil {
		return err
	}
	return s.place(ctx, r, "", &placed{o: o, sent: &sentJob{id: pub.JID}, done: make(chan struct{})})
}

// unqueue implements orderLog.
func (s *orderStream) unqueue(ctx context.Context, u unqueued) error {
	r := &orderRecord{Kind: kindUnqueue, JID: string(u.id), Minions: u.minions, State: string(u.state), Why: u.why}
	return s.place(ctx, r, "", &placed{done: make(chan struct{})})
}

// lead writes that this member leads. What an earlier leader writes after that is void.
func (s *orderStream) lead(ctx context.Context, token uint64) error {
	r := &orderRecord{Kind: kindLead, Token: token}
	return s.place(ctx, r, "", &placed{done: make(chan struct{})})
}

// place appends an entry and waits until this member has carried it out.
func (s *orderStream) place(ctx context.Context, r *orderRecord, name string, p *placed) error {
	if err := s.quorum(); err != nil {
		return fmt.Errorf("%w: %w", errUnrecorded, err)
	}
	r.Nonce, r.Member, r.At = rand.Text(), s.member, s.now().UnixMicro()
	if r.Token == 0 {
		r.Token = tokenOf(ctx)
	}
	body, err := r.marshal()
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.waiting[r.Nonce] = p
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, r.Nonce)
	}()
	ctx, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	serial, repeated, err := s.log.Publish(ctx, name, body)
	switch {
	case errors.Is(err, cluster.ErrUnavailable):
		return &doubt{r.about(), err}
	case err != nil:
		return fmt.Errorf("%w: %w", errUnrecorded, err)
	case repeated:
		return s.settle(ctx, r.about(), serial, p)
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		s.base.log.Warnf("An entry about %s is in the cluster; "+
			"this master is behind the others and carries it out later", r.about())
		return nil
	}
}

// settle finds out whether an entry that the stream had already is this order, whose acknowledgement
// was lost.
func (s *orderStream) settle(ctx context.Context, about string, serial uint64, p *placed) error {
	if err := s.done.await(ctx, serial); err != nil {
		return &doubt{about, err}
	}
	select {
	case <-p.done:
		return p.err
	default:
		return errTaken
	}
}

// catchUp waits until this member has carried out what the stream has now.
func (s *orderStream) catchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	last, err := s.log.Last(ctx)
	if err != nil {
		return err
	}
	return s.done.await(ctx, last)
}

// doubtTime is the wait for a serial until it is asked whether the stream has it.
const doubtTime = 2 * time.Second

// reach waits until this member has carried out everything up to a serial of the stream with an identity.
// It gives up a serial that the stream does not have. If that is of a stream that NATS has lost, it does
// not wait for the next one of that stream.
func (s *orderStream) reach(ctx context.Context, serial uint64, identity string) error {
	var short time.Time // since when the stream seems to end before
	for {
		waiting, cancel := context.WithTimeout(ctx, doubtTime)
		err := s.done.await(waiting, serial)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if s.done.isFormer(identity) {
			return nil
		}
		last, err := s.log.Last(ctx)
		switch {
		case err != nil:
		case last >= serial:
			short = time.Time{}
		case short.IsZero():
			short = time.Now()
		case time.Since(short) >= cluster.DeposedTime:
			serial = last
			s.noteLost(ctx, identity)
		}
	}
}

// noteLost notes that NATS has lost the stream with an identity, if the present one has another.
func (s *orderStream) noteLost(ctx context.Context, identity string) {
	present, err := s.log.Identity(ctx)
	if err == nil && identity != "" && identity != present {
		s.done.lost(identity)
	}
}

// begin notes where the stream ends when this member starts: before a minion can connect to it.
func (s *orderStream) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	last, err := s.log.Last(ctx)
	s.start = last
	return err
}

// run carries out the entries of the stream until ctx ends.
func (s *orderStream) run(ctx context.Context) error {
	return s.done.follow(ctx, s.log, following{
		read: func(after uint64) error {
			return s.log.Subscribe(ctx, after, func(p cluster.Publication) error { return s.take(ctx, p) })
		},
		missed: func(err error) {
			s.base.log.WithError(err).Error("Jobs of other masters are missing in the job cache of this one: " +
				"the cluster does not keep them any more")
			s.steps.forget()
		},
		anew: func(err error) error {
			s.base.log.WithError(err).Error("The cluster's stream of jobs is a new one")
			return s.renew(ctx)
		},
	})
}

// renew begins with a new stream. Serials and tokens of the old one say nothing about it.
func (s *orderStream) renew(ctx context.Context) error {
	stream, err := s.log.Identity(ctx)
	if err != nil {
		return err
	}
	last, err := s.log.Last(ctx)
	if err != nil {
		return err
	}
	if s.newKey != nil { // under the old one minions refuse the small serials
		if err := s.newKey(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token, s.begun = 0, 0
	s.steps.forget()
	if s.moved || s.start > last { // it is younger than this member's start
		s.start = 0
	}
	s.done.renew(stream)
	return nil
}

// take carries out one entry. It tries again until that succeeds, because the entries after it build
// on it.
func (s *orderStream) take(ctx context.Context, p cluster.Publication) error {
	if s.done.now() == 0 {
		s.done.reset(p.Serial - 1) // the stream begins there
	}
	if errors.Is(p.Problem, cluster.ErrUnknownKey) {
		s.steps.forget() // it may be one
		s.done.leaveOut(p.Serial)
		return nil
	}
	if errors.Is(p.Problem, cluster.ErrSealed) { // the cluster counts and logs those
		s.done.finish(p.Serial)
		return nil
	}
	r, err := parseOrder(p.Body)
	if err = cmp.Or(p.Problem, err); err != nil {
		s.base.log.WithError(err).Errorf("entry %d of the cluster's jobs is ignored", p.Serial)
		s.done.finish(p.Serial)
		return nil
	}
	if s.repeated(r) {
		s.quiet.Warnf(s.base.log, "repeated orders",
			"entry %d of the cluster's jobs is ignored: somebody has repeated %s", p.Serial, r.about())
		s.done.finish(p.Serial)
		return nil
	}
	for {
		err := s.apply(ctx, r, p.Serial)
		if err == nil {
			s.done.finishUnder(p.Serial, s.latest())
			return nil
		}
		s.quiet.Warnf(s.base.log.WithError(err), "orders of the cluster",
			"%s of master %s cannot be carried out here; trying again", r.about(), r.Member)
		if err := clock.Sleep(ctx, applyPause); err != nil {
			return err
		}
	}
}

// entryLife is how long after it was written an entry may come to be sent, by the clocks of the member that
// wrote it and of this one. NATS could repeat it after that.
const entryLife = 10 * time.Minute

// tellLate logs, with a rate limit for each member, that this one does not send what another has ordered.
func (s *orderStream) tellLate(r *orderRecord, late time.Duration) {
	s.quiet.Warnf(s.base.log, "late orders of "+r.Member,
		"Job %s of member %s is not sent to minions of this master: it was ordered %s ago. "+
			"Either this master was cut off or behind for so long, or the clocks of the two differ",
		r.JID, r.Member, late.Round(time.Second))
}

// repeated reports whether an entry was carried out before. Only somebody who writes into NATS repeats
// entries; minions of Salt would run the job again once they have forgotten its id.
func (s *orderStream) repeated(r *orderRecord) bool {
	now := s.now().UnixMicro()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]int64{}
	}
	if _, seen := s.seen[r.Nonce]; seen {
		return true
	}
	s.seen[r.Nonce] = r.At
	if now-s.swept > entryLife.Microseconds()/2 {
		s.swept = now
		maps.DeleteFunc(s.seen, func(_ string, at int64) bool { return now-at > 2*entryLife.Microseconds() })
	}
	return false
}

// apply carries out one entry; an error asks to try again.
func (s *orderStream) apply(ctx context.Context, r *orderRecord, serial uint64) error {
	s.mu.Lock()
	own := s.waiting[r.Nonce]
	late := r.Token > 0 && r.Token < s.token
	s.token = max(s.token, r.Token)
	s.begun = max(s.begun, serial)
	// an old one is recorded only: others have sent it, or somebody has repeated it
	age := s.now().Sub(time.UnixMicro(r.At))
	missed := serial > s.start && age > entryLife
	old := serial <= s.start || missed
	s.moved = true
	s.mu.Unlock()
	if own == nil {
		own = &placed{done: make(chan struct{})}
	}
	if late {
		own.finish(fmt.Errorf("%w: %w", errUnrecorded, errNotLeading))
		return nil
	}
	if missed && (r.Kind == kindOrder && r.Pub != nil || r.Kind == kindAgain) {
		s.tellLate(r, age)
	}
	switch r.Kind {
	case kindOrder:
		return s.applyOrder(ctx, r, own, int64(2*serial), old)
	case kindAgain:
		err := s.applyAgain(r, own, int64(2*serial), old)
		if err != nil && own.o == nil {
			s.base.log.WithError(err).Errorf("an order of master %s is ignored", r.Member)
		}
		own.finish(err)
	case kindUnqueue:
		return s.applyUnqueue(r, own)
	default:
		own.finish(nil)
	}
	return nil
}

// unsent returns those of the minions at work in a batch that got no step of it.
func (s *orderStream) unsent(id job.ID, active []string) []string { return s.steps.unsent(id, active) }

// known returns the sequence of the latest entry that a return may belong to. A minion may return while
// the entry of its job is still being carried out.
func (s *orderStream) known() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.begun, s.done.now())
}

// latest returns the token of the latest lead in the stream.
func (s *orderStream) latest() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

func (p *placed) finish(err error) {
	p.err = err
	close(p.done)
}

// applyOrder records a job, and sends it unless it is old.
func (s *orderStream) applyOrder(
	ctx context.Context, r *orderRecord, own *placed, serial int64, old bool,
) error {
	if own.o == nil {
		var err error
		if own.o, own.sent, err = r.order(); err != nil {
			s.base.log.WithError(err).Errorf("an order of master %s is ignored", r.Member)
			return nil
		}
		if !r.Apart {
			own.sent.tier = s.pub.tierOf(own.o)
		}
	}
	s.steps.note(job.ID(r.JID), own.o, s.now())
	own.o.serial, own.o.sentBefore = serial, old
	err := s.pub.carryOut(ctx, own.o, own.sent)
	if errors.Is(err, errUnrecorded) {
		return err
	}
	if err != nil && own.o.remote {
		s.base.log.WithError(err).Errorf("job %s of master %s is not sent to minions of this one",
			r.JID, r.Member)
	}
	own.finish(err)
	return nil
}

// applyAgain sends a publication again, unless it is old. Of one from the queue it notes, also if it is
// old, that its sending has begun.
func (s *orderStream) applyAgain(r *orderRecord, own *placed, serial int64, old bool) error {
	pub, err := publicationOf(r.Pub)
	if err != nil {
		return fmt.Errorf("publication of job %s: %w", r.JID, err)
	}
	if pub == nil {
		return fmt.Errorf("%w: an entry for job %s without a publication", payload.ErrInvalid, r.JID)
	}
	if r.Queued && own.o == nil {
		for _, id := range r.Minions {
			if err := s.pub.offline.begun(pub.JID, id); err != nil {
				s.base.log.WithError(err).Errorf("note that queued job %s was sent to minion %s", r.JID, id)
			}
		}
	}
	if old {
		return nil
	}
	return s.pub.publisher.Publish(pub, r.Minions, serial)
}

// applyUnqueue takes a job from the queue, also if the entry is old.
func (s *orderStream) applyUnqueue(r *orderRecord, own *placed) error {
	u, err := r.unqueued()
	if err != nil {
		s.base.log.WithError(err).Errorf("an entry of master %s is ignored", r.Member)
		own.finish(err)
		return nil
	}
	if err := s.pub.offline.drop(u); err != nil {
		return err
	}
	own.finish(nil)
	return nil
}
