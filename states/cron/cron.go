// Package cron is Salt's state cron: jobs and variables in users' crontabs, and whole crontabs
// (salt/states/cron.py). The module cron reads and writes them; package crontab does the
// comparison.
//
// Difference from Salt: test mode uses the same comparison as a real run, so it also finds jobs
// with keywords such as @daily that are to be removed.
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

// An entry is a job or a variable that a state manages.
type entry struct {
	name, user, called string // called is what the comments call it
	status             func(*crontab.Table) crontab.Status
	fun                string // function of the module, with its arguments
	args               *data.Map
}

// ensure brings an entry to the desired state, or in test mode reports what would change.
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
			return change.When(now != crontab.Present && now != crontab.Absent,
				data.NewMap(e.user, e.name))
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
		Say:    e.comment,
		Silent: true,
		Trust:  true, // crontab may show a job differently from the request
	}.Ensure(ctx)
}

// comment returns the comment.
func (e entry) comment(o change.Outcome[crontab.Status]) any {
	what, of := e.called+" "+e.name, " "+e.user+"'s crontab"
	switch {
	case o.Before == crontab.Present:
		return what + " already present"
	case o.Before == crontab.Absent && o.Test:
		return what + " is absent"
	case o.Before == crontab.Absent:
		return what + " already absent"
	case o.Err != nil:
		gap := "" // Salt has a line break here, except for a removal
		if o.Before != crontab.Removed {
			gap = "\n"
		}
		return fmt.Sprintf("%s for user %s failed to commit with error %s%v", what,
			e.user, gap, o.Err)
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

// identified returns the identifier of a job. The default is its command.
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

// present manages a job in a user's crontab.
//
// user
//
//	The user whose crontab it is. Default: root.
//
// minute, hour, daymonth, month, dayweek
//
//	The schedule in the format of crontab(5). random picks a random value once, which is kept.
//
// comment
//
//	The comment in the line above the job.
//
// commented
//
//	True: the job is disabled by commenting it out.
//
// identifier
//
//	Identifies the job even if its command changes. Default: the command.
//
// special
//
//	A keyword such as '@daily' in place of times. It has to be quoted.
//
//	/usr/local/bin/backup:
//	  cron.present:
//	    - identifier: backup
//	    - minute: random
//	    - hour: 2
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	a.Name = strings.TrimSpace(a.Name)
	identifier := identified(a.Identifier, a.Name)
	job := crontab.Job{Command: a.Name, Comment: given(a.Comment), Identifier: given(identifier),
		Disabled: a.Commented == true}
	args := data.NewMap("user", a.User, "cmd", a.Name, "comment", a.Comment,
		"commented", a.Commented == true, "identifier", identifier)
	fun := "cron.set_job"
	if a.Special != nil {
		fun, job.Special = "cron.set_special", data.Str(a.Special)
		args.Set("special", job.Special)
	} else {
		for i, time := range []struct {
			name  string
			value any
		}{{"minute", a.Minute}, {"hour", a.Hour}, {"daymonth", a.Daymonth}, {"month", a.Month},
			{"dayweek", a.Dayweek}} {
			job.Times[i] = strings.ToLower(data.Str(time.value))
			args.Set(time.name, job.Times[i])
		}
	}
	return m.ensure(ctx, entry{a.Name, a.User,
		"Cron", func(t *crontab.Table) crontab.Status { return t.Set(job) }, fun, args})
}

type absentArgs struct {
	Name       string
	User       string    `default:"'root'"`
	Identifier any       `default:"False"`
	Special    any       `default:"None"`
	Kwargs     *data.Map `kwargs:"kwargs"`
}

// absent removes a job from a user's crontab. Other arguments of present are ignored.
//
// user
//
//	The user whose crontab it is. Default: root.
//
// identifier
//
//	Identifies the job. Default: the command.
//
// special
//
//	The keyword of the job, such as '@daily'.
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

// envPresent sets a variable in a user's crontab.
//
// value
//
//	The value. Default: empty.
//
// user
//
//	The user whose crontab it is. Default: root.
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
	return m.ensure(ctx, entry{a.Name, a.User, "Cron env", status,
		"cron.set_env", data.NewMap("user", a.User, "name", a.Name, "value", value)})
}

type envAbsentArgs struct {
	Name string
	User string `default:"'root'"`
}

// envAbsent removes a variable from a user's crontab.
//
// user
//
//	The user whose crontab it is. Default: root.
//
//	MAILTO:
//	  cron.env_absent
func (m *module) envAbsent(ctx context.Context, a envAbsentArgs) (change.Result, error) {
	a.Name = strings.TrimSpace(a.Name)
	status := func(t *crontab.Table) crontab.Status { return t.RemoveVariable(a.Name) }
	return m.ensure(ctx, entry{a.Name, a.User, "Cron env", status,
		"cron.rm_env", data.NewMap("user", a.User, "name", a.Name)})
}
