// Package supervisord is Salt's module supervisord: the processes of the daemon of Supervisor, by
// its program supervisorctl (salt/modules/supervisord.py).
//
// Differences from Salt: status returns the first process under its own name even while another one
// is stopped, when supervisorctl returns 3.
package supervisord

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module supervisord.
func Plugin() loader.Plugin { return loader.Plugin{Name: "supervisord", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("add", m.add),
		loader.F("custom", m.custom),
		loader.F("options", m.options),
		loader.F("remove", m.remove),
		loader.F("reread", m.reread),
		loader.F("restart", m.restart),
		loader.F("start", m.start),
		loader.F("status", m.status),
		loader.F("status_bool", m.statusBool),
		loader.F("status_raw", m.statusRaw),
		loader.F("stop", m.stop),
		loader.F("update", m.update),
	}}, nil
}

// place sets which supervisorctl runs, for which daemon, and as which user.
type place struct {
	User     any `default:"None"`
	ConfFile any `default:"None"`
	BinEnv   any `default:"None"`
}

// find returns the path of supervisorctl. bin is that path, or the directory of a virtual
// environment, or None.
func find(bin any) (string, error) {
	path := process.Find("supervisorctl")
	if data.Truth(bin) {
		path = data.Str(bin)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			path = filepath.Join(path, "bin", "supervisorctl")
			if !paths.IsFile(path) {
				path = ""
			}
		}
	}
	if path == "" {
		return "", loader.NotFound("Could not find a `supervisorctl` binary")
	}
	return path, nil
}

// run runs a command of supervisorctl. An empty name is left out.
func (m *module) run(ctx context.Context, p place, command, name string) (calls.Ran, error) {
	path, err := find(p.BinEnv)
	if err != nil {
		return calls.Ran{}, err
	}
	if err := process.PlainOperands(data.Str(p.ConfFile), command, name); err != nil {
		return calls.Ran{}, loader.Execution("%w", err)
	}
	argv := []string{path}
	if p.ConfFile != nil {
		argv = append(argv, "-c", data.Str(p.ConfFile))
	}
	argv = append(argv, command)
	if name != "" {
		argv = append(argv, name)
	}
	return calls.RunAll(ctx, m.env, calls.Run{Argv: argv, As: calls.Text(p.User)})
}

// text runs a command of supervisorctl and returns its output, marked as an error if it failed.
func (m *module) text(ctx context.Context, p place, command, name string) (string, error) {
	ran, err := m.run(ctx, p, command, name)
	if err == nil && ran.Retcode != 0 && !strings.Contains(ran.Stdout, "ERROR") {
		return "ERROR: " + ran.Stdout, nil
	}
	return ran.Stdout, err
}

// group returns the name of a group without the colon that marks it.
func group(name string) string {
	if whole, ok := strings.CutSuffix(name, ":"); ok {
		return whole
	}
	return strings.TrimSuffix(name, ":*")
}

type serviceArgs struct {
	Name string `default:"'all'"`
	place
}

// start starts a process or, by GROUP:, a group of processes, and returns the program's output.
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
// CLI Example:
//
//	salt '*' supervisord.start web
//	salt '*' supervisord.start workers:
func (m *module) start(ctx context.Context, a serviceArgs) (any, error) {
	return m.control(ctx, "start", a)
}

// restart restarts a process or a group, and returns the program's output. The arguments are those
// of supervisord.start.
//
// CLI Example:
//
//	salt '*' supervisord.restart web
//	salt '*' supervisord.restart workers:
func (m *module) restart(ctx context.Context, a serviceArgs) (any, error) {
	return m.control(ctx, "restart", a)
}

// stop stops a process or a group, and returns the program's output. The arguments are those of
// supervisord.start.
//
// CLI Example:
//
//	salt '*' supervisord.stop web
//	salt '*' supervisord.stop workers:
func (m *module) stop(ctx context.Context, a serviceArgs) (any, error) {
	return m.control(ctx, "stop", a)
}

// control runs a command on a process or on GROUP:, which may also be given as GROUP:*.
func (m *module) control(ctx context.Context, command string, a serviceArgs) (any, error) {
	if strings.HasSuffix(a.Name, ":*") {
		a.Name = strings.TrimSuffix(a.Name, "*")
	}
	return m.text(ctx, a.place, command, a.Name)
}

type groupArgs struct {
	Name string
	place
}

// add adds a process or group of the configuration to those that run, and returns the program's
// output. The arguments are those of supervisord.start.
//
// CLI Example:
//
//	salt '*' supervisord.add web
func (m *module) add(ctx context.Context, a groupArgs) (any, error) {
	return m.text(ctx, a.place, "add", group(a.Name))
}

// remove removes a process or group from those that run, and returns the program's output. The
// arguments are those of supervisord.start.
//
// CLI Example:
//
//	salt '*' supervisord.remove web
func (m *module) remove(ctx context.Context, a groupArgs) (any, error) {
	return m.text(ctx, a.place, "remove", group(a.Name))
}

type rereadArgs struct{ place }

// reread makes the daemon read its configuration again, and returns the program's output. The
// arguments are those of supervisord.start.
//
// CLI Example:
//
//	salt '*' supervisord.reread
func (m *module) reread(ctx context.Context, a rereadArgs) (any, error) {
	return m.text(ctx, a.place, "reread", "")
}

type updateArgs struct {
	place
	Name any `default:"None"`
}

// update makes the daemon read its configuration, and add, remove and restart what has changed,
// of all groups or of one. It returns the program's output. The arguments are those of
// supervisord.start.
//
// CLI Example:
//
//	salt '*' supervisord.update
func (m *module) update(ctx context.Context, a updateArgs) (any, error) {
	return m.text(ctx, a.place, "update", group(calls.Text(a.Name)))
}

type customArgs struct {
	Command string
	place
}

// custom runs any command of supervisorctl, and returns the program's output. The other arguments
// are those of supervisord.start.
//
// CLI Example:
//
//	salt '*' supervisord.custom "mstop '*gunicorn*'"
func (m *module) custom(ctx context.Context, a customArgs) (any, error) {
	return m.text(ctx, a.place, a.Command, "")
}
