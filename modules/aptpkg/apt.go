package aptpkg

import (
	"context"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
)

// An outcome is what a program gave.
type outcome struct {
	code           int64
	stdout, stderr string
}

// failure returns what a program that failed has to say; "" for one that did not.
func (o outcome) failure() string {
	switch {
	case o.code == 0:
		return ""
	case o.stderr != "":
		return o.stderr
	case o.stdout != "":
		return o.stdout
	}
	return "The program ended with the code " + data.Str(o.code)
}

// words returns a command line.
func words(command ...string) []any { return data.Values(command) }

// run runs a program without a shell. Further arguments are those of cmd.run_all.
func (m *module) run(ctx context.Context, command []any, kwargs ...any) (outcome, error) {
	all := data.NewMap("output_loglevel", "trace", "python_shell", false)
	all.Update(data.NewMap(kwargs...))
	v, err := m.env.Call(ctx, "cmd.run_all", []any{command}, all)
	if err != nil {
		return outcome{}, err
	}
	ran, _ := v.(*data.Map)
	code, _ := ran.Value("retcode").(int64)
	return outcome{code, ran.Text("stdout"), ran.Text("stderr")}, nil
}

// mostTries is how often apt is asked again for a lock that another program holds; the waits before double from two seconds on.
const mostTries = 10

// apt runs a program of apt, and again while another program holds its lock.
func (m *module) apt(ctx context.Context, command []any, kwargs ...any) (outcome, error) {
	kwargs = append([]any{"env", m.environment(nil)}, kwargs...)
	wait := 2 * time.Second
	for try := 1; ; try++ {
		o, err := m.run(ctx, command, kwargs...)
		if err != nil || !strings.Contains(o.stderr, "Could not get lock") || try > mostTries {
			return o, err
		}
		m.env.Log.Warnf("Waiting for dpkg lock release: retrying... %d/%d", try, mostTries)
		if err := m.pause(ctx, wait); err != nil {
			return o, err
		}
		wait *= 2
	}
}

// change runs a program of apt that changes packages, so that it outlives the minion if that is among them.
func (m *module) change(ctx context.Context, command []string, kwargs ...any) (outcome, error) {
	scoped, err := packages.Scoped(ctx, m.env, "salt.loaded.int.module.aptpkg", data.Values(command))
	if err != nil {
		return outcome{}, err
	}
	return m.apt(ctx, scoped, kwargs...)
}

// environment returns the variables for programs of apt: those that keep it from asking, over those that option and pillar
// system-environment give to the module, under those of the call.
func (m *module) environment(given any) *data.Map {
	env := data.NewMap("APT_LISTBUGS_FRONTEND", "none", "APT_LISTCHANGES_FRONTEND", "none", "DEBIAN_FRONTEND", "noninteractive", "UCF_FORCE_CONFFOLD", "1")
	for _, source := range []*data.Map{m.env.Opts, m.env.PillarNow()} {
		for _, name := range []string{"pkg", "aptpkg"} {
			own, _ := data.Lookup(source, "system-environment:modules:"+name+":_", ":")
			vars, _ := own.(*data.Map)
			env.Update(vars)
		}
	}
	vars, ok := given.(*data.Map)
	if _, isList := given.([]any); !ok && isList {
		vars, _ = packages.Repack(given)
	}
	env.Update(vars)
	return env
}

// passed returns those arguments of a call that are meant for cmd.run_all.
func (m *module) passed(kwargs *data.Map) []any {
	out := []any{"env", m.environment(kwargs.Value("env"))}
	for _, name := range []string{"cwd", "umask", "timeout", "use_vt", "output_loglevel", "prepend_path", "runas", "group"} {
		if v, ok := kwargs.Get(name); ok {
			out = append(out, name, v)
		}
	}
	return out
}

// text returns a text argument, "" where it is not given or counts as nothing.
func text(v any) string {
	if !data.Truth(v) {
		return ""
	}
	return data.Str(v)
}

// problem returns the error of a function that met problems after it may have changed something.
func problem(what string, errs []string, changes any) error {
	if len(errs) == 0 {
		return nil
	}
	return loader.ExecutionInfo(what, data.NewMap("errors", data.Values(errs), "changes", changes))
}
