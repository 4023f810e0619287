package debianservice

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/services"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// getEnabled returns the services that start at boot.
//
// CLI Example:
//
//	salt '*' service.get_enabled
func (m *module) getEnabled(ctx context.Context, _ loader.NoArgs) (any, error) {
	found, err := m.started(ctx)
	return services.Sorted(found), err
}

// getDisabled returns the services that do not start at boot.
//
// CLI Example:
//
//	salt '*' service.get_disabled
func (m *module) getDisabled(ctx context.Context, _ loader.NoArgs) (any, error) {
	found, err := m.resting(ctx)
	return services.Sorted(found), err
}

// getAll returns all services.
//
// CLI Example:
//
//	salt '*' service.get_all
func (m *module) getAll(ctx context.Context, _ loader.NoArgs) (any, error) {
	found, err := m.present(ctx)
	return services.Sorted(found), err
}

// available returns whether a service exists.
//
// CLI Example:
//
//	salt '*' service.available sshd
func (m *module) available(ctx context.Context, a services.NameArgs) (any, error) {
	all, err := m.present(ctx)
	return all[a.Name], err
}

// missing returns whether a service does not exist.
//
// CLI Example:
//
//	salt '*' service.missing sshd
func (m *module) missing(ctx context.Context, a services.NameArgs) (any, error) {
	all, err := m.present(ctx)
	return !all[a.Name], err
}

// start starts a service and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' service.start nginx
func (m *module) start(ctx context.Context, a services.NameArgs) (any, error) {
	return m.do(ctx, a.Name, "start")
}

// stop stops a service and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' service.stop nginx
func (m *module) stop(ctx context.Context, a services.NameArgs) (any, error) {
	return m.do(ctx, a.Name, "stop")
}

// restart restarts a service and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' service.restart nginx
func (m *module) restart(ctx context.Context, a services.NameArgs) (any, error) {
	return m.do(ctx, a.Name, "restart")
}

// reload makes a service reload its configuration and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' service.reload nginx
func (m *module) reload(ctx context.Context, a services.NameArgs) (any, error) {
	return m.do(ctx, a.Name, "reload")
}

// forceReload makes a service reload its configuration, by a restart if necessary, and returns
// whether that succeeded.
//
// CLI Example:
//
//	salt '*' service.force_reload nginx
func (m *module) forceReload(ctx context.Context, a services.NameArgs) (any, error) {
	return m.do(ctx, a.Name, "force-reload")
}

// status returns whether a service is running. For a name with a wildcard it returns a dictionary
// of all matching services.
//
// sig
//
//	A string to look for in the process list, instead of asking the script.
//
// CLI Example:
//
//	salt '*' service.status nginx
//	salt '*' service.status 'ssh*'
func (m *module) status(ctx context.Context, a services.StatusArgs) (any, error) {
	if data.Truth(a.Sig) {
		return services.Runs(ctx, m.env, a.Sig)
	}
	all := func() ([]string, error) {
		found, err := m.present(ctx)
		return slices.Sorted(maps.Keys(found)), err
	}
	return services.Status(a.Name, all,
		func(name string) (bool, error) { return m.runs(ctx, name) })
}

func (m *module) runs(ctx context.Context, name string) (bool, error) {
	return calls.Succeeds(ctx, m.env,
		calls.Run{Argv: []string{"service", name, "status"}, IgnoreRetcode: true})
}

// enable makes a service start at boot, and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' service.enable nginx
func (m *module) enable(ctx context.Context, a services.TurnArgs) (any, error) {
	name := quoted(a.Name)
	line := "insserv " + name + " && update-rc.d " + name + " enable"
	if process.Find("insserv") == "" {
		line = "update-rc.d " + name + " defaults && update-rc.d " + name + " enable"
	}
	return calls.Succeeds(ctx, m.env, calls.Run{Line: line, Shell: calls.InShell})
}

var plain = regexp.MustCompile(`^[a-zA-Z0-9@%_+=:,./-]+$`)

// quoted quotes a word for the shell.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
}

// disable stops a service from starting at boot, and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' service.disable nginx
func (m *module) disable(ctx context.Context, a services.TurnArgs) (any, error) {
	return calls.Succeeds(ctx, m.env, calls.Run{Argv: []string{"update-rc.d", a.Name, "disable"}})
}

// enabled returns whether a service starts at boot.
//
// CLI Example:
//
//	salt '*' service.enabled nginx
func (m *module) enabled(ctx context.Context, a services.TurnArgs) (any, error) {
	on, err := m.started(ctx)
	return on[a.Name], err
}

// disabled returns whether a service exists but does not start at boot.
//
// CLI Example:
//
//	salt '*' service.disabled nginx
func (m *module) disabled(ctx context.Context, a services.NameArgs) (any, error) {
	off, err := m.resting(ctx)
	return off[a.Name], err
}
