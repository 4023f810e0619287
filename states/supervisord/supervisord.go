// Package supervisord is Salt's state supervisord: processes of Supervisor that run or do not
// (salt/states/supervisord.py). It uses the module supervisord.
//
// Differences from Salt: test mode compares as a real run does, so a process that starts counts as
// running, and one that does not run need not be stopped. A group is dead only if none of its
// processes runs. The states fail if the daemon does not answer. They look again after a change. If
// an update or an addition fails, the comment is its error.
package supervisord

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state supervisord.
func Plugin() loader.Plugin { return loader.Plugin{Name: "supervisord", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("dead", m.dead),
		loader.F("mod_watch", m.modWatch),
		loader.F("running", m.running),
	}}, nil
}

// place is the supervisorctl that a state uses.
type place struct{ user, conf, bin any }

func (p place) kwargs() *data.Map {
	return data.NewMap("user", p.user, "conf_file", p.conf, "bin_env", p.bin)
}

func (m *module) run(ctx context.Context, p place, fun string, args ...any) (string, error) {
	return change.Ask[string](ctx, m.env, "supervisord."+fun, args, p.kwargs())
}

// processes returns the names and states of a process, or of those of a group.
func (m *module) processes(ctx context.Context, p place, name string) (*data.Map, error) {
	all, err := change.Ask[*data.Map](ctx, m.env, "supervisord.status", nil, p.kwargs())
	if err != nil {
		return nil, err
	}
	if wrong, ok := all.Value("ERROR:").(*data.Map); ok {
		return nil, change.Reason("ERROR: " + wrong.Text("state") + " " + wrong.Text("reason"))
	}
	found := &data.Map{}
	for key, v := range all.All() {
		process, _ := v.(*data.Map)
		if key == name || strings.HasSuffix(name, ":") && strings.HasPrefix(data.Str(key), name) {
			found.Set(key, process.Text("state"))
		}
	}
	return found, nil
}

// stopped returns the names of the processes that do not run.
func stopped(processes *data.Map) []string {
	var names []string
	for name, state := range processes.All() {
		if slices.Contains([]string{"STOPPED", "STOPPING", "EXITED", "FATAL", "BACKOFF"}, data.Str(state)) {
			names = append(names, data.Str(name))
		}
	}
	return names
}

// kind returns the word for a process or group in comments, with a blank in front, or nothing for
// one that is not known.
func kind(name string, processes *data.Map) string {
	switch {
	case processes.Len() == 0:
		return ""
	case strings.HasSuffix(name, ":"):
		return " group"
	}
	return " service"
}

// wrong reports whether the output of supervisorctl is an error that matters.
func wrong(output string) bool {
	return strings.Contains(output, "ERROR") && !slices.ContainsFunc(
		[]string{"already started", "not running", "process group already active"},
		func(harmless string) bool { return strings.Contains(output, harmless) })
}

type runningArgs struct {
	Name     string
	Restart  bool      `default:"False"`
	Update   bool      `default:"False"`
	User     any       `default:"None"`
	ConfFile any       `default:"None"`
	BinEnv   any       `default:"None"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// running keeps a process or, by GROUP:, a group of processes running, and adds it to those of the
// daemon if the configuration has it.
//
// restart
//
//	Restart it if it runs.
//
// update
//
//	Make the daemon apply all changes of the configuration first.
//
// user
//
//	The user to run supervisorctl as.
//
// conf_file
//
//	The path of the configuration.
//
// bin_env
//
//	The path of supervisorctl, or of a virtual environment that has it.
//
//	web:
//	  supervisord.running:
//	    - watch:
//	      - file: /etc/web.conf
func (m *module) running(ctx context.Context, a runningArgs) (any, error) {
	if strings.HasSuffix(a.Name, ":*") {
		a.Name = strings.TrimSuffix(a.Name, "*")
	}
	p := place{a.User, a.ConfFile, a.BinEnv}
	now, err := m.processes(ctx, p, a.Name)
	if err != nil {
		return failure(a.Name, err)
	}
	if change.Test(ctx) {
		return plan(a.Name, now), nil
	}
	r := &attempt{module: m, place: p, name: a.Name}
	updated := r.prepare(ctx, a.Update, now)
	switch idle := now.Len() > 0 && len(stopped(now)) == 0; {
	case idle && a.Restart && !updated:
		r.do(ctx, "Restarting"+kind(a.Name, now)+": "+a.Name, "restart", a.Name)
	case idle && updated:
		r.say("Not starting updated" + kind(a.Name, now) + ": " + a.Name)
	case idle:
		r.say("Not starting already running" + kind(a.Name, now) + ": " + a.Name)
	case !updated:
		r.do(ctx, "Starting"+kind(a.Name, now)+": "+a.Name, "start", a.Name)
	}
	return r.result(ctx)
}

// failure returns the result for an error of processes: an exception, or a failure with a reason.
func failure(name string, err error) (any, error) {
	r, err := change.Thing[struct{}]{
		Name:  name,
		Look:  func(context.Context) (struct{}, error) { return struct{}{}, err },
		Wants: func(struct{}) *data.Map { return nil },
	}.Ensure(context.Background())
	return r, err
}

// plan returns the result of test mode.
func plan(name string, now *data.Map) *data.Map {
	service, grouped := "Service "+name, strings.HasSuffix(name, ":")
	idle := stopped(now)
	switch {
	case now.Len() == 0 && grouped:
		return change.Would(name, nil, "Group '"+name+"' will be added and started")
	case now.Len() == 0:
		return change.Would(name, nil, service+" will be added and started")
	case len(idle) == 0 && grouped:
		return change.Unchanged(name, "All services in group '"+name+"' are already running")
	case len(idle) == 0:
		return change.Unchanged(name, service+" is already running")
	case grouped && len(idle) == now.Len():
		return change.Would(name, nil, "All services in group '"+name+"' will be started")
	case grouped:
		return change.Would(name, nil, "The following services will be started: "+strings.Join(idle, " "))
	}
	return change.Would(name, nil, service+" will be started")
}

// An attempt collects what one run of a state did.
type attempt struct {
	*module
	place
	name, comment string
	changes       []string
	started       []string // names of processes that were started
	failed        bool
	err           error
}

// say sets the comment, unless a command has failed.
func (r *attempt) say(comment string) {
	if !r.failed {
		r.comment = comment
	}
}

// prepare updates the daemon, or adds a process that it does not know. It reports whether the
// update has restarted the process.
func (r *attempt) prepare(ctx context.Context, update bool, now *data.Map) (updated bool) {
	switch {
	case update:
		output := r.do(ctx, "Updating supervisor", "update")
		r.changes = nil
		return strings.Contains(output, r.name+": updated")
	case now.Len() == 0:
		if _, r.err = r.run(ctx, r.place, "reread"); r.err == nil {
			r.do(ctx, "Adding service: "+r.name, "add", r.name)
		}
	}
	return false
}

// do runs a command unless one could not be run before, and returns its output.
func (r *attempt) do(ctx context.Context, comment, fun string, args ...any) string {
	if r.err != nil {
		return ""
	}
	var output string
	output, r.err = r.run(ctx, r.place, fun, args...)
	r.say(comment)
	if r.changes = append(r.changes, comment); wrong(output) {
		r.comment, r.failed = output, true
	}
	for line := range strings.Lines(output) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), ": started"); ok {
			r.started = append(r.started, name)
		}
	}
	return output
}

// result looks again and returns the result. A process that was started and has ended since, such as
// one that runs once, is no failure.
func (r *attempt) result(ctx context.Context) (any, error) {
	if r.err != nil {
		return failure(r.name, r.err)
	}
	if !r.failed {
		now, err := r.processes(ctx, r.place, r.name)
		if err != nil {
			return failure(r.name, err)
		}
		idle := slices.DeleteFunc(stopped(now), func(name string) bool {
			return now.Value(name) == "EXITED" && slices.Contains(r.started, name)
		})
		if now.Len() == 0 || len(idle) > 0 {
			r.failed, r.comment = true, r.comment+", but it does not run: "+data.Repr(now)
		}
	}
	if r.failed {
		return change.Failed(r.name, r.comment), nil
	}
	changes := change.When(len(r.changes) > 0, data.NewMap(r.name, strings.Join(r.changes, " ")))
	return change.New(r.name, true, changes, r.comment), nil
}

type deadArgs struct {
	Name     string
	User     any       `default:"None"`
	ConfFile any       `default:"None"`
	BinEnv   any       `default:"None"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// dead keeps a process or, by GROUP:, a group of processes stopped. The arguments are those of
// supervisord.running.
//
//	web:
//	  supervisord.dead
func (m *module) dead(ctx context.Context, a deadArgs) (change.Result, error) {
	p := place{a.User, a.ConfFile, a.BinEnv}
	stopping := "Stopping service: " + a.Name
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) { return m.processes(ctx, p, a.Name) },
		Wants: func(now *data.Map) *data.Map {
			return change.When(len(stopped(now)) < now.Len(), data.NewMap(a.Name, stopping))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			output, err := m.run(ctx, p, "stop", a.Name)
			if err == nil && wrong(output) {
				err = change.Reason(output)
			}
			return err
		},
		Texts: change.Texts{
			Same:   "Service " + a.Name + " is not running",
			Would:  "Service " + a.Name + " is set to be stopped",
			Done:   stopping,
			Failed: "Service " + a.Name + " still runs",
		},
		Say: func(o change.Outcome[*data.Map]) any {
			if o.Stage == change.StageSame && o.Before.Len() == 0 {
				return "Service " + a.Name + " doesn't exist"
			}
			return nil
		},
		Silent: true,
	}.Ensure(ctx)
}

type watchArgs struct {
	Name     string
	Restart  bool      `default:"True"`
	Update   bool      `default:"False"`
	User     any       `default:"None"`
	ConfFile any       `default:"None"`
	BinEnv   any       `default:"None"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// modWatch restarts a process or group when something that it watches has changed.
func (m *module) modWatch(ctx context.Context, a watchArgs) (any, error) {
	return m.running(ctx, runningArgs{Name: a.Name, Restart: a.Restart, Update: a.Update, User: a.User,
		ConfFile: a.ConfFile, BinEnv: a.BinEnv})
}
