// Package at is Salt's state at: jobs that run once at a later time (salt/states/at.py). The module
// at reads and writes the queue.
//
// Differences from Salt: test mode supports unique_tag, and absent reports if there is nothing to
// remove. absent accepts jobid as a string or a number, and counts the removed jobs. For absent,
// runas is a condition, whereas Salt running as root removes the jobs of all users. absent rejects
// unknown arguments such as user, for which Salt removes all jobs.
package at

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state at.
func Plugin() loader.Plugin { return loader.Plugin{Name: "at", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("at.at") {
		return nil, errors.New("at module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("mod_watch", m.modWatch),
		loader.F("present", m.present),
		loader.F("watch", m.watch),
	}}, nil
}

// jobs returns the list of jobs in a result of the module.
func jobs(v any) []any {
	m, _ := v.(*data.Map)
	list, _ := m.Value("jobs").([]any)
	return list
}

type presentArgs struct {
	Name      any
	Timespec  any
	Tag       any `default:"None"`
	User      any `default:"None"`
	Job       any `default:"None"`
	UniqueTag any `default:"False"`
}

// present adds a job to the queue. Unless unique_tag is set, each run adds another one.
//
// timespec
//
//	When the job runs, in the format of at(1).
//
// job
//
//	The command. Default: the name.
//
// tag
//
//	A word for finding the job later.
//
// user
//
//	The user that the job belongs to.
//
// unique_tag
//
//	True: add nothing if there is a job with the tag.
//
//	rose:
//	  at.present:
//	    - job: 'echo "I love saltstack" > love'
//	    - timespec: '9:09 11/09/13'
//	    - tag: love
//	    - user: jam
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	command := a.Name
	if data.Truth(a.Job) {
		command = a.Job
	}
	job, by := "job "+data.Str(command)+" added and will run", ""
	if data.Truth(a.User) {
		by = " as " + data.Str(a.User)
	}
	when := " on " + data.Str(a.Timespec)
	var added *data.Map
	return change.Thing[bool]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (bool, error) { return m.queued(ctx, a) },
		Wants: func(queued bool) *data.Map { return change.When(!queued, data.NewMap("job", command)) },
		Apply: func(ctx context.Context, _ bool) (err error) {
			added, err = m.add(ctx, a, command)
			return err
		},
		Changed: func(_, _ bool) *data.Map { return added },
		Texts: change.Texts{
			Same:  "atleast one job with tag " + data.Str(a.Tag) + " exists.",
			Would: job + when,
			Done:  job + by + when,
		},
		Silent: true,
		Trust:  true, // the queue may have had such jobs before
	}.Ensure(ctx)
}

// queued reports whether unique_tag is set and a job with the tag exists.
func (m *module) queued(ctx context.Context, a presentArgs) (bool, error) {
	if !data.Truth(a.UniqueTag) {
		return false, nil
	}
	if !data.Truth(a.Tag) {
		return false, errors.New("no tag provided and unique_tag is set to True")
	}
	found, err := change.Ask[any](ctx, m.env, "at.jobcheck", nil, data.NewMap("tag", a.Tag))
	return len(jobs(found)) > 0, err
}

// add adds a job to the queue and returns the module's description of it.
func (m *module) add(ctx context.Context, a presentArgs, command any) (*data.Map, error) {
	kwargs := data.NewMap("tag", a.Tag)
	if data.Truth(a.User) {
		user := data.Str(a.User)
		known, err := change.Ask[bool](ctx, m.env, "user.info", []any{user}, nil)
		if err != nil {
			return nil, err
		}
		if !known {
			return nil, errors.New("user " + user + " does not exists")
		}
		kwargs.Set("runas", user)
	}
	v, err := change.Ask[any](ctx, m.env, "at.at", []any{a.Timespec, command}, kwargs)
	if answer, _ := v.(*data.Map); answer.Has("error") {
		return nil, errors.New(answer.Text("error"))
	}
	var added *data.Map
	if list := jobs(v); len(list) > 0 {
		added, _ = list[0].(*data.Map)
	}
	return added, err
}

// watch adds a job to the queue when a watched state changed something. It takes the arguments of
// present.
//
//	minion_restart:
//	  at.watch:
//	    - job: salt-call --local service.restart salt-minion
//	    - timespec: now +1 min
//	    - tag: minion_restart
//	    - unique_tag: true
//	    - watch:
//	      - file: /etc/salt/minion
func (m *module) watch(_ context.Context, a presentArgs) (change.Result, error) {
	return change.Result{Name: a.Name, Verdict: change.Success, Comment: ""}, nil
}

type modWatchArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// modWatch is called when a watched state changed something.
func (m *module) modWatch(ctx context.Context, a modWatchArgs) (change.Result, error) {
	if a.Kwargs.Value("sfun") != "watch" {
		return change.Refuse(a.Name, "")
	}
	return m.present(ctx, presentArgs{Name: a.Name, Timespec: a.Kwargs.Value("timespec"),
		Tag: a.Kwargs.Value("tag"), User: a.Kwargs.Value("user"), Job: a.Kwargs.Value("job"),
		UniqueTag: a.Kwargs.Value("unique_tag")})
}

type absentArgs struct {
	Name   any
	Jobid  any       `default:"None"`
	Runas  any       `default:"None"` // listed here because the runner does not pass it in **kwargs
	Kwargs *data.Map `kwargs:"kwargs"`
}

// absent removes jobs from the queue. Without conditions it removes all jobs.
//
// jobid
//
//	The number of a job. Other conditions are ignored then.
//
// tag, runas, hour, minute, day, month, year
//
//	Conditions of at.jobcheck for the jobs to remove.
//
//	roses:
//	  at.absent:
//	    - tag: rose
//	    - day: 13
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	if a.Kwargs.Has("limit") {
		return change.Refuse(a.Name, "limit parameter not supported "+data.Str(a.Name))
	}
	for name := range a.Kwargs.All() {
		if word := data.Str(name); !slices.Contains(conditions, word) &&
			!strings.HasPrefix(word, "__") {
			return change.Refuse(a.Name, fmt.Sprintf("'%s' is not a condition for removing jobs: %s",
				word, strings.Join(conditions, ", ")))
		}
	}
	return change.Thing[[]any]{
		Name: a.Name,
		Look: func(ctx context.Context) ([]any, error) { return m.matchingJobs(ctx, a) },
		Wants: func(numbers []any) *data.Map {
			return change.When(len(numbers) > 0, data.NewMap("removed", numbers))
		},
		Apply: func(ctx context.Context, numbers []any) error {
			return change.Do(ctx, m.env, "at.atrm", numbers, nil)
		},
		Changed: func(before, after []any) *data.Map {
			left := func(number any) bool { return slices.Contains(after, number) }
			removed := slices.DeleteFunc(slices.Clone(before), left)
			return change.When(len(removed) > 0, data.NewMap("removed", removed))
		},
		Texts: change.Texts{Would: "removed ? job(s)"},
		Say: func(o change.Outcome[[]any]) any {
			id := data.Str(a.Jobid)
			switch {
			case o.Stage == change.StageWould:
				return nil
			case o.Stage == change.StageFailed:
				return "failed to remove job with id " + strings.Join(data.Texts(o.After), ", ")
			case !data.Truth(a.Jobid):
				return fmt.Sprintf("removed %d job(s)", len(o.Before))
			case o.Stage == change.StageSame:
				return "job with id " + id + " not present"
			}
			return "job with id " + id + " was removed"
		},
		Silent: true,
	}.Ensure(ctx)
}

// conditions are the search arguments of at.jobcheck.
var conditions = []string{"tag", "runas", "hour", "minute", "day", "month", "year"}

// matchingJobs returns the numbers of the jobs to remove.
func (m *module) matchingJobs(ctx context.Context, a absentArgs) ([]any, error) {
	by := data.NewMap()
	if data.Truth(a.Runas) && !data.Truth(a.Jobid) {
		by.Set("runas", a.Runas)
	}
	for _, name := range conditions {
		if v, ok := a.Kwargs.Get(name); ok && !data.Truth(a.Jobid) {
			by.Set(name, v)
		}
	}
	fun := "at.atq"
	if by.Len() > 0 {
		fun = "at.jobcheck"
	}
	v, err := change.Ask[any](ctx, m.env, fun, nil, by)
	var numbers []any
	for _, j := range jobs(v) {
		job, _ := j.(*data.Map)
		if number := data.Str(job.Value("job")); !data.Truth(a.Jobid) ||
			number == data.Str(a.Jobid) {
			numbers = append(numbers, number)
		}
	}
	return numbers, err
}
