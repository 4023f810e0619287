package gentooservice

import (
	"context"
	"regexp"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type nameArgs struct{ Name string }

// getEnabled returns the services that start with the system, and their runlevels.
//
// CLI Example:
//
//	salt '*' service.get_enabled
func (m *module) getEnabled(ctx context.Context, _ loader.NoArgs) (any, error) {
	enabled, _, err := m.runlevels(ctx)
	return enabled, err
}

// getDisabled returns the services that do not start with the system.
//
// CLI Example:
//
//	salt '*' service.get_disabled
func (m *module) getDisabled(ctx context.Context, _ loader.NoArgs) (any, error) {
	_, disabled, err := m.runlevels(ctx)
	return data.Values(disabled), err
}

// getAll returns all services, and their runlevels.
//
// CLI Example:
//
//	salt '*' service.get_all
func (m *module) getAll(ctx context.Context, _ loader.NoArgs) (any, error) {
	all, disabled, err := m.runlevels(ctx)
	for _, name := range disabled {
		all.Set(name, []any{})
	}
	return all, err
}

// available tells whether there is a service of that name.
//
// CLI Example:
//
//	salt '*' service.available sshd
func (m *module) available(ctx context.Context, a nameArgs) (any, error) {
	enabled, disabled, err := m.runlevels(ctx)
	return enabled.Has(a.Name) || slices.Contains(disabled, a.Name), err
}

// missing tells whether there is no service of that name.
//
// CLI Example:
//
//	salt '*' service.missing sshd
func (m *module) missing(ctx context.Context, a nameArgs) (any, error) {
	there, err := m.available(ctx, a)
	return there == false, err
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

// zap has OpenRC take a service for stopped, whatever it does, and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.zap nginx
func (m *module) zap(ctx context.Context, a nameArgs) (any, error) { return m.do(ctx, a.Name, "zap") }

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
		return m.succeeds(ctx, []string{m.script(a.Name), "status"}, true)
	}
	all, err := m.getAll(ctx, loader.NoArgs{})
	if err != nil {
		return nil, err
	}
	found := &data.Map{}
	for key := range all.(*data.Map).All() {
		name := data.Str(key)
		if !loader.Glob(a.Name, name) {
			continue
		}
		runs, err := m.succeeds(ctx, []string{m.script(name), "status"}, true)
		if err != nil {
			return nil, err
		}
		found.Set(name, runs)
	}
	return found, nil
}

type turnArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// enable has a service start with the system, and tells whether that worked.
//
// runlevels
//
//	The runlevels, one or a list, that are to start it, and no others. Default: the one of rc-update.
//
// CLI Example:
//
//	salt '*' service.enable nginx
//	salt '*' service.enable nginx runlevels='[boot, default]'
func (m *module) enable(ctx context.Context, a turnArgs) (any, error) {
	levels, ok := wanted(a.Kwargs)
	if !ok {
		return m.succeeds(ctx, []string{"rc-update", "add", a.Name}, false)
	}
	now, _, err := m.levelsOf(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	for _, step := range []struct {
		action string
		levels []string
	}{{"delete", less(now, levels)}, {"add", less(levels, now)}} {
		if len(step.levels) == 0 {
			continue
		}
		if done, err := m.succeeds(ctx, append([]string{"rc-update", step.action, a.Name}, step.levels...), false); err != nil || !done {
			return done, err
		}
	}
	return true, nil
}

// disable has a service not start with the system, and tells whether that worked.
//
// runlevels
//
//	The runlevels, one or a list, that are not to start it any more. Default: the one of rc-update.
//
// CLI Example:
//
//	salt '*' service.disable nginx
//	salt '*' service.disable nginx runlevels=boot
func (m *module) disable(ctx context.Context, a turnArgs) (any, error) {
	line := []string{"rc-update", "delete", a.Name}
	if levels, ok := wanted(a.Kwargs); ok {
		now, _, err := m.levelsOf(ctx, a.Name)
		if err != nil {
			return nil, err
		}
		gone := less(levels, less(levels, now))
		if len(gone) == 0 {
			return true, nil
		}
		line = append(line, gone...)
	}
	return m.succeeds(ctx, line, false)
}

// enabled tells whether a service starts with the system.
//
// runlevels
//
//	The runlevels, one or a list, that must all start it.
//
// CLI Example:
//
//	salt '*' service.enabled nginx
//	salt '*' service.enabled nginx runlevels=boot
func (m *module) enabled(ctx context.Context, a turnArgs) (any, error) {
	now, on, err := m.levelsOf(ctx, a.Name)
	levels, _ := wanted(a.Kwargs)
	return on && len(less(levels, now)) == 0, err
}

// disabled tells whether there is a service that does not start with the system.
//
// CLI Example:
//
//	salt '*' service.disabled nginx
func (m *module) disabled(ctx context.Context, a nameArgs) (any, error) {
	_, disabled, err := m.runlevels(ctx)
	return slices.Contains(disabled, a.Name), err
}
