package debianservice

import (
	"context"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

type nameArgs struct{ Name string }

// getEnabled returns the services that start with the system.
//
// CLI Example:
//
//	salt '*' service.get_enabled
func (m *module) getEnabled(ctx context.Context, _ loader.NoArgs) (any, error) {
	return sorted(m.started(ctx))
}

// getDisabled returns the services that do not start with the system.
//
// CLI Example:
//
//	salt '*' service.get_disabled
func (m *module) getDisabled(ctx context.Context, _ loader.NoArgs) (any, error) {
	return sorted(m.resting(ctx))
}

// getAll returns all services.
//
// CLI Example:
//
//	salt '*' service.get_all
func (m *module) getAll(ctx context.Context, _ loader.NoArgs) (any, error) {
	return sorted(m.present(ctx))
}

// available tells whether there is a service of that name.
//
// CLI Example:
//
//	salt '*' service.available sshd
func (m *module) available(ctx context.Context, a nameArgs) (any, error) {
	all, err := m.present(ctx)
	return all[a.Name], err
}

// missing tells whether there is no service of that name.
//
// CLI Example:
//
//	salt '*' service.missing sshd
func (m *module) missing(ctx context.Context, a nameArgs) (any, error) {
	all, err := m.present(ctx)
	return !all[a.Name], err
}

// start starts a service and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.start nginx
func (m *module) start(ctx context.Context, a nameArgs) (any, error) {
	return m.do(ctx, a.Name, "start")
}

// stop stops a service and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.stop nginx
func (m *module) stop(ctx context.Context, a nameArgs) (any, error) { return m.do(ctx, a.Name, "stop") }

// restart restarts a service and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.restart nginx
func (m *module) restart(ctx context.Context, a nameArgs) (any, error) {
	return m.do(ctx, a.Name, "restart")
}

// reload has a service read its configuration anew and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.reload nginx
func (m *module) reload(ctx context.Context, a nameArgs) (any, error) {
	return m.do(ctx, a.Name, "reload")
}

// forceReload has a service read its configuration anew, by a restart where it must be, and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.force_reload nginx
func (m *module) forceReload(ctx context.Context, a nameArgs) (any, error) {
	return m.do(ctx, a.Name, "force-reload")
}

type statusArgs struct {
	Name string
	Sig  any `default:"None"`
}

var wildcard = regexp.MustCompile(`\*|\?|\[.+\]`)

// status tells whether a service runs. For a name with a wildcard it returns a dictionary of all that fit.
//
// sig
//
//	A text to look for in the list of processes, in place of the script's word.
//
// CLI Example:
//
//	salt '*' service.status nginx
//	salt '*' service.status 'ssh*'
func (m *module) status(ctx context.Context, a statusArgs) (any, error) {
	if data.Truth(a.Sig) {
		pid, err := m.env.Call(ctx, "status.pid", []any{a.Sig}, nil)
		return data.Truth(pid), err
	}
	if !wildcard.MatchString(a.Name) {
		return m.runs(ctx, a.Name)
	}
	all, err := m.getAll(ctx, loader.NoArgs{})
	if err != nil {
		return nil, err
	}
	found := &data.Map{}
	for _, name := range all.([]any) {
		if !loader.Glob(a.Name, name.(string)) {
			continue
		}
		runs, err := m.runs(ctx, name.(string))
		if err != nil {
			return nil, err
		}
		found.Set(name, runs)
	}
	return found, nil
}

func (m *module) runs(ctx context.Context, name string) (bool, error) {
	return m.succeeds(ctx, []any{"service", name, "status"}, "python_shell", false, "ignore_retcode", true)
}

type turnArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// enable has a service start with the system, and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.enable nginx
func (m *module) enable(ctx context.Context, a turnArgs) (any, error) {
	name := quoted(a.Name)
	line := "insserv " + name + " && update-rc.d " + name + " enable"
	if process.Find("insserv") == "" {
		line = "update-rc.d " + name + " defaults && update-rc.d " + name + " enable"
	}
	return m.succeeds(ctx, line, "python_shell", true)
}

var plain = regexp.MustCompile(`^[a-zA-Z0-9@%_+=:,./-]+$`)

// quoted returns a word as a shell takes it as one.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
}

// disable has a service not start with the system, and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.disable nginx
func (m *module) disable(ctx context.Context, a turnArgs) (any, error) {
	return m.succeeds(ctx, []any{"update-rc.d", a.Name, "disable"}, "python_shell", false)
}

// enabled tells whether a service starts with the system.
//
// CLI Example:
//
//	salt '*' service.enabled nginx
func (m *module) enabled(ctx context.Context, a turnArgs) (any, error) {
	on, err := m.started(ctx)
	return on[a.Name], err
}

// disabled tells whether there is a service that does not start with the system.
//
// CLI Example:
//
//	salt '*' service.disabled nginx
func (m *module) disabled(ctx context.Context, a nameArgs) (any, error) {
	off, err := m.resting(ctx)
	return off[a.Name], err
}
