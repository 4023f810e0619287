package rhservice

import (
	"context"
	"regexp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type limitArgs struct {
	Limit string `default:"''"`
}

// getEnabled returns the services that start with the system.
//
// limit
//
//	sysvinit, or upstart, of which there are none.
//
// CLI Example:
//
//	salt '*' service.get_enabled
func (m *module) getEnabled(ctx context.Context, a limitArgs) (any, error) {
	return m.inState(ctx, a.Limit, true)
}

// getDisabled returns the services that do not start with the system.
//
// limit
//
//	sysvinit, or upstart, of which there are none.
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
//	sysvinit, or upstart, of which there are none.
//
// CLI Example:
//
//	salt '*' service.get_all
func (m *module) getAll(ctx context.Context, a limitArgs) (any, error) {
	names, err := m.names(ctx, a.Limit)
	list := []any{}
	for _, name := range names {
		list = append(list, name)
	}
	return list, err
}

type availableArgs struct {
	Name  string
	Limit any `default:"''"`
}

// available tells whether there is a service of that name.
//
// limit
//
//	sysvinit, or upstart, of which there are none.
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

// missing tells whether a service has no script.
//
// limit
//
//	sysvinit, or upstart, of which there are none.
//
// CLI Example:
//
//	salt '*' service.missing sshd
func (m *module) missing(_ context.Context, a availableArgs) (any, error) {
	return a.Limit == "upstart" || !m.script(a.Name), nil
}

type nameArgs struct{ Name string }

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
func (m *module) status(ctx context.Context, a statusArgs) (any, error) {
	if data.Truth(a.Sig) {
		pid, err := m.env.Call(ctx, "status.pid", []any{a.Sig}, nil)
		return data.Truth(pid), err
	}
	if !wildcard.MatchString(a.Name) {
		return m.runs(ctx, a.Name)
	}
	names, err := m.names(ctx, "")
	if err != nil {
		return nil, err
	}
	found := &data.Map{}
	for _, name := range names {
		if !loader.Glob(a.Name, name) {
			continue
		}
		runs, err := m.runs(ctx, name)
		if err != nil {
			return nil, err
		}
		found.Set(name, runs)
	}
	return found, nil
}

func (m *module) runs(ctx context.Context, name string) (any, error) {
	ok, _, err := m.run(ctx, true, "/sbin/service", name, "status")
	return ok, err
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
	return m.turn(ctx, a.Name, "on")
}

// disable has a service not start with the system, and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.disable nginx
func (m *module) disable(ctx context.Context, a turnArgs) (any, error) {
	return m.turn(ctx, a.Name, "off")
}

func (m *module) turn(ctx context.Context, name, to string) (any, error) {
	if ok, err := m.registered(ctx, name); err != nil || !ok {
		return false, err
	}
	ok, _, err := m.run(ctx, false, "/sbin/chkconfig", name, to)
	return ok, err
}

// delete has chkconfig forget a service, and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.delete nginx
func (m *module) delete(ctx context.Context, a turnArgs) (any, error) {
	if known, err := m.known(ctx, a.Name); err != nil || !known {
		return false, err
	}
	ok, _, err := m.run(ctx, false, "/sbin/chkconfig", "--del", a.Name)
	return ok, err
}

// enabled tells whether a service starts with the system.
//
// CLI Example:
//
//	salt '*' service.enabled nginx
func (m *module) enabled(ctx context.Context, a turnArgs) (any, error) { return m.on(ctx, a.Name, "") }

// disabled tells whether a service does not start with the system.
//
// CLI Example:
//
//	salt '*' service.disabled nginx
func (m *module) disabled(ctx context.Context, a nameArgs) (any, error) {
	on, err := m.on(ctx, a.Name, "")
	return err == nil && !on, err
}
