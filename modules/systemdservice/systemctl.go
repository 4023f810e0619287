package systemdservice

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/systemd"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// text returns a value as text, "" for None, False and other values that count as false.
func text(v any) string {
	if !data.Truth(v) {
		return ""
	}
	return data.Str(v)
}

// program returns the path of a program, or its name if it is not found.
func program(name string) string {
	if path := process.Find(name); path != "" {
		return path
	}
	return name
}

// systemctl returns the command line of systemctl with these arguments. root is the value of
// --root.
func systemctl(root any, words ...string) []string {
	line := []string{program("systemctl")}
	if at := text(root); at != "" {
		line = append(line, "--root", at)
	}
	return append(line, words...)
}

// acting returns the command line of systemctl that changes a unit, in a scope of its own if
// systemd supports scopes.
func (m *module) acting(
	ctx context.Context, noBlock bool, root any, action string, name string,
) ([]string, error) {
	line, err := m.scope(ctx)
	if err != nil {
		return nil, err
	}
	if line != nil {
		line[0] = program("systemd-run")
	}
	line = append(line, program("systemctl"))
	if noBlock {
		line = append(line, "--no-block")
	}
	return append(append(append(line, systemctl(root)[1:]...), strings.Fields(action)...),
		unitWords(name)...), nil
}

// unitWords returns the last arguments of a command line, which name a unit. A name may begin with
// a minus sign, as those of some systemd units do, and must not be taken for an option.
func unitWords(name string) []string {
	if unit := unitName(name); !strings.HasPrefix(unit, "-") {
		return []string{unit}
	}
	return []string{"--", unitName(name)}
}

// scope returns the arguments that run a program in a scope of its own. It returns none if scopes
// are not available or not wanted.
func (m *module) scope(ctx context.Context) ([]string, error) {
	if n, known := m.version(ctx); !systemd.Booted(m.env.Root) || !known || n < 205 {
		return nil, nil
	}
	wanted, err := loader.CallAs[bool](ctx, m.env, "config.get", []any{"systemd.scope", true}, nil)
	if err != nil || !wanted {
		return nil, err
	}
	return []string{"systemd-run", "--scope"}, nil
}

// version returns the version of systemd and whether it is known. It runs the program once a job.
func (m *module) version(ctx context.Context) (int, bool) {
	const key = "salt.utils.systemd.version"
	job := loader.ContextOf(ctx)
	if v, ok := job.Get(key); ok {
		n, _ := v.(int64)
		return int(n), true
	}
	n, err := systemd.Version(ctx, m.env.Run)
	if err != nil {
		m.env.Log.Errorf("Unable to determine systemd version: %v", err)
		return 0, false
	}
	job.Set(key, int64(n))
	return n, true
}

// run runs a program. r holds further arguments of cmd.run_all.
func (m *module) run(ctx context.Context, r calls.Run, line []string) (calls.Ran, error) {
	r.Argv = line
	return calls.RunAll(ctx, m.env, r)
}

// quietly runs a program whose failure does not count as a failure of the job.
func (m *module) quietly(ctx context.Context, line []string) (calls.Ran, error) {
	return m.run(ctx, calls.Run{IgnoreRetcode: true}, line)
}

// unitStatus returns the output of systemctl status for a unit. It runs the program once a job, and
// again if systemd was reloaded or a file of the unit changed.
func (m *module) unitStatus(ctx context.Context, name string) (calls.Ran, error) {
	job := loader.ContextOf(ctx)
	reloads, _ := job.Get(reloadsKey)
	key := "systemd._systemctl_status." + name
	print := data.Str(reloads) + " " + m.fingerprint(name)
	if v, ok := job.Get(key); ok {
		if seen := v.(statusSeen); seen.print == print {
			return seen.Ran, nil
		}
	}
	words := []string{"status", unitName(name), "-n", "0"}
	if strings.HasPrefix(words[1], "-") {
		words = append([]string{"status", "-n", "0"}, unitWords(name)...)
	}
	o, err := m.run(ctx, calls.Run{MergeStderr: true, IgnoreRetcode: true},
		systemctl(nil, words...))
	if err == nil {
		job.Set(key, statusSeen{o, print})
	}
	return o, err
}

// A statusSeen is a cached output of systemctl status, with the fingerprint of the unit's files at
// that time.
type statusSeen struct {
	calls.Ran
	print string
}

// reloadsKey is the key of the number of systemd reloads in a job.
const reloadsKey = "systemd.reloads"

// systemctlReload makes systemd reload all unit files.
//
// CLI Example:
//
//	salt '*' service.systemctl_reload
func (m *module) systemctlReload(ctx context.Context, _ loader.NoArgs) (any, error) {
	return true, m.daemonReload(ctx)
}

func (m *module) daemonReload(ctx context.Context) error {
	o, err := m.run(ctx, calls.Run{MergeStderr: true}, systemctl(nil, "--system", "daemon-reload"))
	if err != nil {
		return err
	}
	if o.Retcode != 0 {
		return loader.Execution("Problem performing systemctl daemon-reload: %s", o.Stdout)
	}
	job := loader.ContextOf(ctx)
	n, _ := job.Get(reloadsKey)
	count, _ := n.(int64)
	job.Set(reloadsKey, count+1)
	return nil
}

// withoutScope returns the output of a program without the lines of systemd-run about its scope.
func withoutScope(output string) string {
	lines := slices.DeleteFunc(strings.Split(output, "\n"),
		func(line string) bool { return strings.HasSuffix(line, ".scope") })
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
