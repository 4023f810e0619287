package systemdservice

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/services"
	"github.com/brineproject/brine/loader"
)

type rootArgs struct {
	Root any `default:"None"`
}

// getRunning returns the running units.
//
// CLI Example:
//
//	salt '*' service.get_running
func (m *module) getRunning(ctx context.Context, _ loader.NoArgs) (any, error) {
	o, err := m.quietly(ctx, systemctl(nil, "--full", "--no-legend", "--no-pager"))
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for line := range strings.SplitSeq(o.Stdout, "\n") {
		words := strings.Fields(line)
		if len(words) < 4 || words[3] != "running" {
			continue
		}
		if name, ok := shortName(words[0]); ok {
			found[name] = true
		}
	}
	return services.Sorted(found), nil
}

// inState returns the units whose files are in a state, from systemctl list-unit-files.
func (m *module) inState(ctx context.Context, root any, state string) (map[string]bool, error) {
	o, err := m.quietly(ctx, systemctl(root, "--full", "--no-legend", "--no-pager",
		"list-unit-files"))
	found := map[string]bool{}
	for line := range strings.SplitSeq(o.Stdout, "\n") {
		words := strings.Fields(line)
		if len(words) < 2 || words[1] != state {
			continue
		}
		if name, ok := shortName(words[0]); ok {
			found[name] = true
		}
	}
	return found, err
}

// getEnabled returns the units that start at boot.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' service.get_enabled
func (m *module) getEnabled(ctx context.Context, a rootArgs) (any, error) {
	return m.withScripts(ctx, a.Root, "enabled", true)
}

// getDisabled returns the units that do not start at boot.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' service.get_disabled
func (m *module) getDisabled(ctx context.Context, a rootArgs) (any, error) {
	return m.withScripts(ctx, a.Root, "disabled", false)
}

// withScripts returns the units in a state, and the scripts that are enabled or disabled.
func (m *module) withScripts(
	ctx context.Context, root any, state string, enabled bool,
) (any, error) {
	found, err := m.inState(ctx, root, state)
	if err != nil {
		return nil, err
	}
	for _, name := range m.scripts(root, m.units(root)) {
		is, err := m.scriptEnabled(ctx, name, root)
		if err != nil {
			return nil, err
		}
		if is == enabled {
			found[name] = true
		}
	}
	return services.Sorted(found), nil
}

// getStatic returns the units that can be neither enabled nor disabled.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' service.get_static
func (m *module) getStatic(ctx context.Context, a rootArgs) (any, error) {
	found, err := m.inState(ctx, a.Root, "static")
	return services.Sorted(found), err
}

// getAll returns all units that have files, and all scripts in /etc/init.d.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' service.get_all
func (m *module) getAll(_ context.Context, a rootArgs) (any, error) {
	return data.Values(m.all(a.Root)), nil
}

func (m *module) all(root any) []string {
	found := m.units(root)
	for _, name := range m.scripts(root, found) {
		found[name] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// available reports whether a unit or a script with that name exists.
//
// CLI Example:
//
//	salt '*' service.available sshd
func (m *module) available(ctx context.Context, a services.NameArgs) (any, error) {
	if err := m.refresh(ctx, a.Name); err != nil {
		return nil, err
	}
	return m.known(ctx, a.Name)
}

// missing reports whether no unit or script with that name exists.
//
// CLI Example:
//
//	salt '*' service.missing sshd
func (m *module) missing(ctx context.Context, a services.NameArgs) (any, error) {
	known, err := m.available(ctx, a)
	return known == false, err
}
