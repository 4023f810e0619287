// Package cron is Salt's state cron: jobs and variables in the crontabs of users, and whole crontabs (salt/states/cron.py). The module
// cron reads and writes them; what lacks is asked of package crontab, in test mode, too.
//
// What differs from Salt: in test mode it is the same comparison as for real, so that jobs by words such as @daily are found to be removed.
package cron

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/crontab"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state cron.
func Plugin() loader.Plugin { return loader.Plugin{Name: "cron", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("cron.list_tab") {
		return nil, errors.New("cron module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("env_absent", m.envAbsent),
		loader.F("env_present", m.envPresent),
		loader.F("file", m.file),
		loader.F("present", m.present),
	}}, nil
}

// An entry is a job or a variable that a state keeps.
type entry struct {
	name, user, called string // called is what the comments call it
	status             func(*crontab.Table) crontab.Status
	fun                string // of the module, with its arguments
	args               *data.Map
}

// ensure brings an entry to how it is wanted, or says what would be.
func (m *module) ensure(ctx context.Context, e entry) (any, error) {
	text, err := m.env.Call(ctx, "cron.raw_cron", []any{e.user}, nil)
	if err != nil {
		return nil, err
	}
	status := e.status(crontab.Parse(data.Str(text)))
	what := e.called + " " + e.name
	switch {
	case status == crontab.Present:
		return change.Done(e.name, what+" already present"), nil
	case status == crontab.Absent && change.Test(ctx):
		return change.Done(e.name, what+" is absent"), nil
	case status == crontab.Absent:
		return change.Done(e.name, what+" already absent"), nil
	case change.Test(ctx):
		word := map[crontab.Status]string{crontab.New: "added", crontab.Updated: "updated", crontab.Removed: "removed"}[status]
		return change.Would(e.name, nil, what+" is set to be "+word), nil
	}
	done, err := m.env.Call(ctx, e.fun, nil, e.args)
	if err != nil {
		return nil, err
	}
	changes := data.NewMap(e.user, e.name)
	switch done {
	case string(crontab.New):
		return change.New(e.name, true, changes, fmt.Sprintf("%s added to %s's crontab", what, e.user)), nil
	case string(crontab.Updated):
		return change.New(e.name, true, changes, what+" updated"), nil
	case string(crontab.Removed):
		return change.New(e.name, true, changes, fmt.Sprintf("%s removed from %s's crontab", what, e.user)), nil
	}
	gap := "" // Salt parts the two with a line for what was to be added alone
	if status != crontab.Removed {
		gap = "\n"
	}
	return change.Failed(e.name, fmt.Sprintf("%s for user %s failed to commit with error %s%s", what, e.user, gap, data.Str(done))), nil
}

type presentArgs struct {
	Name       string
	User       string `default:"'root'"`
	Minute     any    `default:"'*'"`
	Hour       any    `default:"'*'"`
	Daymonth   any    `default:"'*'"`
	Month      any    `default:"'*'"`
	Dayweek    any    `default:"'*'"`
	Comment    any    `default:"None"`
	Commented  any    `default:"False"`
	Identifier any    `default:"False"`
	Special    any    `default:"None"`
}

// identified returns the identifier of a job, which is its command where none is given.
func identified(identifier any, command string) any {
	switch identifier {
	case false:
		return command
	case nil:
		return nil
	}
	return data.Str(identifier)
}

func given(v any) *string {
	if v == nil {
		return nil
	}
	text := data.Str(v)
	return &text
}

// present keeps a job in a user's crontab.
//
// user
//
//	Whose crontab it is: root's by default.
//
// minute, hour, daymonth, month, dayweek
//
//	When it runs, as crontab(5) has it; random draws a time, which then stays.
//
// comment
//
//	What stands above it.
//
// commented
//
//	True: it does not run.
//
// identifier
//
//	By what it is found when its command has changed. Default: the command.
//
// special
//
//	A word such as '@daily' in the place of times; it has to be quoted.
//
//	/usr/local/bin/backup:
//	  cron.present:
//	    - identifier: backup
//	    - minute: random
//	    - hour: 2
func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
	a.Name = strings.TrimSpace(a.Name)
	identifier := identified(a.Identifier, a.Name)
	job := crontab.Job{Command: a.Name, Comment: given(a.Comment), Identifier: given(identifier), Disabled: a.Commented == true}
	args := data.NewMap("user", a.User, "cmd", a.Name, "comment", a.Comment, "commented", a.Commented == true, "identifier", identifier)
	fun := "cron.set_job"
	if a.Special != nil {
		fun, job.Special = "cron.set_special", data.Str(a.Special)
		args.Set("special", job.Special)
	} else {
		for i, time := range []struct {
			name  string
			value any
		}{{"minute", a.Minute}, {"hour", a.Hour}, {"daymonth", a.Daymonth}, {"month", a.Month}, {"dayweek", a.Dayweek}} {
			job.Times[i] = strings.ToLower(data.Str(time.value))
			args.Set(time.name, job.Times[i])
		}
	}
	return m.ensure(ctx, entry{a.Name, a.User, "Cron", func(t *crontab.Table) crontab.Status { return t.Set(job) }, fun, args})
}

type absentArgs struct {
	Name       string
	User       string    `default:"'root'"`
	Identifier any       `default:"False"`
	Special    any       `default:"None"`
	Kwargs     *data.Map `kwargs:"kwargs"`
}

// absent takes a job from a user's crontab. What else present knows does not count.
//
// user
//
//	Whose crontab it is: root's by default.
//
// identifier
//
//	By what it is found. Default: the command.
//
// special
//
//	The word such as '@daily' by which it runs.
//
//	/usr/local/bin/backup:
//	  cron.absent:
//	    - identifier: backup
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	a.Name = strings.TrimSpace(a.Name)
	identifier := identified(a.Identifier, a.Name)
	args := data.NewMap("user", a.User, "cmd", a.Name, "identifier", identifier)
	fun, special, id := "cron.rm_job", "", ""
	if a.Special != nil {
		fun, special = "cron.rm_special", data.Str(a.Special)
		args.Set("special", special)
	}
	if identifier != nil {
		id = data.Str(identifier)
	}
	status := func(t *crontab.Table) crontab.Status { return t.Remove(a.Name, id, special, [5]*string{}) }
	return m.ensure(ctx, entry{a.Name, a.User, "Cron", status, fun, args})
}

type envPresentArgs struct {
	Name  string
	Value any    `default:"None"`
	User  string `default:"'root'"`
}

// envPresent gives a variable of a user's crontab a value.
//
// value
//
//	The value; nothing by default.
//
// user
//
//	Whose crontab it is: root's by default.
//
//	MAILTO:
//	  cron.env_present:
//	    - value: ann@example.com
func (m *module) envPresent(ctx context.Context, a envPresentArgs) (any, error) {
	value := ""
	if a.Value != nil {
		value = data.Str(a.Value)
	}
	status := func(t *crontab.Table) crontab.Status { return t.SetVariable(a.Name, value) }
	return m.ensure(ctx, entry{a.Name, a.User, "Cron env", status, "cron.set_env", data.NewMap("user", a.User, "name", a.Name, "value", value)})
}

type envAbsentArgs struct {
	Name string
	User string `default:"'root'"`
}

// envAbsent takes a variable from a user's crontab.
//
// user
//
//	Whose crontab it is: root's by default.
//
//	MAILTO:
//	  cron.env_absent
func (m *module) envAbsent(ctx context.Context, a envAbsentArgs) (any, error) {
	a.Name = strings.TrimSpace(a.Name)
	status := func(t *crontab.Table) crontab.Status { return t.RemoveVariable(a.Name) }
	return m.ensure(ctx, entry{a.Name, a.User, "Cron env", status, "cron.rm_env", data.NewMap("user", a.User, "name", a.Name)})
}
