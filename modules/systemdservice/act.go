package systemdservice

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/services"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type startArgs struct {
	Name          string
	NoBlock       bool `default:"False"`
	Unmask        bool `default:"False"`
	UnmaskRuntime bool `default:"False"`
}

// start starts a service. If that fails, the error is the message of systemctl.
//
// no_block : False
//
//	Do not wait until the service has started.
//
// unmask, unmask_runtime : False
//
//	Remove the mask first: the permanent one, or the one until the next boot.
//
// CLI Example:
//
//	salt '*' service.start nginx
func (m *module) start(ctx context.Context, a startArgs) (any, error) {
	return m.do(ctx, "start", a)
}

// restart restarts a service, or starts it if it is not running. If that fails, the error is the
// message of systemctl.
//
// no_block : False
//
//	Do not wait until the service has started.
//
// unmask, unmask_runtime : False
//
//	Remove the mask first: the permanent one, or the one until the next boot.
//
// CLI Example:
//
//	salt '*' service.restart nginx
func (m *module) restart(ctx context.Context, a startArgs) (any, error) {
	return m.do(ctx, "restart", a)
}

// reload makes a service reload its configuration. If that fails, the error is the message of
// systemctl.
//
// no_block : False
//
//	Do not wait until the service has reloaded.
//
// unmask, unmask_runtime : False
//
//	Remove the mask first: the permanent one, or the one until the next boot.
//
// CLI Example:
//
//	salt '*' service.reload nginx
func (m *module) reload(ctx context.Context, a startArgs) (any, error) {
	return m.do(ctx, "reload", a)
}

type forceReloadArgs struct {
	Name          string
	NoBlock       bool `default:"True"`
	Unmask        bool `default:"False"`
	UnmaskRuntime bool `default:"False"`
}

// forceReload makes a service reload its configuration, or restarts it if it cannot reload. If that
// fails, the error is the message of systemctl.
//
// no_block : True
//
//	Do not wait until that is done.
//
// unmask, unmask_runtime : False
//
//	Remove the mask first: the permanent one, or the one until the next boot.
//
// CLI Example:
//
//	salt '*' service.force_reload nginx
func (m *module) forceReload(ctx context.Context, a forceReloadArgs) (any, error) {
	return m.do(ctx, "force-reload", startArgs(a))
}

// do runs systemctl with an action on a unit.
func (m *module) do(ctx context.Context, action string, a startArgs) (any, error) {
	if err := m.refresh(ctx, a.Name); err != nil {
		return nil, err
	}
	if err := m.removeMasks(ctx, a.Name, a.Unmask, a.UnmaskRuntime, nil); err != nil {
		return nil, err
	}
	line, err := m.acting(ctx, a.NoBlock, nil, action, a.Name)
	if err != nil {
		return nil, err
	}
	o, err := m.run(ctx, calls.Run{}, line)
	if err != nil {
		return nil, err
	}
	if o.Retcode != 0 {
		return nil, loader.Execution("%s", withoutScope(o.Stderr))
	}
	return true, nil
}

type stopArgs struct {
	Name    string
	NoBlock bool `default:"False"`
}

// stop stops a service and reports whether that worked.
//
// no_block : False
//
//	Do not wait until the service has stopped.
//
// CLI Example:
//
//	salt '*' service.stop nginx
func (m *module) stop(ctx context.Context, a stopArgs) (any, error) {
	if err := m.refresh(ctx, a.Name); err != nil {
		return nil, err
	}
	line, err := m.acting(ctx, a.NoBlock, nil, "stop", a.Name)
	if err != nil {
		return nil, err
	}
	o, err := m.run(ctx, calls.Run{}, line)
	return err == nil && o.Retcode == 0, err
}

// status reports whether a service is running. For a name with a wildcard it returns a dictionary
// of all matching services.
//
// CLI Example:
//
//	salt '*' service.status nginx
//	salt '*' service.status 'ssh*'
func (m *module) status(ctx context.Context, a services.StatusArgs) (any, error) {
	all := func() ([]string, error) { return m.all(nil), nil }
	return services.Status(a.Name, all,
		func(name string) (bool, error) { return m.active(ctx, name) })
}

func (m *module) active(ctx context.Context, name string) (bool, error) {
	if err := m.refresh(ctx, name); err != nil {
		return false, err
	}
	o, err := m.quietly(ctx, append(systemctl(nil, "is-active"), unitWords(name)...))
	return err == nil && o.Retcode == 0, err
}

type firstbootArgs struct {
	Locale        any `default:"None"`
	LocaleMessage any `default:"None"`
	Keymap        any `default:"None"`
	Timezone      any `default:"None"`
	Hostname      any `default:"None"`
	MachineID     any `name:"machine_id" default:"None"`
	Root          any `default:"None"`
}

// firstboot sets the basic settings of a system with systemd-firstboot.
//
// locale, locale_message, keymap, timezone, hostname, machine_id
//
//	The settings.
//
// root
//
//	The root directory of the system.
//
// CLI Example:
//
//	salt '*' service.firstboot keymap=jp locale=en_US.UTF-8
func (m *module) firstboot(ctx context.Context, a firstbootArgs) (any, error) {
	line := []string{program("systemd-firstboot")}
	for _, setting := range [][2]any{{"locale", a.Locale}, {"locale-message", a.LocaleMessage},
		{"keymap", a.Keymap}, {"timezone", a.Timezone},
		{"hostname", a.Hostname}, {"machine-ID", a.MachineID}, {"root", a.Root}} {
		if data.Truth(setting[1]) {
			line = append(line, "--"+setting[0].(string), data.Str(setting[1]))
		}
	}
	o, err := m.run(ctx, calls.Run{}, line)
	if err != nil {
		return nil, err
	}
	if o.Retcode != 0 {
		return nil, loader.Execution("systemd-firstboot error: %s", o.Stderr)
	}
	return true, nil
}
