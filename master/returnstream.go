package master

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/cluster"
	spools "github.com/brineproject/brine/cluster/spool"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/compress"
	"github.com/brineproject/brine/payload/typed"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/transport"
)

const (
	// returnTimeout is how long a return waits for the cluster before it goes to this member's disk.
	returnTimeout = 5 * time.Second
	// returnsAtOnce is how many returns are stored at one time. The job cache writes those that wait
	// for it together.
	returnsAtOnce = 128
	// mostBehind is how many entries this member may be behind the stream and still take returns for
	// it. What comes then goes to its disk. So many entries of several returns have half a gigabyte at
	// most, those of a single return each four times as much.
	mostBehind = 4000
	// spoolPause is the wait between two attempts to hand on what is on this member's disk.
	spoolPause = time.Second
)

// clusterReturns is what the master needs of cluster.Returns.
type clusterReturns interface {
	Add(ctx context.Context, body []byte) (sequence uint64, err error)
	Subscribe(ctx context.Context, after uint64, handle func(cluster.ReturnEntry) error) error
	First(ctx context.Context) (uint64, error)
	Last(ctx context.Context) (uint64, error)
	Identity(ctx context.Context) (string, error)
}

// A spool keeps entries on disk, in their order. Package cluster/spool implements it.
type spool interface {
	Put(entry []byte) error
	First() (name string, entry []byte, ok bool, err error)
	Remove(name string) error
	SetAside(name string) (kept string, err error)
	Len() int
	Bytes() (used, limit int64)
}

// A clusterReturn is a return in the stream.
type clusterReturn struct {
	Member  string `codec:"member"` // that received it
	JID     string `codec:"jid"`
	Minion  string `codec:"minion"`
	Load    []byte `codec:"load"`
	Size    int    `codec:"size,omitempty"`   // of Load, which is in the form of package compress if this is not 0
	At      int64  `codec:"at"`               // microseconds since 1970
	After   uint64 `codec:"after"`            // orders that its member knew
	Orders  string `codec:"orders,omitempty"` // identity of their stream
	NoCache bool   `codec:"nocache,omitempty"`
	Own     bool   `codec:"own,omitempty"`
	Nonce   string `codec:"nonce,omitempty"` // by which a return is known that was added twice
	// its member did not know the job, and could not learn whether the cluster does. After is then set when
	// the return is added to the stream
	Unsure bool `codec:"unsure,omitempty"`
	// a syndic sent it, which speaks for the minion at the member that received it
	Spoken bool `codec:"spoken,omitempty"`
	// a job that nobody ordered, which is saved first where it is unknown
	Job *ownJobRecord `codec:"job,omitempty"`
}

type ownJobRecord struct {
	Load    []byte   `codec:"load"`
	Minions []string `codec:"minions"`
	Started int64    `codec:"started"` // microseconds since 1970
}

// A returnStream brings returns to all members. A return is acknowledged to its minion when a
// majority of the cluster's servers has it, or without a majority when it is on this member's disk.
type returnStream struct {
	base
	member string
	log    clusterReturns
	quorum func() error
	ret    *returning
	orders *orderStream
	done   *position
	spool  spool
	last   atomic.Uint64 // sequence of the last entry to which this member has added
	start  atomic.Uint64 // the end of the stream when this member started

	pending ownPending
	seen    announced // returns that are not kept
	kept    recent    // those that are
}

// add implements returnLog.
func (s *returnStream) add(ctx context.Context, a *admitted) error {
	if s.ret.keeps(a) && s.kept.has(subjectOf(a.jid, a.minion)) && s.ret.has(ctx, a.jid, a.minion) {
		return s.ret.keep(ctx, a) // a repetition, or a second return that is refused
	}
	r := s.recordOf(a)
	if a.own {
		s.pending.add(r.Nonce, a.minion, len(a.raw))
	}
	err := s.quorum()
	if err == nil {
		err = s.behind()
	}
	if err == nil {
		err = s.hand(ctx, r)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, cluster.ErrTooLarge) && !a.unsure: // that of an unknown job waits on disk
		s.tellTooLarge(r, err)
		counts, err := s.ret.put(ctx, a)
		s.pending.settle(r.Nonce, counts)
		return err
	}
	body, err := typed.Marshal(r)
	if err == nil {
		err = s.keepOnDisk(r, body)
	}
	if err != nil {
		s.pending.settle(r.Nonce, false) // the minion sends it again
		return fmt.Errorf("keep return of minion %s for job %s until the cluster answers: %w", a.minion, a.jid, err)
	}
	return nil
}

// keepOnDisk stores an entry until the cluster takes it. Returns that no job cache keeps, which no quota limits, may
// fill a half of the room.
func (s *returnStream) keepOnDisk(r *clusterReturn, body []byte) error {
	if used, limit := s.spool.Bytes(); r.NoCache && used+int64(len(body)) > limit/2 {
		return fmt.Errorf("%w: the other half is for returns of jobs that are kept", spools.ErrFull)
	}
	return s.spool.Put(body)
}

// recordOf returns the entry of a return.
func (s *returnStream) recordOf(a *admitted) *clusterReturn {
	load, short := compress.Encode(a.raw)
	r := &clusterReturn{Member: s.member, JID: string(a.jid), Minion: a.minion, Load: load,
		At: a.at.UnixMicro(), After: s.orders.known(), Orders: s.orders.done.identity(),
		NoCache: a.job.NoCache, Own: a.own, Nonce: rand.Text(), Unsure: a.unsure, Spoken: a.spoken}
	if short {
		r.Size = len(a.raw)
	}
	if a.fresh || a.own && !a.job.NoCache { // others may store this return before the first of its job
		r.Job = &ownJobRecord{Load: a.job.Load, Started: a.job.Started.UnixMicro()}
		if expects(a.job, a.minion) { // the other minions come with returns of their own
			r.Job.Minions = []string{a.minion}
		}
	}
	return r
}

// hand passes an entry to the cluster.
func (s *returnStream) hand(ctx context.Context, r *clusterReturn) error {
	ctx, cancel := context.WithTimeout(ctx, returnTimeout)
	defer cancel()
	if r.Unsure { // if somebody has ordered the job, the stream has the order now
		last, err := s.orders.log.Last(ctx)
		if err != nil {
			return err
		}
		if id := s.orders.done.identity(); r.Orders != id { // of a stream that NATS has lost meanwhile
			r.After, r.Orders = last, id
		}
		r.After = max(r.After, last)
	}
	body, err := typed.Marshal(r)
	if err != nil {
		return err
	}
	sequence, err := s.log.Add(ctx, body)
	if err != nil {
		return fmt.Errorf("store return of minion %s for job %s in the cluster: %w", r.Minion, r.JID, err)
	}
	s.last.Store(sequence)
	return nil
}

func (s *returnStream) tellTooLarge(r *clusterReturn, err error) {
	s.base.log.WithError(err).Errorf("Return of minion %s for job %s is known to this master only",
		r.Minion, r.JID)
}

// behind returns an error if this member is so far behind the stream that entries could be dropped
// from it before this member has stored them.
func (s *returnStream) behind() error {
	if at, last := s.done.now(), s.last.Load(); at+mostBehind < last {
		return fmt.Errorf("this master is %d entries of returns behind its cluster", last-at)
	}
	return nil
}

// subject returns what a return is about. A minion returns to a job once; returns without a job are all
// different.
func (r *clusterReturn) subject() string {
	if jid := job.ID(r.JID); jid == job.NoCache || jid == job.Req {
		return r.Nonce
	}
	return subjectOf(job.ID(r.JID), r.Minion)
}

func subjectOf(id job.ID, minion string) string { return string(id) + " " + minion }

// handOn passes what is on this member's disk to the cluster, until ctx ends.
func (s *returnStream) handOn(ctx context.Context) error {
	for {
		err := s.handOnAll(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.quiet.Warnf(s.base.log.WithError(err), "returns on disk",
				"%d returns wait on disk until the cluster takes them", s.spool.Len())
		}
		if err := clock.Sleep(ctx, spoolPause); err != nil {
			return err
		}
	}
}

func (s *returnStream) handOnAll(ctx context.Context) error {
	for s.quorum() == nil && s.behind() == nil {
		name, body, ok, err := s.spool.First()
		if err == nil && !ok {
			return nil
		}
		var r *clusterReturn
		if err == nil {
			r, err = parseReturn(body)
		}
		if err != nil {
			if err := s.setAside(name, err); err != nil {
				return err
			}
			continue
		}
		err = s.hand(ctx, r)
		if errors.Is(err, cluster.ErrTooLarge) {
			s.tellTooLarge(r, err)
			err = s.keepHere(ctx, r)
		}
		if err != nil {
			return err
		}
		if err := s.spool.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// setAside skips an entry on disk that cannot be read. It returns the error if that may pass.
func (s *returnStream) setAside(name string, why error) error {
	if name == "" || errors.Is(why, spools.ErrBusy) {
		return why
	}
	kept, err := s.spool.SetAside(name)
	s.base.log.WithError(errors.Join(why, err)).Errorf(
		"return %s on disk cannot be read and is skipped; it is kept as %s", name, kept)
	return nil
}

// keepHere stores a return on disk that the cluster does not take. An error asks to try again.
func (s *returnStream) keepHere(ctx context.Context, r *clusterReturn) error {
	if r.Unsure {
		waiting, cancel := context.WithTimeout(ctx, orderTime)
		defer cancel()
		if err := s.awaitOrder(waiting, r); err != nil {
			return err
		}
	}
	counts, err := s.apply(ctx, r, 0)
	if isRefusal(err) {
		s.tellRefused(r, err)
		err = nil
	}
	if err == nil || counts {
		s.pending.settle(r.Nonce, counts)
	}
	return err
}

// isRefusal reports whether storing a return again would fail in the same way.
func isRefusal(err error) bool {
	return errors.Is(err, returners.ErrConflict) || errors.Is(err, errRefused)
}

func (s *returnStream) tellRefused(r *clusterReturn, err error) {
	s.quiet.Warnf(s.base.log.WithError(err), "refused "+r.Minion, "Return of minion %s for job %s refused", r.Minion,
		r.JID)
}

func parseReturn(body []byte) (*clusterReturn, error) {
	var r clusterReturn
	limits := payload.WireLimits()
	limits.Size = max(limits.Size, len(body))
	if err := typed.Unmarshal(body, limits, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// catchUp waits until this member has stored what the stream has now.
func (s *returnStream) catchUp(ctx context.Context) error {
	last, err := s.log.Last(ctx)
	if err != nil {
		return err
	}
	return s.done.await(ctx, last)
}

// begin notes where the stream ends: what it has is stored, and not announced again.
func (s *returnStream) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	last, err := s.log.Last(ctx)
	s.start.Store(last)
	return err
}

// run stores the returns of the stream until ctx ends.
func (s *returnStream) run(ctx context.Context) error {
	return s.done.follow(ctx, s.log, following{
		read: func(after uint64) error { return s.read(ctx, after) },
		missed: func(err error) {
			s.base.log.WithError(err).Error("Returns are missing in the job cache of this master: " +
				"the cluster does not keep them any more")
			s.pending.forget()
		},
		anew: func(err error) error {
			s.base.log.WithError(err).Error("The cluster's stream of returns is a new one")
			stream, err := s.log.Identity(ctx)
			if err != nil {
				return err
			}
			s.last.Store(0)
			s.start.Store(0)
			s.pending.forget()
			s.done.renew(stream)
			return nil
		},
	})
}

// read stores the returns after a sequence, several at once, until the stream fails or ctx ends.
func (s *returnStream) read(ctx context.Context, after uint64) error {
	crew := transport.NewCrew(returnsAtOnce, func(do func()) { do() })
	defer crew.Dismiss(math.MaxInt64) // when their work is done, or ctx ends
	var order lines                   // returns to the same job of the same minion: all members keep the same one
	begun := after > 0
	return s.log.Subscribe(ctx, after, func(e cluster.ReturnEntry) error {
		if !begun {
			s.done.reset(e.Sequence - 1) // the stream begins there
			begun = true
		}
		switch {
		case s.done.has(e.Sequence): // before the stream was followed anew
			return nil
		case errors.Is(e.Problem, cluster.ErrUnknownKey):
			s.done.leaveOut(e.Sequence)
			return nil
		case errors.Is(e.Problem, cluster.ErrSealed): // the cluster counts and logs those
			s.done.finish(e.Sequence)
			return nil
		case e.Problem != nil:
			s.quiet.Warnf(s.base.log.WithError(e.Problem), "damaged returns",
				"entry %d of the cluster's returns is ignored", e.Sequence)
			s.done.finish(e.Sequence)
			return nil
		}
		all := s.parse(e)
		var left atomic.Int64
		left.Store(int64(len(all)))
		if len(all) == 0 {
			s.done.finish(e.Sequence)
		}
		for _, r := range all {
			place := order.join(r.subject())
			do := func() {
				defer place.end()
				if place.await(ctx) && s.take(ctx, e.Sequence, r) && left.Add(-1) == 0 {
					s.done.finish(e.Sequence)
				}
			}
			if crew.Submit(do) {
				continue
			}
			select {
			case crew.Queue() <- do:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
}

// parse returns the returns of an entry that can be read.
func (s *returnStream) parse(e cluster.ReturnEntry) (all []*clusterReturn) {
	for i, body := range e.Returns {
		r, err := parseReturn(body)
		if err != nil {
			s.base.log.WithError(err).Errorf("return %d of entry %d of the cluster's returns is ignored", i+1, e.Sequence)
			continue
		}
		all = append(all, r)
	}
	return all
}

// take stores a return of an entry. It tries again until that succeeds, and returns false if ctx ends
// before.
func (s *returnStream) take(ctx context.Context, sequence uint64, r *clusterReturn) bool {
	if s.awaitOrder(ctx, r) != nil {
		return false
	}
	counts := false
	for {
		stored, err := s.apply(ctx, r, sequence)
		counts = counts || stored
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
		case isRefusal(err):
			s.tellRefused(r, err)
		default:
			s.quiet.Warnf(s.base.log.WithError(err), "returns of the cluster",
				"return of minion %s for job %s cannot be stored here; trying again", r.Minion, r.JID)
			if clock.Sleep(ctx, applyPause) != nil {
				return false
			}
			continue
		}
		s.pending.settle(r.Nonce, counts)
		if !r.NoCache {
			s.kept.note(r.subject())
		}
		return true
	}
}

// awaitOrder waits until this member knows the order of a return. Those of a stream that NATS has lost are known
// by all, or by none.
func (s *returnStream) awaitOrder(ctx context.Context, r *clusterReturn) error {
	if s.orders.done.isFormer(r.Orders) {
		return nil
	}
	return s.orders.reach(ctx, r.After, r.Orders)
}

// apply stores the return of an entry, and announces it unless the entry is older than this member's start.
// The sequence is 0 for a return that the stream does not have. counts is true if the return, or the record
// of its job, was stored and uses up the quota of the minion.
func (s *returnStream) apply(
	ctx context.Context, r *clusterReturn, sequence uint64,
) (counts bool, err error) {
	load, fields, err := r.open()
	if err != nil {
		return false, fmt.Errorf("%w: %w", errRefused, err)
	}
	a := &admitted{jid: job.ID(r.JID), minion: r.Minion, fields: fields, raw: load, own: r.Own,
		at: time.UnixMicro(r.At), remote: r.Member != s.member,
		old: sequence > 0 && sequence <= s.start.Load()}
	if a.job, a.fresh, err = s.jobOf(ctx, r); err != nil {
		return false, err
	}
	if !s.ret.keeps(a) && s.seen.repeated(r.subject(), place{sequence, r.Nonce}) {
		return false, nil
	}
	counts, err = s.ret.put(ctx, a)
	return counts && (a.job.NoCache || isOwn(a.job)), err
}

// open returns what the minion sent, and its fields.
func (r *clusterReturn) open() (load data.Raw, fields payload.Fields, err error) {
	load = r.Load
	if r.Size != 0 {
		if load, err = compress.Decode(load, r.Size); err != nil {
			return nil, nil, err
		}
	}
	fields, err = payload.ParseFields(load, payload.WireLimits())
	return load, fields, err
}

// jobOf returns the job of a return, and whether it is to be saved first.
func (s *returnStream) jobOf(ctx context.Context, r *clusterReturn) (j *returners.Job, fresh bool, err error) {
	id := job.ID(r.JID)
	known, err := s.ret.jobs.Job(ctx, id)
	switch {
	case r.NoCache && r.Job == nil &&
		(!r.Unsure || errors.Is(err, returners.ErrUnknownJob) || err == nil && isOwn(known)):
		if err == nil && known.NoCache {
			return known, false, nil
		}
		return &returners.Job{ID: id, NoCache: true}, false, nil
	case errors.Is(err, returners.ErrUnknownJob) && r.Job != nil:
		return &returners.Job{ID: id, Load: r.Job.Load, Minions: r.Job.Minions, NoCache: r.NoCache,
			Started: time.UnixMicro(r.Job.Started)}, true, nil
	case errors.Is(err, returners.ErrUnknownJob): // dropped here, as old jobs are
		return &returners.Job{ID: id, NoCache: true}, false, nil
	case err != nil:
		return nil, false, err
	}
	taken := r.Own || r.Unsure // by its member, for one of a job that nobody ordered
	switch {
	case expects(known, r.Minion):
	case r.Unsure && exactTarget(known), r.Own && !isOwn(known) && exactTarget(known):
		sy := s.ret.syndics
		err = s.ret.admitSyndic(ctx, known, r.Minion, sy != nil && (r.Spoken || sy.Is(r.Minion)))
	case taken && isOwn(known) && (r.Job == nil || len(r.Job.Minions) == 0): // it is expected by no member
	default: // the member that received it has admitted the minion, for example one behind a syndic
		err = s.ret.jobs.AddMinions(ctx, id, []string{r.Minion})
	}
	return known, false, err
}
