package gentooservice

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/services"
	"github.com/brineproject/brine/loader"
)

// getEnabled returns the services that start at boot, and their runlevels.
//
// CLI Example:
//
//	salt '*' service.get_enabled
func (m *module) getEnabled(ctx context.Context, _ loader.NoArgs) (any, error) {
	enabled, _, err := m.runlevels(ctx)
	return enabled, err
}

// getDisabled returns the services that do not start at boot.
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

// available returns whether a service exists.
//
// CLI Example:
//
//	salt '*' service.available sshd
func (m *module) available(ctx context.Context, a services.NameArgs) (any, error) {
	enabled, disabled, err := m.runlevels(ctx)
	return enabled.Has(a.Name) || slices.Contains(disabled, a.Name), err
}

// missing returns whether a service does not exist.
//
// CLI Example:
//
//	salt '*' service.missing sshd
func (m *module) missing(ctx context.Context, a services.NameArgs) (any, error) {
	there, err := m.available(ctx, a)
	return there == false, err
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

// zap resets a service to the stopped state, whatever it is doing, and returns whether that
// succeeded.
//
// CLI Example:
//
//	salt '*' service.zap nginx
func (m *module) zap(ctx context.Context, a services.NameArgs) (any, error) {
	return m.do(ctx, a.Name, "zap")
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
func (m *module) status(ctx context.Context, a services.StatusArgs) (any, error) {
	if data.Truth(a.Sig) {
		return services.Runs(ctx, m.env, a.Sig)
	}
	all := func() ([]string, error) {
		enabled, disabled, err := m.runlevels(ctx)
		return append(data.Texts(enabled.Keys()), disabled...), err
	}
	return services.Status(a.Name, all, func(name string) (bool, error) {
		return m.succeeds(ctx, []string{m.script(name), "status"}, true)
	})
}

// enable makes a service start at boot, and returns whether that succeeded.
//
// runlevels
//
//	The runlevels, one or a list, that should start it, and no others. Default: the default of
//	rc-update.
//
// CLI Example:
//
//	salt '*' service.enable nginx
//	salt '*' service.enable nginx runlevels='[boot, default]'
func (m *module) enable(ctx context.Context, a services.TurnArgs) (any, error) {
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
		if done, err := m.succeeds(ctx,
			append([]string{"rc-update", step.action, a.Name}, step.levels...),
			false); err != nil || !done {
			return done, err
		}
	}
	return true, nil
}

// disable stops a service from starting at boot, and returns whether that succeeded.
//
// runlevels
//
//	The runlevels, one or a list, that should no longer start it. Default: the default of rc-update.
//
// CLI Example:
//
//	salt '*' service.disable nginx
//	salt '*' service.disable nginx runlevels=boot
func (m *module) disable(ctx context.Context, a services.TurnArgs) (any, error) {
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

// enabled returns whether a service starts at boot.
//
// runlevels
//
//	The runlevels, one or a list, that must all start it.
//
// CLI Example:
//
//	salt '*' service.enabled nginx
//	salt '*' service.enabled nginx runlevels=boot
func (m *module) enabled(ctx context.Context, a services.TurnArgs) (any, error) {
	now, on, err := m.levelsOf(ctx, a.Name)
	levels, _ := wanted(a.Kwargs)
	return on && len(less(levels, now)) == 0, err
}

// disabled returns whether a service exists but does not start at boot.
//
// CLI Example:
//
//	salt '*' service.disabled nginx
func (m *module) disabled(ctx context.Context, a services.NameArgs) (any, error) {
	_, disabled, err := m.runlevels(ctx)
	return slices.Contains(disabled, a.Name), err
}
