package systemdservice

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/systemd"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// An outcome is what a run of a program gave.
type outcome struct {
	code           int64
	stdout, stderr string
}

// text returns a value as text, "" for None, False and the like.
func text(v any) string {
	if !data.Truth(v) {
		return ""
	}
	return data.Str(v)
}

// program returns the path of a program, or its name where it is not found.
func program(name string) string {
	if path := process.Find(name); path != "" {
		return path
	}
	return name
}

// systemctl returns the command line of systemctl with these words; root is what --root gets.
func systemctl(root any, words ...string) []string {
	line := []string{program("systemctl")}
	if at := text(root); at != "" {
		line = append(line, "--root", at)
	}
	return append(line, words...)
}

// acting returns the command line of systemctl that changes a unit: in a scope of its own where systemd has them.
func (m *module) acting(ctx context.Context, noBlock bool, root any, action string, name string) ([]string, error) {
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
	return append(append(append(line, systemctl(root)[1:]...), strings.Fields(action)...), unitWords(name)...), nil
}

// unitWords returns the words for a unit that end a command line: - is how names of systemd's own units may begin, and options.
func unitWords(name string) []string {
	if unit := unitName(name); !strings.HasPrefix(unit, "-") {
		return []string{unit}
	}
	return []string{"--", unitName(name)}
}

// scope returns the words that have a program run in a scope of its own; none where that cannot be, or is not wanted.
func (m *module) scope(ctx context.Context) ([]string, error) {
	if n, known := m.version(ctx); !systemd.Booted(m.env.Root) || !known || n < 205 {
		return nil, nil
	}
	wanted, err := m.env.Call(ctx, "config.get", []any{"systemd.scope", true}, nil)
	if err != nil || !data.Truth(wanted) {
		return nil, err
	}
	return []string{"systemd-run", "--scope"}, nil
}

// version returns the version of systemd, and whether it is known; it is asked once in a job.
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

// run runs a program. What it is to be called with beside python_shell stands in words.
func (m *module) run(ctx context.Context, line []string, words ...any) (outcome, error) {
	kwargs := data.NewMap(append([]any{"python_shell", false}, words...)...)
	v, err := m.env.Call(ctx, "cmd.run_all", []any{data.Values(line)}, kwargs)
	if err != nil {
		return outcome{}, err
	}
	all, _ := v.(*data.Map)
	code, _ := all.Value("retcode").(int64)
	return outcome{code, all.Text("stdout"), all.Text("stderr")}, nil
}

// quietly runs a program whose failure is not that of the job.
func (m *module) quietly(ctx context.Context, line []string) (outcome, error) {
	return m.run(ctx, line, "ignore_retcode", true)
}

// asked returns what systemctl status says of a unit. It is asked once in a job, and again when systemd has been reloaded or a file
// of the unit has changed.
func (m *module) asked(ctx context.Context, name string) (outcome, error) {
	job := loader.ContextOf(ctx)
	reloads, _ := job.Get(reloadsKey)
	key := "systemd._systemctl_status." + name
	print := data.Str(reloads) + " " + m.fingerprint(name)
	if v, ok := job.Get(key); ok {
		if seen := v.(statusSeen); seen.print == print {
			return seen.outcome, nil
		}
	}
	words := []string{"status", unitName(name), "-n", "0"}
	if strings.HasPrefix(words[1], "-") {
		words = append([]string{"status", "-n", "0"}, unitWords(name)...)
	}
	o, err := m.run(ctx, systemctl(nil, words...), "redirect_stderr", true, "ignore_retcode", true)
	if err == nil {
		job.Set(key, statusSeen{o, print})
	}
	return o, err
}

// A statusSeen is what systemctl status said of a unit whose files were as print says.
type statusSeen struct {
	outcome
	print string
}

// reloadsKey is the number of reloads of systemd in a job.
const reloadsKey = "systemd.reloads"

// systemctlReload has systemd read all unit files anew.
//
// CLI Example:
//
//	salt '*' service.systemctl_reload
func (m *module) systemctlReload(ctx context.Context, _ loader.NoArgs) (any, error) {
	return true, m.daemonReload(ctx)
}

func (m *module) daemonReload(ctx context.Context) error {
	o, err := m.run(ctx, systemctl(nil, "--system", "daemon-reload"), "redirect_stderr", true)
	if err != nil {
		return err
	}
	if o.code != 0 {
		return loader.Execution("Problem performing systemctl daemon-reload: %s", o.stdout)
	}
	job := loader.ContextOf(ctx)
	n, _ := job.Get(reloadsKey)
	count, _ := n.(int64)
	job.Set(reloadsKey, count+1)
	return nil
}

// withoutScope returns what a program said, without what systemd-run says of its scope.
func withoutScope(said string) string {
	lines := slices.DeleteFunc(strings.Split(said, "\n"), func(line string) bool { return strings.HasSuffix(line, ".scope") })
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
