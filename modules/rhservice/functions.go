package rhservice

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/services"
)

type limitArgs struct {
	Limit string `default:"''"`
}

// getEnabled returns the services that start at boot.
//
// limit
//
//	sysvinit, or upstart, which has no services.
//
// CLI Example:
//
//	salt '*' service.get_enabled
func (m *module) getEnabled(ctx context.Context, a limitArgs) (any, error) {
	return m.inState(ctx, a.Limit, true)
}

// getDisabled returns the services that do not start at boot.
//
// limit
//
//	sysvinit, or upstart, which has no services.
//
// CLI Example:
//
//	salt '*' service.get_disabled
func (m *module) getDisabled(ctx context.Context, a limitArgs) (any, error) {
	return m.inState(ctx, a.Limit, false)
}

// getAll returns all services.
//
// limit
//
//	sysvinit, or upstart, which has no services.
//
// CLI Example:
//
//	salt '*' service.get_all
func (m *module) getAll(ctx context.Context, a limitArgs) (any, error) {
	names, err := m.names(ctx, a.Limit)
	return data.Values(names), err
}

type availableArgs struct {
	Name  string
	Limit any `default:"''"`
}

// available reports whether a service exists.
//
// limit
//
//	sysvinit, or upstart, which has no services.
//
// CLI Example:
//
//	salt '*' service.available sshd
func (m *module) available(ctx context.Context, a availableArgs) (any, error) {
	switch {
	case a.Limit == "upstart":
		return false, nil
	case a.Limit == "sysvinit" || m.script(a.Name):
		return m.script(a.Name), nil
	}
	return m.known(ctx, a.Name)
}

// missing reports whether a service has no script.
//
// limit
//
//	sysvinit, or upstart, which has no services.
//
// CLI Example:
//
//	salt '*' service.missing sshd
func (m *module) missing(_ context.Context, a availableArgs) (any, error) {
	return a.Limit == "upstart" || !m.script(a.Name), nil
}

// start starts a service and reports whether that worked.
//
// CLI Example:
//
//	salt '*' service.start nginx
func (m *module) start(ctx context.Context, a services.NameArgs) (any, error) {
	return m.do(ctx, a.Name, "start")
}

// stop stops a service and reports whether that worked.
//
// CLI Example:
//
//	salt '*' service.stop nginx
func (m *module) stop(ctx context.Context, a services.NameArgs) (any, error) {
	return m.do(ctx, a.Name, "stop")
}

// restart restarts a service and reports whether that worked.
//
// CLI Example:
//
//	salt '*' service.restart nginx
func (m *module) restart(ctx context.Context, a services.NameArgs) (any, error) {
	return m.do(ctx, a.Name, "restart")
}

// reload makes a service reload its configuration and reports whether that worked.
//
// CLI Example:
//
//	salt '*' service.reload nginx
func (m *module) reload(ctx context.Context, a services.NameArgs) (any, error) {
	return m.do(ctx, a.Name, "reload")
}

// status reports whether a service is running. For a name with a wildcard it returns a dictionary
// of all matching services.
//
// sig
//
//	A text to search for in the process list, instead of asking the script.
//
// CLI Example:
//
//	salt '*' service.status nginx
func (m *module) status(ctx context.Context, a services.StatusArgs) (any, error) {
	if data.Truth(a.Sig) {
		return services.Runs(ctx, m.env, a.Sig)
	}
	all := func() ([]string, error) { return m.names(ctx, "") }
	return services.Status(a.Name, all, func(name string) (any, error) { return m.runs(ctx, name) })
}

func (m *module) runs(ctx context.Context, name string) (any, error) {
	ok, _, err := m.run(ctx, true, "/sbin/service", name, "status")
	return ok, err
}

// enable makes a service start at boot and reports whether that worked.
//
// CLI Example:
//
//	salt '*' service.enable nginx
func (m *module) enable(ctx context.Context, a services.TurnArgs) (any, error) {
	return m.toggle(ctx, a.Name, "on")
}

// disable keeps a service from starting at boot and reports whether that worked.
//
// CLI Example:
//
//	salt '*' service.disable nginx
func (m *module) disable(ctx context.Context, a services.TurnArgs) (any, error) {
	return m.toggle(ctx, a.Name, "off")
}

func (m *module) toggle(ctx context.Context, name, to string) (any, error) {
	if ok, err := m.registered(ctx, name); err != nil || !ok {
		return false, err
	}
	ok, _, err := m.run(ctx, false, "/sbin/chkconfig", name, to)
	return ok, err
}

// delete removes a service from chkconfig and reports whether that worked.
//
// CLI Example:
//
//	salt '*' service.delete nginx
func (m *module) delete(ctx context.Context, a services.TurnArgs) (any, error) {
	if known, err := m.known(ctx, a.Name); err != nil || !known {
		return false, err
	}
	ok, _, err := m.run(ctx, false, "/sbin/chkconfig", "--del", a.Name)
	return ok, err
}

// enabled reports whether a service starts at boot.
//
// CLI Example:
//
//	salt '*' service.enabled nginx
func (m *module) enabled(ctx context.Context, a services.TurnArgs) (any, error) {
	return m.on(ctx, a.Name, "")
}

// disabled reports whether a service does not start at boot.
//
// CLI Example:
//
//	salt '*' service.disabled nginx
func (m *module) disabled(ctx context.Context, a services.NameArgs) (any, error) {
	on, err := m.on(ctx, a.Name, "")
	return err == nil && !on, err
}
