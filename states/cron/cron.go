// Package cron is Salt's state cron: jobs and variables in the crontabs of users, and whole crontabs (salt/states/cron.py). The module
// cron reads and writes them; what lacks is asked of package crontab, in test mode, too.
//
// What differs from Salt: in test mode it is the same comparison as for real, so that jobs by words such as @daily are found to be removed.
package cron

import (
	"cmp"
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
func (m *module) ensure(ctx context.Context, e entry) (change.Result, error) {
	return change.Thing[crontab.Status]{
		Name: e.name,
		Look: func(ctx context.Context) (crontab.Status, error) {
			text, err := change.Ask[any](ctx, m.env, "cron.raw_cron", []any{e.user}, nil)
			if err != nil {
				return "", err
			}
			return e.status(crontab.Parse(data.Str(text))), nil
		},
		Wants: func(now crontab.Status) *data.Map {
			return change.When(now != crontab.Present && now != crontab.Absent, data.NewMap(e.user, e.name))
		},
		Apply: func(ctx context.Context, _ crontab.Status) error {
			answer, err := change.Ask[any](ctx, m.env, e.fun, nil, e.args)
			switch text := data.Str(answer); crontab.Status(text) {
			case crontab.New, crontab.Updated, crontab.Removed:
				return nil
			default:
				return cmp.Or(err, errors.New(text))
			}
		},
		Say:    e.say,
		Silent: true,
		Trust:  true, // crontab may show a job otherwise than it was asked for
	}.Ensure(ctx)
}

// say returns the comment.
func (e entry) say(o change.Outcome[crontab.Status]) any {
	what, of := e.called+" "+e.name, " "+e.user+"'s crontab"
	switch {
	case o.Before == crontab.Present:
		return what + " already present"
	case o.Before == crontab.Absent && o.Test:
		return what + " is absent"
	case o.Before == crontab.Absent:
		return what + " already absent"
	case o.Err != nil:
		gap := "" // Salt parts the two with a line for what was to be added alone
		if o.Before != crontab.Removed {
			gap = "\n"
		}
		return fmt.Sprintf("%s for user %s failed to commit with error %s%v", what, e.user, gap, o.Err)
	}
	would := o.Stage == change.StageWould
	switch {
	case would && o.Before == crontab.New:
		return what + " is set to be added"
	case would:
		return what + " is set to be " + string(o.Before)
	case o.Before == crontab.New:
		return what + " added to" + of
	case o.Before == crontab.Updated:
		return what + " updated"
	}
	return what + " removed from" + of
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
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
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
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
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
func (m *module) envPresent(ctx context.Context, a envPresentArgs) (change.Result, error) {
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
func (m *module) envAbsent(ctx context.Context, a envAbsentArgs) (change.Result, error) {
	a.Name = strings.TrimSpace(a.Name)
	status := func(t *crontab.Table) crontab.Status { return t.RemoveVariable(a.Name) }
	return m.ensure(ctx, entry{a.Name, a.User, "Cron env", status, "cron.rm_env", data.NewMap("user", a.User, "name", a.Name)})
}
