package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/transport"
)

// returning does the command _return (salt/master.py, AESFuncs._return and salt/utils/job.py, store_job).
//
// The value that a minion returns is not decoded: it goes as it came to the job cache and the event bus.
//
// Minions of Salt 3006.0 to 3006.11 send no proof with returns. Any accepted minion could write one in another's name,
// so it is taken only where [presence.believes] allows.
type returning struct {
	jobs         returners.JobCache
	mirror       *mirror
	bus          *eventbus.Bus
	keys         *pki.Dir
	ids          *job.IDs
	presence     *presence
	progress     *progress
	quiet        *loglimit.Limiter
	settings     *settings
	quota        *ownQuota
	cacheReturns bool // job_cache
	now          func() time.Time
	log          logrus.FieldLogger
}

// errRefused is wrapped for returns that nobody asked for.
var errRefused = errors.New("return refused")

// ret stores one return and announces it. The reply comes when it is on disk.
func (r *returning) ret(ctx context.Context, c *channel.Command) (any, error) {
	load := c.Load
	id := c.Caller.ID
	jid, ok := load.Text("jid")
	if !ok || !load.Has("return") || pki.ValidID(id) != nil {
		return nil, nil
	}
	if !r.presence.believes(c) {
		r.refuse(c)
		return nil, nil
	}
	if err := r.checkSignature(load, id, c.Version); err != nil {
		r.log.WithError(err).Warnf("return of minion %s", id)
		r.progress.refused(ctx, job.ID(jid), id, err)
		return false, nil
	}
	load.Delete("sig")
	r.log.Infof("Got return from %s for job %s", id, job.ID(jid))
	// What has come is stored, also when the minion does not wait for the answer.
	if err := r.store(context.WithoutCancel(ctx), job.ID(jid), id, load, c.Body); err != nil {
		if errors.Is(err, errRefused) || errors.Is(err, returners.ErrConflict) {
			r.log.WithError(err).Warnf("return of minion %s for job %s", id, strconv.QuoteToGraphic(jid))
			return nil, nil
		}
		return nil, fmt.Errorf("return of minion %s for job %s: %w", id, jid, err)
	}
	return nil, nil
}

// refuse names now and then who sends returns without proof in the name of a minion that is elsewhere.
func (r *returning) refuse(c *channel.Command) {
	if more, ok := r.quiet.Allow("return " + c.Caller.ID); ok {
		r.log.Warnf("return said to be of minion %s came from %s without proof and is refused (%d more since the last warning)",
			c.Caller.ID, transport.HostOf(c.Caller.Remote), more)
	}
}

// checkSignature applies the policy for returns that minions sign (minion_sign_messages). What version 3 puts beside a
// command was added after signing.
func (r *returning) checkSignature(load payload.Fields, id string, version int) error {
	sig, signed := load.Bytes("sig")
	if !signed {
		if r.settings.now().RequireMinionSignMessages {
			return errors.New("it is not signed and require_minion_sign_messages is on")
		}
		return nil
	}
	if !r.settings.now().DropMessagesSignatureFail {
		return nil // Salt looks and goes on
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
		return fmt.Errorf("its signature: %w", err)
	}
	return nil
}

// store finds the job of a return, keeps the return and announces it. body is what load lies in; it may be written over.
func (r *returning) store(ctx context.Context, jid job.ID, id string, load payload.Fields, body []byte) error {
	known, jid, load, err := r.find(ctx, jid, id, load)
	if err != nil {
		return err
	}
	raw, load, err := rewritten(load, body)
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	switch err := r.admit(ctx, &known, id, len(raw)); {
	case errors.Is(err, errRepeated):
		return nil
	case err != nil:
		return err
	}
	if r.cacheReturns && !known.NoCache {
		fresh, err := r.jobs.SaveReturn(ctx, jid, &returners.Return{Minion: id, Load: raw, Received: r.now()})
		if (err != nil || !fresh) && known.own && !known.fresh { // a new job's record stays, and counts
			r.quota.refund(id, len(raw))
		}
		if err != nil || !fresh {
			return err
		}
		r.mirror.add(jid, id, raw)
	}
	r.progress.returned(ctx, known.Job, jid, id, load)
	if err := r.bus.FireMap(eventbus.Tagify("job", string(jid), "ret", id), raw); err != nil {
		r.log.WithError(err).Errorf("announce return of minion %s for job %s", id, jid)
	}
	r.announceFailures(jid, id, load)
	return nil
}

// rewritten returns a load as it is kept and fired, and its fields to read on with: a long one is written over the old one.
func rewritten(load payload.Fields, body []byte) (data.Raw, payload.Fields, error) {
	raw, inPlace, err := load.RewriteWithin(body)
	if err != nil || !inPlace {
		return raw, load, err
	}
	load, err = payload.ParseFields(raw, payload.WireLimits())
	return raw, load, err
}

// errRepeated is what admit returns for a return that is in the job cache already.
var errRepeated = errors.New("the return is there already")

// admit saves a job that nobody ordered and that is new. Where its minion has brought too much of these already, nothing of the
// job is kept; it is announced all the same, once.
func (r *returning) admit(ctx context.Context, known *returned, id string, size int) error {
	switch {
	case !known.own:
	case !r.quota.take(id, size):
		if !known.fresh && r.has(ctx, known.ID, id) {
			return errRepeated
		}
		if more, ok := r.quiet.Allow("own jobs " + id); ok {
			r.log.Warnf("minion %s has returned more than %d jobs or %d MiB that nobody ordered, in the time for which jobs are kept: "+
				"no more of them are kept (%d more since the last warning)", id, ownJobs, ownJobBytes>>20, more)
		}
		known.Job = &returners.Job{ID: known.ID, NoCache: true}
		return nil
	}
	if !known.fresh {
		return nil
	}
	err := r.jobs.SaveJob(ctx, known.Job)
	if err != nil && known.own {
		r.quota.refund(id, size) // it is not kept, and its minion sends it again
	}
	return err
}

// has reports whether the job cache has a return of a minion for a job.
func (r *returning) has(ctx context.Context, jid job.ID, id string) bool {
	returns, err := r.jobs.Returns(ctx, jid)
	return err == nil && slices.ContainsFunc(returns, func(ret returners.Return) bool { return ret.Minion == id })
}

// find returns the job that a return is for; a return without one gets a job of its own.
func (r *returning) find(ctx context.Context, jid job.ID, id string, load payload.Fields) (returned, job.ID, payload.Fields, error) {
	switch jid {
	case job.NoCache:
		return returned{Job: &returners.Job{NoCache: true}}, jid, load, nil
	case job.Req:
		return r.adopt(ctx, id, load)
	}
	j, err := r.jobs.Job(ctx, jid)
	if errors.Is(err, returners.ErrUnknownJob) {
		unknown, err := r.unknown(jid, id)
		return unknown, jid, load, err
	}
	if err != nil {
		return returned{}, "", nil, err
	}
	if !expects(j, id) && exactTarget(j) {
		return returned{}, "", nil, fmt.Errorf("%w: the job was not for it", errRefused)
	}
	return returned{Job: j, own: isOwn(j)}, jid, load, nil
}

// expects reports whether a minion is among those that a job expects. Most lists are in the order of names, where one look is short:
// else the returns of a job would look at as many names together as the square of their number.
func expects(j *returners.Job, id string) bool {
	_, found := slices.BinarySearch(j.Minions, id)
	return found || slices.Contains(j.Minions, id)
}

// adopt gives an id to a return that has none, as salt-call and schedules send, and makes it a job.
func (r *returning) adopt(ctx context.Context, id string, load payload.Fields) (returned, job.ID, payload.Fields, error) {
	jid, known, err := r.ownID(ctx, id, load)
	if err != nil {
		return returned{}, "", nil, err
	}
	load.Delete(job.OwnID)
	if err := errors.Join(load.Set("jid", string(jid)), setArg(&load), load.Set("tgt_type", "glob"), load.Set("tgt", id)); err != nil {
		return returned{}, "", nil, err
	}
	if known != nil {
		return returned{Job: known, own: true}, jid, load, nil
	}
	about := load.Clone()
	about.Delete("return") // which is kept as the return
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

// ownID returns the id of a job that a minion has run by itself, and the job when its return came before. A minion that
// names no id, or one that is not its own, gets a new one.
func (r *returning) ownID(ctx context.Context, id string, load payload.Fields) (job.ID, *returners.Job, error) {
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

// recent reports whether jobs of the time of an id are kept.
func (r *returning) recent(jid job.ID) bool {
	keep := r.settings.now().KeepJobsSeconds
	started, err := jid.Time()
	age := r.now().Sub(started)
	return err == nil && age >= -clockSkew && (keep <= 0 || age <= keep)
}

// setArg gives a load the field arg where only fun_args came.
func setArg(load *payload.Fields) error {
	if load.Has("arg") {
		return nil
	}
	if args := load.Raw("fun_args"); args != nil {
		return load.Set("arg", args)
	}
	return nil
}

// clockSkew is how far in the future the id of a job may lie.
const clockSkew = 5 * time.Minute

// unknown makes a record for a job that this master does not know, as one that another master published, if its id
// is of a time for which jobs are kept.
func (r *returning) unknown(jid job.ID, minion string) (returned, error) {
	id, err := job.ParseID(string(jid))
	if err != nil {
		return returned{}, fmt.Errorf("%w: %w", errRefused, err)
	}
	if !r.recent(id) {
		return returned{}, fmt.Errorf("%w: nobody knows the job", errRefused)
	}
	started, err := id.Time()
	if err != nil {
		return returned{}, err
	}
	load, err := payload.MarshalBin(data.NewMap(job.OwnOf, minion))
	if err != nil {
		return returned{}, err
	}
	return returned{Job: &returners.Job{ID: id, Load: load, Started: started}, own: true, fresh: true}, nil
}

// exactTarget reports whether the minions of a job are known for sure, and not by what the master remembers of grains.
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
