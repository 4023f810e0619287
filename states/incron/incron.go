// Package incron is Salt's state incron: jobs of incron, which runs programs when files change
// (salt/states/incron.py). It uses the module incron.
//
// Differences from Salt: mask may be a text; a job whose mask has only some of the events counts as
// absent for absent, in test mode too.
package incron

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state incron.
func Plugin() loader.Plugin { return loader.Plugin{Name: "incron", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("present", m.present),
	}}, nil
}

type jobArgs struct {
	Name string
	Path string
	Mask any
	Cmd  string
	User string `default:"'root'"`
}

// mask returns the events with commas between them.
func (a jobArgs) mask() string {
	if text, ok := a.Mask.(string); ok {
		return text
	}
	return strings.Join(data.TextsOf(a.Mask), ",")
}

func (a jobArgs) command() string { return strings.TrimSuffix(a.Cmd, "\n") }

// status is what a table has of a job: nothing, one with a common event, or the job itself.
type status int

const (
	none status = iota
	similar
	equal
)

// look reads the table of the user.
func (m *module) look(ctx context.Context, a jobArgs) (status, error) {
	tab, err := change.Ask[*data.Map](ctx, m.env, "incron.list_tab", []any{a.User}, nil)
	now, wanted := none, events(a.mask())
	for _, v := range data.ListOf(tab.Value("crons")) {
		job, _ := v.(*data.Map)
		has := events(job.Text("mask"))
		switch {
		case job.Text("path") != a.Path || job.Text("cmd") != a.command():
		case slices.Equal(has, wanted):
			return equal, err
		case slices.ContainsFunc(has, func(e string) bool { return slices.Contains(wanted, e) }):
			now = similar
		}
	}
	return now, err
}

func events(mask string) []string {
	all := strings.Split(strings.ToUpper(mask), ",")
	slices.Sort(all)
	return all
}

// act calls a function, whose result is one of the words for success or else a complaint.
func (m *module) act(ctx context.Context, a jobArgs, fun string, success ...string) error {
	v, err := change.Ask[any](ctx, m.env, "incron."+fun, nil,
		data.NewMap("user", a.User, "path", a.Path, "mask", a.mask(), "cmd", a.command()))
	if err == nil && !slices.Contains(success, data.Str(v)) {
		err = change.Reason(data.Str(v))
	}
	return err
}

// present keeps a job in the table of a user. One with the same path and command and with a common
// event is replaced.
//
// user
//
//	The user, or system for a table in /etc/incron.d. Default: root.
//
// mask
//
//	A list of events.
//
//	watch /home/user:
//	  incron.present:
//	    - path: /home/user
//	    - mask: [IN_MODIFY]
//	    - cmd: 'echo "$$ $@"'
func (m *module) present(ctx context.Context, a jobArgs) (change.Result, error) {
	title := "Incron " + a.Name
	return change.Thing[status]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (status, error) { return m.look(ctx, a) },
		Wants: func(now status) *data.Map { return change.When(now != equal, data.NewMap(a.User, a.Name)) },
		Apply: func(ctx context.Context, _ status) error {
			return m.act(ctx, a, "set_job", "present", "new", "updated")
		},
		Silent: true,
		Texts:  change.Texts{Same: title + " already present"},
		Say: func(o change.Outcome[status]) any {
			switch {
			case o.Stage == change.StageWould && o.Before == similar:
				return title + " is set to be updated"
			case o.Stage == change.StageWould:
				return title + " is set to be added"
			case o.Stage == change.StageDone && o.Before == similar:
				return title + " updated"
			case o.Stage == change.StageDone:
				return title + " added to " + a.User + "'s incrontab"
			case o.Err != nil:
				return title + " for user " + a.User + " failed to commit with error \n" + o.Err.Error()
			}
			return nil
		},
	}.Ensure(ctx)
}

// absent keeps a job out of the table of a user. Its arguments are those of incron.present.
//
//	watch /home/user:
//	  incron.absent:
//	    - path: /home/user
//	    - mask: [IN_MODIFY]
//	    - cmd: 'echo "$$ $@"'
func (m *module) absent(ctx context.Context, a jobArgs) (change.Result, error) {
	title := "Incron " + a.Name
	return change.Thing[status]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (status, error) { return m.look(ctx, a) },
		Wants: func(now status) *data.Map { return change.When(now == equal, data.NewMap(a.User, a.Name)) },
		Apply: func(ctx context.Context, _ status) error {
			return m.act(ctx, a, "rm_job", "absent",
				"removed")
		},
		Silent: true,
		Texts: change.Texts{
			Would: title + " is set to be removed",
			Done:  title + " removed from " + a.User + "'s crontab",
		},
		Say: func(o change.Outcome[status]) any {
			switch {
			case o.Stage == change.StageSame && o.Test:
				return title + " is absent"
			case o.Stage == change.StageSame:
				return title + " already absent"
			case o.Stage == change.StageFailed && o.Err != nil:
				return title + " for user " + a.User + " failed to commit with error " + o.Err.Error()
			}
			return nil
		},
	}.Ensure(ctx)
}
