package aptpkg

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// failure returns the error output of a program that failed, or "" if it succeeded.
func failure(o calls.Ran) string {
	switch {
	case o.Retcode == 0:
		return ""
	case o.Stderr != "":
		return o.Stderr
	case o.Stdout != "":
		return o.Stdout
	}
	return "The program ended with the code " + strconv.Itoa(o.Retcode)
}

// maxTries is how often apt is retried while another program holds its lock. The delays double,
// starting at two seconds.
const maxTries = 10

// apt runs a program of apt, and retries while another program holds the lock. If r has no
// variables it uses those of environment.
func (m *module) apt(ctx context.Context, r calls.Run, command ...any) (calls.Ran, error) {
	if r.Env == nil {
		r.Env = m.environment(nil)
	}
	wait := 2 * time.Second
	for try := 1; ; try++ {
		o, err := packages.Run(ctx, m.env, r, command...)
		if err != nil || !strings.Contains(o.Stderr, "Could not get lock") || try > maxTries {
			return o, err
		}
		m.env.Log.Warnf("Waiting for dpkg lock release: retrying... %d/%d", try, maxTries)
		if err := m.pause(ctx, wait); err != nil {
			return o, err
		}
		wait *= 2
	}
}

// change runs a program of apt that changes packages. The program survives the minion, in case the
// minion is one of those packages.
func (m *module) change(ctx context.Context, r calls.Run, command []string) (calls.Ran, error) {
	scoped, err := packages.Scoped(ctx, m.env, "salt.loaded.int.module.aptpkg",
		data.Values(command))
	if err != nil {
		return calls.Ran{}, err
	}
	return m.apt(ctx, r, scoped...)
}

// environment returns the variables for programs of apt. The variables of the option and pillar
// system-environment override those that suppress questions; the variables of the call override
// both.
func (m *module) environment(given any) *data.Map {
	env := data.NewMap("APT_LISTBUGS_FRONTEND", "none", "APT_LISTCHANGES_FRONTEND", "none",
		"DEBIAN_FRONTEND", "noninteractive", "UCF_FORCE_CONFFOLD", "1")
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

// passed returns the arguments of a call that are passed on to cmd.run_all.
func (m *module) passed(kwargs *data.Map) calls.Run {
	r := calls.Run{Env: m.environment(kwargs.Value("env")), More: &data.Map{}}
	for _, name := range []string{"cwd", "umask", "timeout", "use_vt", "output_loglevel",
		"prepend_path", "runas", "group"} {
		if v, ok := kwargs.Get(name); ok {
			r.More.Set(name, v)
		}
	}
	return r
}

// text returns a string argument, or "" if it is not given or false in Python.
func text(v any) string {
	if !data.Truth(v) {
		return ""
	}
	return data.Str(v)
}

// problem returns the error of a function that met problems, possibly after it made changes.
func problem(what string, errs []string, changes any) error {
	if len(errs) == 0 {
		return nil
	}
	return loader.ExecutionInfo(what, data.NewMap("errors", data.Values(errs), "changes", changes))
}
