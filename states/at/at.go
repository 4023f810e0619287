// Package at is Salt's state at: jobs that run once at a later time (salt/states/at.py). The module at reads and
// writes the queue.
//
// What differs from Salt: in test mode unique_tag counts, and absent says so when there is nothing to remove. absent
// finds a job by jobid whether that is a text or a number, and counts the jobs that are gone. runas of absent is a
// condition, where Salt's root removes the jobs of all users. absent refuses words that are no conditions, such as
// user, where Salt removes all jobs.
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

// jobs returns the jobs of a result of the module.
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

// present adds a job to the queue, again with each run unless unique_tag is set.
//
// timespec
//
//	When it is to run, as at(1) has it.
//
// job
//
//	The command. Default: the name.
//
// tag
//
//	A word by which the job can be found.
//
// user
//
//	Whose job it is.
//
// unique_tag
//
//	True: nothing is added while there is a job with the tag.
//
//	rose:
//	  at.present:
//	    - job: 'echo "I love saltstack" > love'
//	    - timespec: '9:09 11/09/13'
//	    - tag: love
//	    - user: jam
func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
	command := a.Name
	if data.Truth(a.Job) {
		command = a.Job
	}
	if data.Truth(a.UniqueTag) {
		if !data.Truth(a.Tag) {
			return change.Failed(a.Name, "no tag provided and unique_tag is set to True"), nil
		}
		v, err := m.env.Call(ctx, "at.jobcheck", nil, data.NewMap("tag", a.Tag))
		if err != nil {
			return nil, err
		}
		if len(jobs(v)) > 0 {
			return change.Done(a.Name, fmt.Sprintf("atleast one job with tag %s exists.", data.Str(a.Tag))), nil
		}
	}
	comment := fmt.Sprintf("job %s added and will run on %s", data.Str(command), data.Str(a.Timespec))
	if change.Test(ctx) {
		return change.Would(a.Name, nil, comment), nil
	}
	kwargs := data.NewMap("tag", a.Tag)
	if data.Truth(a.User) {
		user := data.Str(a.User)
		info, err := m.env.Call(ctx, "user.info", []any{user}, nil)
		if err != nil {
			return nil, err
		}
		if !data.Truth(info) {
			return change.Failed(a.Name, fmt.Sprintf("user %s does not exists", user)), nil
		}
		comment = fmt.Sprintf("job %s added and will run as %s on %s", data.Str(command), user, data.Str(a.Timespec))
		kwargs.Set("runas", user)
	}
	v, err := m.env.Call(ctx, "at.at", []any{a.Timespec, command}, kwargs)
	if err != nil {
		return nil, err
	}
	if answer, _ := v.(*data.Map); answer.Has("error") {
		return change.Failed(a.Name, answer.Text("error")), nil
	}
	var changes *data.Map
	if added := jobs(v); len(added) > 0 {
		changes, _ = added[0].(*data.Map)
	}
	return change.New(a.Name, true, changes, comment), nil
}

// watch adds a job to the queue when something changed that the state watches. It takes the arguments of present.
//
//	minion_restart:
//	  at.watch:
//	    - job: salt-call --local service.restart salt-minion
//	    - timespec: now +1 min
//	    - tag: minion_restart
//	    - unique_tag: true
//	    - watch:
//	      - file: /etc/salt/minion
func (m *module) watch(_ context.Context, a presentArgs) (any, error) {
	return change.Done(a.Name, ""), nil
}

type modWatchArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// modWatch is called when something changed that a state watches.
func (m *module) modWatch(ctx context.Context, a modWatchArgs) (any, error) {
	if a.Kwargs.Value("sfun") != "watch" {
		return change.Failed(a.Name, ""), nil
	}
	return m.present(ctx, presentArgs{Name: a.Name, Timespec: a.Kwargs.Value("timespec"), Tag: a.Kwargs.Value("tag"),
		User: a.Kwargs.Value("user"), Job: a.Kwargs.Value("job"), UniqueTag: a.Kwargs.Value("unique_tag")})
}

type absentArgs struct {
	Name   any
	Jobid  any       `default:"None"`
	Runas  any       `default:"None"` // named here, as the runner keeps it from **kwargs
	Kwargs *data.Map `kwargs:"kwargs"`
}

// absent removes jobs from the queue: all jobs where no condition is given.
//
// jobid
//
//	The number of a job; conditions have no meaning then.
//
// tag, runas, hour, minute, day, month, year
//
//	Conditions of at.jobcheck that the jobs fit.
//
//	roses:
//	  at.absent:
//	    - tag: rose
//	    - day: 13
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	if a.Kwargs.Has("limit") {
		return change.Failed(a.Name, "limit parameter not supported "+data.Str(a.Name)), nil
	}
	for name := range a.Kwargs.All() {
		if word := data.Str(name); !slices.Contains(conditions, word) && !strings.HasPrefix(word, "__") {
			return change.Failed(a.Name, fmt.Sprintf("'%s' is no condition by which jobs are removed: %s",
				word, strings.Join(conditions, ", "))), nil
		}
	}
	numbers, err := m.doomed(ctx, a)
	switch {
	case err != nil:
		return nil, err
	case len(numbers) == 0 && data.Truth(a.Jobid):
		return change.Done(a.Name, fmt.Sprintf("job with id %s not present", data.Str(a.Jobid))), nil
	case len(numbers) == 0:
		return change.Done(a.Name, "removed 0 job(s)"), nil
	case change.Test(ctx):
		return change.Would(a.Name, nil, "removed ? job(s)"), nil
	}
	v, err := m.env.Call(ctx, "at.atrm", numbers, nil)
	if err != nil {
		return nil, err
	}
	answer, _ := v.(*data.Map)
	gone, _ := answer.Value("jobs").(*data.Map)
	removed, _ := gone.Value("removed").([]any)
	var changes *data.Map
	if len(removed) > 0 {
		changes = data.NewMap("removed", removed)
	}
	comment := fmt.Sprintf("removed %d job(s)", len(removed))
	if data.Truth(a.Jobid) {
		comment = fmt.Sprintf("job with id %s was removed", data.Str(a.Jobid))
	}
	if len(removed) == len(numbers) {
		return change.New(a.Name, true, changes, comment), nil
	}
	var left []string
	for _, number := range numbers {
		if !slices.Contains(removed, number) {
			left = append(left, data.Str(number))
		}
	}
	return change.New(a.Name, false, changes, "failed to remove job with id "+strings.Join(left, ", ")), nil
}

// conditions are the words by which at.jobcheck finds jobs.
var conditions = []string{"tag", "runas", "hour", "minute", "day", "month", "year"}

// doomed returns the numbers of the jobs that absent is about.
func (m *module) doomed(ctx context.Context, a absentArgs) ([]any, error) {
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
	v, err := m.env.Call(ctx, fun, nil, by)
	if err != nil {
		return nil, err
	}
	var numbers []any
	for _, j := range jobs(v) {
		job, _ := j.(*data.Map)
		if number := data.Str(job.Value("job")); !data.Truth(a.Jobid) || number == data.Str(a.Jobid) {
			numbers = append(numbers, number)
		}
	}
	return numbers, nil
}
