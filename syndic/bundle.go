package syndic

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// A bundle is the list of jobs in one _syndic_return.
type bundle struct {
	syndic string
	jobs   []*jobReturns
	count  int // returns in it
	size   int // bytes
}

// jobReturns are returns to one job.
type jobReturns struct {
	jid     job.ID
	first   *answer
	load    data.Raw // the load of the job, or nil if the master has it
	minions []string
	returns payload.Fields // maps by minion
}

// bundle puts returns in one request, as many as fit.
func (d *delivery) bundle(ctx context.Context, answers []*answer) *bundle {
	b := &bundle{syndic: d.u.s.minion.ID}
	index := map[job.ID]*jobReturns{}
	for _, a := range answers {
		j := index[a.jid]
		var load data.Raw
		if j == nil && !d.u.loads.has(a.jid) {
			load = d.u.s.load(ctx, a.jid)
		}
		if b.count > 0 && b.size+a.size()+len(load) > requestBytes {
			break
		}
		if j == nil {
			j = &jobReturns{jid: a.jid, first: a, load: load}
			index[a.jid] = j
			b.jobs = append(b.jobs, j)
		}
		j.minions = append(j.minions, a.minion)
		j.returns = append(j.returns, payload.Field{Key: a.minion, Value: a.body})
		b.count++
		b.size += a.size() + len(load)
	}
	return b
}

// list returns the field load of the request.
func (b *bundle) list() []any {
	list := make([]any, len(b.jobs))
	for i, j := range b.jobs {
		var load any = data.NewMap()
		if j.load != nil {
			load = j.load
		}
		m := data.NewMap("id", b.syndic, "jid", string(j.jid), "fun", rawOrNil(j.first.fun), "arg", nil,
			"tgt", nil, "tgt_type", nil, "load", load, "return", data.Raw(j.returns.Marshal()))
		if j.first.master != nil {
			m.Set("master_id", j.first.master)
		}
		list[i] = m
	}
	return list
}

func rawOrNil(r data.Raw) any {
	if len(r) == 0 {
		return nil
	}
	return r
}

// load returns the load of a job with the minions that the lower master expects to return, or nil if
// the job cache does not have it.
func (s *Syndic) load(ctx context.Context, id job.ID) data.Raw {
	cache := s.jobs()
	if cache == nil {
		return nil
	}
	known, err := cache.Job(ctx, id)
	if err != nil {
		if !errors.Is(err, returners.ErrUnknownJob) {
			s.quiet.Warnf(s.log, "load", "read job %s from the job cache: %v", id, err)
		}
		return nil
	}
	fields, err := payload.ParseFields(known.Load, payload.WireLimits())
	if err == nil && len(known.Minions) > 0 {
		err = fields.SetBin("Minions", data.Values(known.Minions))
	}
	if err != nil {
		s.quiet.Warnf(s.log, "load", "load of job %s: %v", id, err)
		return nil
	}
	return fields.Marshal()
}
