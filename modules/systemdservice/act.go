package systemdservice

import (
	"context"
	"regexp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type startArgs struct {
	Name          string
	NoBlock       bool `default:"False"`
	Unmask        bool `default:"False"`
	UnmaskRuntime bool `default:"False"`
}

// start starts a service. What systemctl says when it fails is the error.
//
// no_block : False
//
//	Do not wait until it has started.
//
// unmask, unmask_runtime : False
//
//	Take its mask away first, the lasting one or that until the next boot.
//
// CLI Example:
//
//	salt '*' service.start nginx
func (m *module) start(ctx context.Context, a startArgs) (any, error) { return m.do(ctx, "start", a) }

// restart restarts a service, or starts it. What systemctl says when it fails is the error.
//
// no_block : False
//
//	Do not wait until it has started.
//
// unmask, unmask_runtime : False
//
//	Take its mask away first, the lasting one or that until the next boot.
//
// CLI Example:
//
//	salt '*' service.restart nginx
func (m *module) restart(ctx context.Context, a startArgs) (any, error) {
	return m.do(ctx, "restart", a)
}

// reload has a service read its configuration anew. What systemctl says when it fails is the error.
//
// no_block : False
//
//	Do not wait until it has done so.
//
// unmask, unmask_runtime : False
//
//	Take its mask away first, the lasting one or that until the next boot.
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

// forceReload has a service read its configuration anew, and restarts it where it cannot. What systemctl says when it fails is the
// error.
//
// no_block : True
//
//	Do not wait until it has done so.
//
// unmask, unmask_runtime : False
//
//	Take its mask away first, the lasting one or that until the next boot.
//
// CLI Example:
//
//	salt '*' service.force_reload nginx
func (m *module) forceReload(ctx context.Context, a forceReloadArgs) (any, error) {
	return m.do(ctx, "force-reload", startArgs(a))
}

// do has systemctl do something with a unit.
func (m *module) do(ctx context.Context, action string, a startArgs) (any, error) {
	if err := m.refresh(ctx, a.Name); err != nil {
		return nil, err
	}
	if err := m.takeMasks(ctx, a.Name, a.Unmask, a.UnmaskRuntime, nil); err != nil {
		return nil, err
	}
	line, err := m.acting(ctx, a.NoBlock, nil, action, a.Name)
	if err != nil {
		return nil, err
	}
	o, err := m.run(ctx, line)
	if err != nil {
		return nil, err
	}
	if o.code != 0 {
		return nil, loader.Execution("%s", withoutScope(o.stderr))
	}
	return true, nil
}

type stopArgs struct {
	Name    string
	NoBlock bool `default:"False"`
}

// stop stops a service and tells whether that worked.
//
// no_block : False
//
//	Do not wait until it has stopped.
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
	o, err := m.run(ctx, line)
	return err == nil && o.code == 0, err
}

type statusArgs struct {
	Name string
	Sig  any `default:"None"`
}

var glob = regexp.MustCompile(`\*|\?|\[.+\]`)

// status tells whether a service runs. For a name with a wildcard it returns a dictionary of all that fit.
//
// CLI Example:
//
//	salt '*' service.status nginx
//	salt '*' service.status 'ssh*'
func (m *module) status(ctx context.Context, a statusArgs) (any, error) {
	if !glob.MatchString(a.Name) {
		return m.active(ctx, a.Name)
	}
	found := &data.Map{}
	for _, name := range m.all(nil) {
		if !loader.Glob(a.Name, name) {
			continue
		}
		is, err := m.active(ctx, name)
		if err != nil {
			return nil, err
		}
		found.Set(name, is)
	}
	return found, nil
}

func (m *module) active(ctx context.Context, name string) (bool, error) {
	if err := m.refresh(ctx, name); err != nil {
		return false, err
	}
	o, err := m.quietly(ctx, append(systemctl(nil, "is-active"), unitWords(name)...))
	return err == nil && o.code == 0, err
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

// firstboot has systemd-firstboot give a system its basic settings.
//
// locale, locale_message, keymap, timezone, hostname, machine_id
//
//	The settings.
//
// root
//
//	The directory where the system is.
//
// CLI Example:
//
//	salt '*' service.firstboot keymap=jp locale=en_US.UTF-8
func (m *module) firstboot(ctx context.Context, a firstbootArgs) (any, error) {
	line := []string{program("systemd-firstboot")}
	for _, setting := range [][2]any{{"locale", a.Locale}, {"locale-message", a.LocaleMessage}, {"keymap", a.Keymap}, {"timezone", a.Timezone},
		{"hostname", a.Hostname}, {"machine-ID", a.MachineID}, {"root", a.Root}} {
		if data.Truth(setting[1]) {
			line = append(line, "--"+setting[0].(string), data.Str(setting[1]))
		}
	}
	o, err := m.run(ctx, line)
	if err != nil {
		return nil, err
	}
	if o.code != 0 {
		return nil, loader.Execution("systemd-firstboot error: %s", o.stderr)
	}
	return true, nil
}
