package jobs

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/returners"
)

type listArgs struct {
	ExtSource       any  `default:"None"`
	Outputter       any  `default:"None"`
	SearchMetadata  any  `default:"None"`
	SearchFunction  any  `default:"None"`
	SearchTarget    any  `default:"None"`
	StartTime       any  `default:"None"`
	EndTime         any  `default:"None"`
	DisplayProgress bool `default:"False"`
	SearchUser      any  `default:"None"`
	SearchMinion    any  `default:"None"`
	Before          any  `default:"None"`
	Limit           int  `default:"0"`
	Progress        bool `default:"False"`
	WithoutFunction any  `default:"None"`
}

// listJobs returns the jobs sent to minions, by job ID. If several conditions are given, all must
// hold.
//
// search_metadata
//
//	A dictionary; the job's metadata must contain one of its pairs.
//
// search_function
//
//	Globs for the function: one, several separated by commas, or a list.
//
// search_target
//
//	Globs for the original target, likewise.
//
// start_time
//
//	Jobs that started at that time or later, as a date with or without a time.
//
// end_time
//
//	Jobs that started at that time or earlier.
//
// search_user
//
//	Globs for the user who sent the job. Not in Salt.
//
// search_minion
//
//	A minion that the job was sent to. Not in Salt.
//
// before
//
//	A job ID; only jobs with IDs less than this. Not in Salt.
//
// limit
//
//	The number of jobs, the newest; 0 for all. Not in Salt.
//
// progress
//
//	True adds how many minions are in which state, as far as these are 20000 minions in all. Not in Salt.
//
// without_function
//
//	Globs for functions whose jobs are left out. Not in Salt.
//
// CLI Example:
//
//	salt-run jobs.list_jobs
//	salt-run jobs.list_jobs search_function='test.*' search_target='localhost' search_metadata='{"bar": "foo"}'
//	salt-run jobs.list_jobs start_time='2015, Mar 16 19:00' end_time='2015, Mar 18 22:00'
func (m *module) listJobs(ctx context.Context, a listArgs) (any, error) {
	all, err := m.list(ctx, a)
	if err != nil {
		return nil, err
	}
	return printedBy(a.Outputter, all), nil
}

func printedBy(outputter, v any) any {
	if data.Truth(outputter) {
		return data.NewMap("outputter", outputter, "data", v)
	}
	return v
}

// list returns the matching jobs, by job ID, the oldest first.
func (m *module) list(ctx context.Context, a listArgs) (*data.Map, error) {
	s, err := m.newSearch(a)
	if err != nil {
		return nil, err
	}
	found, err := m.newest(ctx, s, a)
	if err != nil {
		return nil, err
	}
	ret, room := &data.Map{}, mostProgress
	ret.Grow(len(found))
	for _, one := range found {
		if room -= len(one.job.Minions); a.Progress && room >= 0 {
			m.addProgress(ctx, one.job, one.shown)
		}
	}
	for _, one := range slices.Backward(found) {
		ret.Set(string(one.job.ID), one.shown)
	}
	return ret, nil
}

// A listed job is one that a list shows.
type listed struct {
	job   *returners.Job
	shown *data.Map
}

// The numbers of jobs that are read to find as many as a.Limit: the first one, beyond the limit, the growth,
// and the one from which all are read.
const (
	firstJobs  = 64
	moreJobs   = 8
	enoughJobs = 1 << 20
)

// newest returns the matching jobs, the newest first. With a limit it reads no more of the job cache than
// it has to.
func (m *module) newest(ctx context.Context, s *search, a listArgs) ([]listed, error) {
	if a.Limit <= 0 {
		jobs, err := m.jobs(ctx, a.ExtSource, a.DisplayProgress, 0)
		return m.choose(jobs, s, len(jobs)), err
	}
	for n := min(a.Limit, enoughJobs) + firstJobs; ; n *= moreJobs {
		if n > enoughJobs {
			n = 0
		}
		jobs, err := m.jobs(ctx, a.ExtSource, a.DisplayProgress, n)
		if err != nil {
			return nil, err
		}
		found := m.choose(jobs, s, a.Limit)
		if len(found) == a.Limit || n == 0 || len(jobs) < n {
			return found, nil
		}
	}
}

// choose returns the first matching jobs, at most most.
func (m *module) choose(jobs []returners.Job, s *search, most int) []listed {
	var found []listed
	for i := range jobs {
		if len(found) == most {
			break
		}
		j := &jobs[i]
		if !s.sentTo(j) {
			continue
		}
		load, err := loadOf(j)
		if err != nil {
			m.env.Log.Error(err)
			continue
		}
		if load.Len() == 0 {
			continue // a job that was not sent to minions
		}
		if one := instance(string(j.ID), load); s.fits(one, string(j.ID)) {
			found = append(found, listed{j, one})
		}
	}
	return found
}

// mostProgress limits the minions whose states a list of jobs counts.
const mostProgress = 20_000

// addProgress adds how many minions are in which state.
func (m *module) addProgress(ctx context.Context, j *returners.Job, one *data.Map) {
	list, err := returners.ProgressOf(ctx, m.needs.Jobs, j.ID)
	if err != nil {
		m.env.Log.Errorf("count the states of job %s: %v", j.ID, err)
		return
	}
	counts := data.NewMap()
	for _, p := range list {
		n, _ := counts.Value(string(p.State)).(int64)
		counts.Set(string(p.State), n+1)
	}
	one.Set("Progress", counts)
}

// jobs returns the newest jobs of the chosen cache, the newest first; most is their number, and 0 means all.
func (m *module) jobs(ctx context.Context, source any, tell bool, most int) ([]returners.Job, error) {
	cache, err := m.cache(ctx, source)
	if err != nil {
		return nil, err
	}
	progress(ctx, tell, "Querying returner %s for jobs.", m.cacheName(source))
	return cache.Jobs(ctx, returners.Filter{Limit: most})
}

// A search holds the conditions that a job must meet.
type search struct {
	metadata           *data.Map // nil means any
	functions, targets []*match.Glob
	users, without     []*match.Glob
	minion, before     string // "" means any
	since, until       *moment
}

// sentTo reports whether a job meets the conditions that need no load.
func (s *search) sentTo(j *returners.Job) bool {
	return (s.before == "" || string(j.ID) < s.before) && (s.minion == "" || slices.Contains(j.Minions, s.minion))
}

func textOr(v any, otherwise string) string {
	if !data.Truth(v) {
		return otherwise
	}
	return data.Str(v)
}

func (m *module) newSearch(a listArgs) (*search, error) {
	s := &search{functions: globs(a.SearchFunction), targets: globs(a.SearchTarget), users: globs(a.SearchUser), without: globs(a.WithoutFunction),
		minion: textOr(a.SearchMinion, ""), before: textOr(a.Before, "")}
	if data.Truth(a.SearchMetadata) {
		var ok bool
		if s.metadata, ok = a.SearchMetadata.(*data.Map); !ok {
			m.env.Log.Info("The search_metadata parameter must be specified as a dictionary.  Ignoring.")
			s.metadata = &data.Map{}
		}
	}
	var err error
	if s.since, err = momentOf(a.StartTime); err != nil {
		return nil, err
	}
	s.until, err = momentOf(a.EndTime)
	return s, err
}

// globs parses an argument that holds one glob or several.
func globs(v any) []*match.Glob {
	if !data.Truth(v) {
		return nil
	}
	var patterns []string
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			patterns = append(patterns, data.Str(e))
		}
	default:
		patterns = loader.SplitInput(data.Str(v))
	}
	var list []*match.Glob
	for _, p := range patterns {
		list = append(list, match.CompileGlob(p))
	}
	return list
}

// fits reports whether a job meets all conditions.
func (s *search) fits(one *data.Map, jid string) bool {
	return s.fitsMetadata(one) && anyFits(s.targets, one.Value("Target")) &&
		anyFits(s.functions, one.Value("Function")) && anyFits(s.users, one.Value("User")) &&
		(s.without == nil || !anyFits(s.without, one.Value("Function"))) && s.fitsTime(jid)
}

func (s *search) fitsMetadata(one *data.Map) bool {
	if s.metadata == nil {
		return true
	}
	has, _ := one.Value("Metadata").(*data.Map)
	for k, want := range s.metadata.All() {
		if v, ok := has.Get(k); ok && data.Equal(v, want) {
			return true
		}
	}
	return false
}

// anyFits reports whether one of the globs matches a text, or one text of a list. An empty list of
// globs matches everything.
func anyFits(globs []*match.Glob, v any) bool {
	if globs == nil {
		return true
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, e := range list {
		text := data.Str(e)
		if slices.ContainsFunc(globs, func(g *match.Glob) bool { return g.Match(text) }) {
			return true
		}
	}
	return false
}

type filterArgs struct {
	Count           int
	FilterFindJob   bool `default:"True"`
	ExtSource       any  `default:"None"`
	Outputter       any  `default:"None"`
	DisplayProgress bool `default:"False"`
}

// listJobsFilter returns the newest jobs as a list in order of time.
//
// count
//
//	The number of jobs.
//
// filter_find_job
//
//	False includes the saltutil.find_job queries that programs send to find out which minions run a job.
//
// CLI Example:
//
//	salt-run jobs.list_jobs_filter 50
//	salt-run jobs.list_jobs_filter 100 filter_find_job=False
func (m *module) listJobsFilter(ctx context.Context, a filterArgs) (any, error) {
	jobs, err := m.jobs(ctx, a.ExtSource, a.DisplayProgress, 0)
	if err != nil {
		return nil, err
	}
	ret := []any{}
	for _, j := range jobs {
		if len(ret) >= a.Count {
			break
		}
		load, err := loadOf(&j)
		if err != nil || load.Len() == 0 || a.FilterFindJob &&
			load.Value("fun") == "saltutil.find_job" {
			continue
		}
		one := instance(string(j.ID), load)
		start := one.Value("StartTime")
		one.Delete("StartTime")
		one.Set("JID", string(j.ID))
		one.Set("StartTime", start)
		ret = append(ret, one)
	}
	slices.Reverse(ret)
	return printedBy(a.Outputter, ret), nil
}

type lastArgs struct {
	ExtSource       any  `default:"None"`
	Outputter       any  `default:"None"`
	Metadata        any  `default:"None"`
	Function        any  `default:"None"`
	Target          any  `default:"None"`
	DisplayProgress bool `default:"False"`
}

// lastRun returns the newest matching job with its returns; False if there is none.
//
// CLI Example:
//
//	salt-run jobs.last_run
//	salt-run jobs.last_run target=nodename
//	salt-run jobs.last_run function='cmd.run'
//	salt-run jobs.last_run metadata="{'foo': 'bar'}"
func (m *module) lastRun(ctx context.Context, a lastArgs) (any, error) {
	if _, ok := a.Metadata.(*data.Map); data.Truth(a.Metadata) && !ok {
		m.env.Log.Info("The metadata parameter must be specified as a dictionary")
		return false, nil
	}
	all, err := m.list(ctx, listArgs{ExtSource: a.ExtSource, SearchMetadata: a.Metadata,
		SearchFunction: a.Function, SearchTarget: a.Target, DisplayProgress: a.DisplayProgress})
	if err != nil {
		return nil, err
	}
	last := ""
	for jid := range all.All() {
		last = max(last, jid.(string))
	}
	if last == "" {
		return false, nil
	}
	return m.printJob(ctx, jidArgs{last, a.ExtSource})
}
