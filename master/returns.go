package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/transport"
)

// returning handles the command _return (salt/master.py, AESFuncs._return; salt/utils/job.py,
// store_job).
//
// The returned value is not decoded: it goes to the job cache and the event bus as received.
//
// Minions of Salt 3006.0 to 3006.11 send no proof with returns, so any accepted minion could send
// one in another's name. Such a return is accepted only if [presence.trusts] allows it.
type returning struct {
	base
	jobs         returners.JobCache
	mirror       *mirror
	ownJobs      *ownReturner
	keys         *pki.Dir
	presence     *presence
	progress     *progress
	syndics      *syndics // nil if there are none
	quota        *ownQuota
	cacheReturns bool      // job_cache
	cluster      returnLog // nil if this master is alone
}

// A returnLog brings returns to all masters of a cluster.
type returnLog interface {
	// add returns when the return cannot be lost any more.
	add(ctx context.Context, ret *admitted) error
	// catchUp returns when this master knows all jobs that the cluster knows now. It fails at once without
	// a quorum, or if too many wait already. size is how many bytes the caller keeps meanwhile.
	catchUp(ctx context.Context, size int) error
}

// An admitted return is one that its minion may send.
type admitted struct {
	jid    job.ID
	minion string
	fields payload.Fields
	raw    data.Raw // fields as stored
	job    *returners.Job
	fresh  bool      // job is to be saved first
	own    bool      // nobody ordered the job: the return counts for the quota of its minion
	unsure bool      // the job is unknown here, and may be one that another master of the cluster ordered
	at     time.Time // when it was received
	spoken bool      // a syndic sent it, which speaks for the minion
	remote bool      // another master of the cluster received it
	old    bool      // others have announced it before this master started
}

// errRefused is wrapped for returns that are not accepted.
var errRefused = errors.New("return refused")

// ret stores a return and announces it. The reply is sent when it is on disk.
func (r *returning) ret(ctx context.Context, c *channel.Command) (any, error) {
	load := c.Load
	id := c.Caller.ID
	jid, ok := load.Text("jid")
	if !ok || !load.Has("return") || pki.ValidID(id) != nil {
		return nil, nil
	}
	if !r.presence.trusts(c) {
		r.refuse(c)
		return nil, nil
	}
	if err := r.checkSignature(load, id, c.Version); err != nil {
		r.log.WithError(err).Warnf("Return of minion %s refused", id)
		r.progress.refused(ctx, job.ID(jid), id, err)
		return false, nil
	}
	load.Delete("sig")
	if r.syndics != nil {
		r.syndics.NoteMinion(id)
	}
	r.log.Infof("Got return from %s for job %s", id, job.ID(jid))
	// A received return is stored even if the minion no longer waits for the reply.
	err := r.store(context.WithoutCancel(ctx), &received{jid: job.ID(jid), minion: id, load: load, body: c.Body})
	if err != nil {
		if errors.Is(err, errRefused) || errors.Is(err, returners.ErrConflict) {
			r.log.WithError(err).Warnf("Return of minion %s for job %s refused", id,
				strconv.QuoteToGraphic(jid))
			return nil, nil
		}
		return nil, fmt.Errorf("store return of minion %s for job %s: %w", id, jid, err)
	}
	return nil, nil
}

// refuse logs, with a rate limit, that a return without proof came from another host than its
// minion.
func (r *returning) refuse(c *channel.Command) {
	r.quiet.Warnf(r.log, "return "+c.Caller.ID,
		"Return for minion %s came from %s without proof and is refused",
		c.Caller.ID, transport.HostOf(c.Caller.Remote))
}

// checkSignature applies the policy for signed returns (minion_sign_messages). The fields that
// version 3 adds to a command are not covered by the signature.
func (r *returning) checkSignature(load payload.Fields, id string, version int) error {
	sig, signed := load.Bytes("sig")
	if !signed {
		if r.settings.config().RequireMinionSignMessages {
			return errors.New("the return is not signed and require_minion_sign_messages is on")
		}
		return nil
	}
	if !r.settings.config().DropMessagesSignatureFail {
		return nil // Salt checks the signature and ignores the result
	}
	unsigned := slices.DeleteFunc(slices.Clone(load), func(f payload.Field) bool {
		return f.Key == "sig" || f.Key == "ts" && version >= 3
	})
	key, err := r.keys.AcceptedKey(id)
	if err != nil {
		return err
	}
	body, err := payload.Rewrite(unsigned.Marshal(), true)
	if err != nil {
		return err
	}
	if err := key.Verify(body, sig, crypto.SHA1Sign); err != nil {
		return fmt.Errorf("verify signature: %w", err)
	}
	return nil
}

// A received return is one whose sender is known.
type received struct {
	jid    job.ID
	minion string
	load   payload.Fields
	body   []byte        // the buffer that holds load; it may be overwritten
	bundle *syndicReturn // that the return came with; nil if the minion sent it itself
}

// store finds the job of a return, stores the return and announces it.
func (r *returning) store(ctx context.Context, ret *received) error {
	known, jid, load, err := r.find(ctx, ret)
	if err != nil {
		return err
	}
	raw, load, err := rewritten(load, ret.body)
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	if !r.admit(ctx, &known, ret.minion, len(raw)) {
		return nil
	}
	a := &admitted{jid: jid, minion: ret.minion, fields: load, raw: raw, job: known.Job, fresh: known.fresh,
		own: known.own, unsure: known.unsure, spoken: ret.bundle != nil, at: r.now()}
	if r.cluster != nil {
		return r.cluster.add(ctx, a)
	}
	return r.keep(ctx, a)
}

// keep stores a return and announces it. One that is not stored does not count for the quota of its minion:
// it is a repetition, or the minion sends it again.
func (r *returning) keep(ctx context.Context, a *admitted) error {
	counts, err := r.put(ctx, a)
	if a.own && !counts {
		r.quota.refund(a.minion, len(a.raw))
	}
	return err
}

// put stores a return and announces it. counts is false if nothing was stored; with an error it is true if
// the record of a new job was.
func (r *returning) put(ctx context.Context, a *admitted) (counts bool, err error) {
	if err := r.keepJob(ctx, a); err != nil {
		return false, err
	}
	if r.keeps(a) {
		fresh, err := r.jobs.SaveReturn(ctx, a.jid,
			&returners.Return{Minion: a.minion, Load: a.raw, Received: a.at})
		if err != nil || !fresh {
			return a.fresh, err // the record of a new job stays
		}
		r.mirror.add(a.jid, a.minion, a.raw)
		if !a.remote {
			r.ownJobs.addReturn(a.jid, a.minion, a.raw)
		}
	}
	if a.old {
		r.progress.queue.markDone(a.jid, a.minion)
		return true, nil
	}
	r.progress.returned(ctx, a.job, a.jid, a.minion, a.fields)
	if err := r.bus.FireMapHere(eventbus.Tagify("job", string(a.jid), "ret", a.minion), a.raw); err != nil {
		r.log.WithError(err).Errorf("announce return of minion %s for job %s", a.minion, a.jid)
	}
	r.announceFailures(a.jid, a.minion, a.fields)
	return true, nil
}

// keeps reports whether a return goes to the job cache, which recognizes repetitions.
func (r *returning) keeps(a *admitted) bool { return r.cacheReturns && !a.job.NoCache }

// keepJob saves the job of a return that nobody ordered.
func (r *returning) keepJob(ctx context.Context, a *admitted) error {
	if !a.fresh {
		return nil
	}
	err := r.jobs.SaveJob(ctx, a.job)
	if err == nil && !a.remote {
		r.ownJobs.addJob(a.job)
	}
	return err
}

// rewritten returns a load in its stored form, and its fields. A long load is rewritten in its own
// buffer.
func rewritten(load payload.Fields, body []byte) (data.Raw, payload.Fields, error) {
	raw, inPlace, err := load.RewriteWithin(body)
	if err != nil || !inPlace {
		return raw, load, err
	}
	load, err = payload.ParseFields(raw, payload.WireLimits())
	return raw, load, err
}

// admit takes a return for a job that nobody ordered from the quota of its minion. If that is
// exceeded, the return is announced once and not stored. admit reports whether there is anything to
// do.
func (r *returning) admit(ctx context.Context, known *returned, id string, size int) bool {
	if !known.own || r.quota.take(id, size) {
		return true
	}
	if !known.fresh && r.has(ctx, known.ID, id) {
		return false
	}
	r.quiet.Warnf(r.log, "own jobs "+id,
		"Minion %s has exceeded %d returns or %d MiB for jobs that nobody ordered, in the "+
			"time for which jobs are kept: further ones are not stored",
		id, ownJobs, ownJobBytes>>20)
	known.Job, known.own, known.fresh = &returners.Job{ID: known.ID, NoCache: true}, false, false
	return true
}

// has reports whether the job cache has the return of a minion for a job.
func (r *returning) has(ctx context.Context, jid job.ID, id string) bool {
	found := false
	err := returners.WalkReturns(ctx, r.jobs, jid, []string{id}, func(returners.Return) error {
		found = true
		return nil
	})
	return err == nil && found
}

// find returns the job that a return is for. A return without a job gets a new one.
func (r *returning) find(ctx context.Context, ret *received) (returned, job.ID, payload.Fields, error) {
	jid, id, load := ret.jid, ret.minion, ret.load
	switch jid {
	case job.NoCache:
		return returned{Job: &returners.Job{NoCache: true}}, jid, load, nil
	case job.Req:
		return r.adopt(ctx, id, load)
	}
	var j *returners.Job
	var unsure bool
	var err error
	if ret.bundle != nil && ret.bundle.unsure { // it was looked for
		if below := ret.bundle.below; below != nil {
			return returned{Job: below, own: true, fresh: true, unsure: true}, jid, load, nil
		}
		unsure = true
		j, err = r.jobs.Job(ctx, jid)
	} else {
		j, unsure, err = r.look(ctx, jid, len(ret.body))
	}
	if errors.Is(err, returners.ErrUnknownJob) {
		unknown, err := r.unknown(jid, id)
		unknown.unsure = unsure
		return unknown, jid, load, err
	}
	if err != nil {
		return returned{}, "", nil, err
	}
	if !expects(j, id) && exactTarget(j) {
		if err := r.admitSyndic(ctx, j, id, r.syndics != nil && r.syndics.Is(id)); err != nil {
			return returned{}, "", nil, err
		}
	}
	return returned{Job: j, own: isOwn(j)}, jid, load, nil
}

// look returns a job. Another master of the cluster may have sent it, and this one may not know it yet: then
// look waits. unsure is true for an unknown job if that was in vain.
// size is how many bytes are kept meanwhile.
func (r *returning) look(ctx context.Context, jid job.ID, size int) (j *returners.Job, unsure bool, err error) {
	j, err = r.jobs.Job(ctx, jid)
	if !errors.Is(err, returners.ErrUnknownJob) || r.cluster == nil || !r.mayBeKnown(jid) {
		return j, false, err
	}
	if r.cluster.catchUp(ctx, size) != nil {
		return nil, true, err
	}
	j, err = r.jobs.Job(ctx, jid)
	return j, false, err
}

// mayBeKnown reports whether an id is one of a job that is still kept.
func (r *returning) mayBeKnown(jid job.ID) bool {
	id, err := job.ParseID(string(jid))
	return err == nil && r.recent(id)
}

// admitSyndic adds a minion to a job that was not expected to return, since a syndic has its id or speaks
// for it. It returns an error for any other minion.
func (r *returning) admitSyndic(ctx context.Context, j *returners.Job, id string, syndic bool) error {
	refusal := fmt.Errorf("%w: the job was not for this minion", errRefused)
	if !syndic {
		return refusal
	}
	in, err := r.syndics.admit(j, []string{id}, func(jid job.ID, ids []string) error {
		return r.jobs.AddMinions(ctx, jid, ids)
	})
	if err == nil && len(in) == 0 {
		err = refusal
	}
	return err
}

// expects reports whether a job was sent to a minion. The list is usually sorted, and then a binary
// search suffices; otherwise it is searched in full.
func expects(j *returners.Job, id string) bool {
	_, found := slices.BinarySearch(j.Minions, id)
	return found || slices.Contains(j.Minions, id)
}

// adopt gives a job id to a return without one, as salt-call and schedules send, and makes a job
// for it.
func (r *returning) adopt(
	ctx context.Context, id string, load payload.Fields,
) (returned, job.ID, payload.Fields, error) {
	jid, known, err := r.ownID(ctx, id, load)
	if err != nil {
		return returned{}, "", nil, err
	}
	load.Delete(job.OwnID)
	if err := errors.Join(load.Set("jid", string(jid)), setArg(&load), load.Set("tgt_type", "glob"),
		load.Set("tgt", id)); err != nil {
		return returned{}, "", nil, err
	}
	if known != nil {
		return returned{Job: known, own: true}, jid, load, nil
	}
	about := load.Clone()
	about.Delete("return") // stored as the return
	if err := about.Set(job.OwnOf, id); err != nil {
		return returned{}, "", nil, err
	}
	raw, err := about.AppendRewrite(nil)
	if err != nil {
		return returned{}, "", nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	j := &returners.Job{ID: jid, Load: raw, Minions: []string{id}, Started: r.now()}
	return returned{Job: j, own: true, fresh: true}, jid, load, nil
}

// ownID returns the id of a job that a minion started itself, and the job if its return was already
// received. A minion gets a new id if it names none, or one that is not its own.
func (r *returning) ownID(
	ctx context.Context, id string, load payload.Fields,
) (job.ID, *returners.Job, error) {
	text, _ := load.Text(job.OwnID)
	jid, err := job.ParseID(text)
	if err != nil || !r.recent(jid) {
		return r.ids.Next(), nil, nil
	}
	known, err := r.jobs.Job(ctx, jid)
	switch {
	case errors.Is(err, returners.ErrUnknownJob):
		return jid, nil, nil
	case err != nil:
		return "", nil, err
	case !slices.Equal(known.Minions, []string{id}):
		return r.ids.Next(), nil, nil
	}
	return jid, known, nil
}

// recent reports whether jobs of the time of an id are still kept.
func (r *returning) recent(jid job.ID) bool {
	keep := r.settings.config().KeepJobsSeconds
	started, err := jid.Time()
	age := r.now().Sub(started)
	return err == nil && age >= -clockSkew && (keep <= 0 || age <= keep)
}

// setArg copies fun_args to the field arg if that is missing.
func setArg(load *payload.Fields) error {
	if load.Has("arg") {
		return nil
	}
	if args := load.Raw("fun_args"); args != nil {
		return load.Set("arg", args)
	}
	return nil
}

// clockSkew is how far in the future the time of a job id may be.
const clockSkew = 5 * time.Minute

// unknown makes a record for a job that this master does not know, for example of another master.
// The id must be from a time for which jobs are kept.
func (r *returning) unknown(jid job.ID, minion string) (returned, error) {
	id, err := job.ParseID(string(jid))
	if err != nil {
		return returned{}, fmt.Errorf("%w: %w", errRefused, err)
	}
	if !r.recent(id) {
		return returned{}, fmt.Errorf("%w: the job is unknown", errRefused)
	}
	started, err := id.Time()
	if err != nil {
		return returned{}, err
	}
	load, err := payload.MarshalBin(data.NewMap(job.OwnOf, minion))
	if err != nil {
		return returned{}, err
	}
	return returned{Job: &returners.Job{ID: id, Load: load, Started: started}, own: true,
		fresh: true}, nil
}

// exactTarget reports whether the target of a job is resolved from ids alone, without stored
// grains.
func exactTarget(j *returners.Job) bool {
	load, err := payload.ParseFields(j.Load, payload.WireLimits())
	if err != nil {
		return false
	}
	switch kind, _ := load.Text("tgt_type"); kind {
	case "glob", "list", "pcre":
		return true
	}
	return false
}
