package master

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// syndicReturns handles the command _syndic_return, the returns of minions behind a syndic
// (salt/master.py, AESFuncs._syndic_return).
//
// A job that this master has ordered keeps its record whatever the syndic sends. For one that the
// lower master has ordered itself, the record of the lower master is stored once.
type syndicReturns struct {
	*returning
	syndics *syndics
}

// A syndicReturn is what a syndic sends about one job.
type syndicReturn struct {
	syndic string
	jid    job.ID
	fields payload.Fields // of the whole entry
	values payload.Fields // the fields of each minion's return
	size   int            // of the request
	unsure bool           // this master does not know the job, and is behind its cluster
	below  *returners.Job // the record of the lower master, if unsure
}

// ret stores the returns. A refused one is logged and dropped. If one cannot be stored, the reply is
// an error, and the syndic sends all again: those that are stored already change nothing.
func (r *syndicReturns) ret(ctx context.Context, c *channel.Command) (any, error) {
	if err := r.syndics.acts(c.Caller.ID); err != nil {
		r.syndics.refused(r.base, c, "Returns for other minions", err)
		return data.NewMap(job.Refused, err.Error()), nil
	}
	if !r.presence.trusts(c) {
		r.refuse(c)
		return nil, nil
	}
	entries, err := r.entries(c)
	if err != nil {
		r.quiet.Warnf(r.log.WithError(err), "bad "+c.Caller.ID, "Returns of syndic %s refused", c.Caller.ID)
		return nil, nil
	}
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, e := range entries {
		errs = append(errs, r.storeAll(ctx, e))
	}
	return nil, errors.Join(errs...)
}

// entries splits a request into jobs. Old syndics send a single one.
func (r *syndicReturns) entries(c *channel.Command) ([]*syndicReturn, error) {
	list, err := payload.ParseList(c.Load.Raw("load"), payload.WireLimits())
	if errors.Is(err, payload.ErrNotList) || errors.Is(err, payload.ErrTruncated) {
		list, err = []data.Raw{c.Load.Marshal()}, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []*syndicReturn
	for _, raw := range list {
		fields, err := payload.ParseFields(raw, payload.WireLimits())
		if err != nil {
			return nil, err
		}
		if !fields.Has("jid") || !fields.Has("return") || !fields.Has("id") {
			continue // as in Salt
		}
		e := &syndicReturn{syndic: c.Caller.ID, fields: fields, size: len(c.Body)}
		text, _ := fields.Text("jid")
		e.jid, err = job.ParseID(text)
		if err == nil {
			e.values, err = payload.ParseFields(fields.Raw("return"), payload.WireLimits())
		}
		if err != nil {
			r.quiet.Warnf(r.log.WithError(err), "bad "+c.Caller.ID,
				"Returns of syndic %s for job %s refused", c.Caller.ID, strconv.QuoteToGraphic(text))
			continue
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// storeAll stores the returns of one job.
func (r *syndicReturns) storeAll(ctx context.Context, e *syndicReturn) error {
	ids, err := r.accept(ctx, e)
	if err != nil {
		return err
	}
	var all errgroup.Group
	all.SetLimit(maxStored)
	for _, id := range ids {
		all.Go(func() error {
			err := r.storeOne(ctx, e, id)
			if errors.Is(err, errRefused) || errors.Is(err, returners.ErrConflict) {
				r.log.WithError(err).Warnf("Return of minion %s for job %s, from syndic %s, refused", id,
					strconv.QuoteToGraphic(string(e.jid)), e.syndic)
				return nil
			}
			if err != nil {
				return fmt.Errorf("store return of minion %s for job %s: %w", id, e.jid, err)
			}
			return nil
		})
	}
	return all.Wait()
}

// maxStored is how many returns of a request are stored at once. The job cache writes those that wait
// for it together.
const maxStored = 512

// accept returns the minions whose returns are stored: those for which the syndic speaks, and to
// which the job may have been sent. It adds them to the job, or saves a job of the lower master.
func (r *syndicReturns) accept(ctx context.Context, e *syndicReturn) ([]string, error) {
	var ids []string
	for _, f := range e.values {
		if r.syndics.speaks(e.syndic, f.Key) {
			ids = append(ids, f.Key)
			continue
		}
		why := "does not speak for it"
		if r.syndics.Speaks(e.syndic, f.Key) {
			why = "may not speak for it, since this master has accepted a key of that id itself (salt-key -d " +
				f.Key + ")"
		}
		r.quiet.Warnf(r.log, "speaks "+e.syndic, "Return of minion %s refused: syndic %s %s", f.Key, e.syndic, why)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	known, unsure, err := r.look(ctx, e.jid, e.size)
	if errors.Is(err, returners.ErrUnknownJob) {
		e.unsure = unsure
		j, err := r.jobBelow(e, ids)
		switch {
		case err != nil || j == nil:
			return ids, err // each return makes a job of its own without a record
		case e.unsure:
			e.below = j
			return ids, nil
		}
		return ids, r.jobs.SaveJob(ctx, j)
	}
	if err != nil {
		return nil, fmt.Errorf("look for job %s: %w", e.jid, err)
	}
	in, err := r.syndics.admit(known, ids, func(id job.ID, ids []string) error {
		return r.jobs.AddMinions(ctx, id, ids)
	})
	if dropped := len(ids) - len(in); err == nil && dropped > 0 {
		r.quiet.Warnf(r.log, "target "+e.syndic,
			"%d returns for job %s from syndic %s refused: the job was not for these minions",
			dropped, e.jid, e.syndic)
	}
	return in, err
}

// jobBelow returns the record of a job that the lower master has ordered, or nil if the syndic has not sent
// it. It counts as a job that nobody ordered here.
func (r *syndicReturns) jobBelow(e *syndicReturn, ids []string) (*returners.Job, error) {
	load, err := payload.ParseFields(e.fields.Raw("load"), payload.WireLimits())
	if err != nil || len(load) == 0 {
		return nil, nil //nolint:nilerr // there is none that can be read
	}
	if !r.recent(e.jid) {
		return nil, nil // its returns are refused, too
	}
	load = load.Clone()
	for _, name := range []string{"Minions", "Missing", "key", "cmd"} {
		load.Delete(name)
	}
	if err := load.Set(job.OwnOf, e.syndic); err != nil {
		return nil, err
	}
	raw, err := load.AppendRewrite(nil)
	if err != nil {
		return nil, fmt.Errorf("record of job %s from syndic %s: %w", e.jid, e.syndic, err)
	}
	if !e.unsure && !r.quota.take(ids[0], len(raw)) { // else each return counts
		return nil, nil // its returns are announced, and not stored
	}
	started, err := e.jid.Time()
	if err != nil {
		return nil, err
	}
	return &returners.Job{ID: e.jid, Load: raw, Minions: ids, Started: started}, nil
}

// storeOne stores the return of one minion.
func (r *syndicReturns) storeOne(ctx context.Context, e *syndicReturn, id string) error {
	value, err := payload.ParseFields(e.values.Raw(id), payload.WireLimits())
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	load := payload.Fields{}
	if err := errors.Join(load.Set("jid", string(e.jid)), load.Set("id", id)); err != nil {
		return err
	}
	for _, f := range value {
		if f.Key != "jid" && f.Key != "id" && f.Key != "cmd" {
			load = append(load, f)
		}
	}
	if !load.Has("return") {
		return fmt.Errorf("%w: it has no value", errRefused)
	}
	for _, name := range []string{"master_id", "fun", "fun_args", "out"} {
		if raw := e.fields.Raw(name); raw != nil && !load.Has(name) && string(raw) != "\xc0" {
			load = append(load, payload.Field{Key: name, Value: raw})
		}
	}
	r.log.Infof("Got return from %s for job %s", id, e.jid)
	return r.store(ctx, &received{jid: e.jid, minion: id, load: load, bundle: e})
}
