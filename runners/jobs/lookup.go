package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/runners"
)

type lookupArgs struct {
	Jid             string
	ExtSource       any  `default:"None"`
	Returned        bool `default:"True"`
	Missing         bool `default:"False"`
	DisplayProgress bool `default:"False"`
}

// lookupJid returns what minions returned for a job.
//
// jid
//
//	The job ID.
//
// ext_source
//
//	The returner to read instead of the master's job cache.
//
// returned
//
//	False leaves out the minions that have returned.
//
// missing
//
//	True includes the minions that have not returned.
//
// CLI Example:
//
//	salt-run jobs.lookup_jid 20130916125524463507
//	salt-run jobs.lookup_jid 20130916125524463507 --out=highstate
func (m *module) lookupJid(ctx context.Context, a lookupArgs) (any, error) {
	r, err := m.look(ctx, a.Jid, a.ExtSource, a.DisplayProgress)
	if err != nil {
		return nil, err
	}
	ret := &data.Map{}
	for _, one := range r.returns {
		progress(ctx, a.DisplayProgress, "%s", one.minion)
		if a.Returned {
			ret.Set(one.minion, one.fields.Value("return"))
		}
	}
	if a.Missing {
		results := r.results()
		for _, id := range r.minions {
			if !results.Has(id) {
				ret.Set(id, "Minion did not return")
			}
		}
	}
	if len(r.returns) > 0 {
		if out := r.returns[0].fields.Value("out"); data.Truth(out) {
			return data.NewMap("outputter", out, "data", ret), nil
		}
	}
	return ret, nil
}

// chosen returns the minions that an argument selects; nil means all.
func chosen(list any) []string {
	if list == nil {
		return nil
	}
	return append([]string{}, loader.SplitList(list)...)
}

// look finds a job in the chosen cache.
func (m *module) look(ctx context.Context, jid string, source any, tell bool) (*record, error) {
	return m.lookFor(ctx, jid, source, tell, nil)
}

// lookFor finds a job and the returns of some minions; nil means all.
func (m *module) lookFor(ctx context.Context, jid string, source any, tell bool, minions []string) (*record, error) {
	cache, err := m.cache(ctx, source)
	if err != nil {
		return nil, err
	}
	progress(ctx, tell, "Querying returner: %s", m.cacheName(source))
	r, err := find(ctx, cache, jid, minions)
	if err != nil {
		return nil, err
	}
	slices.Sort(r.minions)
	return r, nil
}

type listJobArgs struct {
	Jid             string
	ExtSource       any  `default:"None"`
	DisplayProgress bool `default:"False"`
	Minions         any  `default:"None"`
}

// listJob returns a job with all its data.
//
// minions
//
//	A list of minions; only their returns. Not in Salt.
//
// CLI Example:
//
//	salt-run jobs.list_job 20130916125524463507
//	salt-run jobs.list_job 20130916125524463507 --out=pprint
func (m *module) listJob(ctx context.Context, a listJobArgs) (any, error) {
	r, err := m.lookFor(ctx, a.Jid, a.ExtSource, a.DisplayProgress, chosen(a.Minions))
	if err != nil {
		return nil, err
	}
	ret := data.NewMap("jid", a.Jid)
	ret.Update(r.instance())
	ret.Set("Result", r.results())
	return ret, nil
}

type jidArgs struct {
	Jid       string
	ExtSource any `default:"None"`
}

// printJob returns a job with all its data, under its ID.
//
// CLI Example:
//
//	salt-run jobs.print_job 20130916125524463507
func (m *module) printJob(ctx context.Context, a jidArgs) (any, error) {
	r, err := m.look(ctx, a.Jid, a.ExtSource, false)
	if err != nil {
		return nil, err
	}
	ret := r.instance()
	ret.Set("Result", r.results())
	return data.NewMap(a.Jid, ret), nil
}

// exitSuccess returns for each minion of a job whether its result is true in Python's sense.
//
// CLI Example:
//
//	salt-run jobs.exit_success 20160520145827701627
func (m *module) exitSuccess(ctx context.Context, a jidArgs) (any, error) {
	r, err := m.look(ctx, a.Jid, a.ExtSource, false)
	if err != nil {
		return nil, err
	}
	ret := &data.Map{}
	for _, id := range r.minions {
		ret.Set(id, false)
	}
	for _, one := range r.returns {
		if data.Truth(one.fields.Value("return")) {
			ret.Set(one.minion, true)
		} else if slices.Contains(r.minions, one.minion) {
			ret.Set(one.minion, false)
		}
	}
	return ret, nil
}

type statusArgs struct {
	Jid     string
	Returns bool `default:"False"`
}

// status returns a job's progress on each minion: sent, not connected, queued, acknowledged,
// running, gone, refused, missed or returned. It includes the time and the reason if they are
// known. Salt has no such function.
//
// returns
//
//	True adds retcode, success and size of each return, and the return itself if it is short.
//
// CLI Example:
//
//	salt-run jobs.status 20130916125524463507
func (m *module) status(ctx context.Context, a statusArgs) (any, error) {
	id, err := job.ParseID(a.Jid)
	if err != nil {
		return nil, &runners.UnableError{Text: fmt.Sprintf("%q is not the id of a job.", a.Jid)}
	}
	list, err := returners.ProgressOf(ctx, m.needs.Jobs, id)
	if errors.Is(err, returners.ErrUnknownJob) {
		return nil, &runners.UnableError{Text: "The job " + a.Jid + " is not in the job cache."}
	}
	if err != nil {
		return nil, err
	}
	ret := &data.Map{}
	for _, p := range list {
		one := data.NewMap("state", string(p.State))
		if !p.Since.IsZero() {
			one.Set("since", job.NewID(p.Since).StartTime())
		}
		if p.Why != "" {
			one.Set("why", p.Why)
		}
		ret.Set(p.Minion, one)
	}
	if a.Returns {
		err = m.addReturns(ctx, id, ret)
	}
	return ret, err
}

// shortReturn limits the returns in the status of a job, in bytes.
const shortReturn = 512

// addReturns adds what is known of the returns.
func (m *module) addReturns(ctx context.Context, id job.ID, to *data.Map) error {
	return returners.WalkReturns(ctx, m.needs.Jobs, id, nil, func(r returners.Return) error {
		one, ok := to.Value(r.Minion).(*data.Map)
		if !ok {
			return nil
		}
		fields, err := payload.ParseFields(r.Load, payload.WireLimits())
		if err != nil {
			return fmt.Errorf("read return of %s: %w", r.Minion, err)
		}
		for _, name := range []string{"retcode", "success", "return"} {
			raw := fields.Raw(name)
			if name == "return" {
				one.Set("size", int64(len(raw)))
			}
			if raw == nil || len(raw) > shortReturn {
				continue
			}
			v, err := payload.UnmarshalText(raw, payload.WireLimits())
			if err != nil {
				return fmt.Errorf("read return of %s: %w", r.Minion, err)
			}
			one.Set(name, v)
		}
		return nil
	})
}
