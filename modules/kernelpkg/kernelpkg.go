// Package kernelpkg is Salt's module kernelpkg: the packages of the kernel, on systems with APT and
// with YUM or DNF (salt/modules/kernelpkg_linux_apt.py, salt/modules/kernelpkg_linux_yum.py).
//
// kernelpkg.go has the functions, apt.go and yum.go what differs between the systems.
//
// Differences from Salt: a system without a kernel package, and a version in an unknown form, is an
// error with its reason.
package kernelpkg

import (
	"context"
	"errors"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// system is what differs between package managers.
type system interface {
	// installed returns the releases of the kernels, in any order.
	installed(ctx context.Context) ([]string, error)
	// available returns the latest release of the repositories, "" if it is installed.
	available(ctx context.Context) (string, error)
	// upgrade installs the latest release, and returns the changes.
	upgrade(ctx context.Context) (any, error)
	// remove removes the package of a release.
	remove(ctx context.Context, name string) error
	// pkg returns the name of the package of a release.
	pkg(release string) string
}

type module struct {
	env *loader.Env
	system
}

func (m *module) functions() *loader.Module {
	return &loader.Module{Funcs: []loader.Func{
		loader.F("active", m.active),
		loader.F("cleanup", m.cleanup),
		loader.F("latest_available", m.latestAvailable),
		loader.F("latest_installed", m.latestInstalled),
		loader.F("list_installed", m.listInstalled),
		loader.F("needs_reboot", m.needsReboot),
		loader.F("remove", m.removeRelease),
		loader.F("upgrade", m.upgradeKernel),
		loader.F("upgrade_available", m.upgradeAvailable),
	}}
}

// running returns the release of the running kernel.
func running(ctx context.Context, env *loader.Env) (string, error) {
	release := env.GrainsNow().Text("kernelrelease")
	if !env.Functions.Has("pkg.normalize_name") {
		return release, nil
	}
	return loader.CallAs[string](ctx, env, "pkg.normalize_name", []any{release}, nil)
}

// releases returns the installed releases in order.
func (m *module) releases(ctx context.Context) ([]string, error) {
	all, err := m.installed(ctx)
	slices.SortStableFunc(all, packages.Loose)
	return all, err
}

// latest returns the latest installed release.
func (m *module) latest(ctx context.Context) (string, error) {
	all, err := m.releases(ctx)
	if err == nil && len(all) == 0 {
		err = errNone
	}
	if err != nil {
		return "", err
	}
	return all[len(all)-1], nil
}

var errNone = loader.Execution("no kernel package is installed")

type noArgs struct{}

// active returns the release of the running kernel.
//
// CLI Example:
//
//	salt '*' kernelpkg.active
func (m *module) active(ctx context.Context, _ noArgs) (any, error) { return running(ctx, m.env) }

// listInstalled returns the releases of the installed kernels in order.
//
// CLI Example:
//
//	salt '*' kernelpkg.list_installed
func (m *module) listInstalled(ctx context.Context, _ noArgs) (any, error) {
	all, err := m.releases(ctx)
	return data.Values(all), err
}

// latestInstalled returns the latest installed release, None without one.
//
// CLI Example:
//
//	salt '*' kernelpkg.latest_installed
func (m *module) latestInstalled(ctx context.Context, _ noArgs) (any, error) {
	release, err := m.latest(ctx)
	if errors.Is(err, errNone) {
		return nil, nil
	}
	return release, err
}

// newest returns the latest release of the repositories, which may be installed.
func (m *module) newest(ctx context.Context) (string, error) {
	release, err := m.available(ctx)
	if err != nil || release != "" {
		return release, err
	}
	return m.latest(ctx)
}

// latestAvailable returns the latest release of the repositories.
//
// CLI Example:
//
//	salt '*' kernelpkg.latest_available
func (m *module) latestAvailable(ctx context.Context, _ noArgs) (any, error) {
	release, err := m.newest(ctx)
	if errors.Is(err, errNone) {
		return nil, nil
	}
	return release, err
}

// stale reports whether a newer kernel than the running one is installed.
func (m *module) stale(ctx context.Context) (is bool, active, latest string, err error) {
	if active, err = running(ctx, m.env); err == nil {
		latest, err = m.latest(ctx)
	}
	return err == nil && packages.Loose(active, latest) < 0, active, latest, err
}

// needsReboot returns whether a newer kernel than the running one is installed.
//
// CLI Example:
//
//	salt '*' kernelpkg.needs_reboot
func (m *module) needsReboot(ctx context.Context, _ noArgs) (any, error) {
	stale, _, _, err := m.stale(ctx)
	return stale, err
}

// upgradeAvailable returns whether the repositories have a newer kernel than those installed.
//
// CLI Example:
//
//	salt '*' kernelpkg.upgrade_available
func (m *module) upgradeAvailable(ctx context.Context, _ noArgs) (any, error) {
	available, err := m.newest(ctx)
	if err != nil {
		return nil, err
	}
	latest, err := m.latest(ctx)
	return packages.Loose(available, latest) > 0, err
}

type upgradeArgs struct {
	Reboot any `default:"False"`
	AtTime any `name:"at_time" default:"None"`
}

// upgradeKernel installs the latest kernel. It returns the upgrades, the running and the latest
// kernel, and whether a reboot is required and requested.
//
// reboot
//
//	True: reboot if the running kernel is not the latest.
//
// at_time
//
//	When to reboot, in minutes. Default: at once.
//
// CLI Example:
//
//	salt '*' kernelpkg.upgrade
//	salt '*' kernelpkg.upgrade reboot=True at_time=1
func (m *module) upgradeKernel(ctx context.Context, a upgradeArgs) (any, error) {
	upgrades, err := m.upgrade(ctx)
	if err != nil {
		return nil, err
	}
	stale, active, latest, err := m.stale(ctx)
	if err != nil {
		return nil, err
	}
	if data.Truth(a.Reboot) && stale {
		m.env.Log.Warnf("Rebooting system due to kernel upgrade")
		if _, err := m.env.Call(ctx, "system.reboot", nil, data.NewMap("at_time", a.AtTime)); err != nil {
			return nil, err
		}
	}
	return data.NewMap("upgrades", upgrades, "active", active, "latest_installed", latest,
		"reboot_requested", a.Reboot, "reboot_required", stale), nil
}

type removeArgs struct{ Release string }

// removeRelease removes an installed kernel that does not run, and returns the name of its package
// in a list as removed.
//
// CLI Example:
//
//	salt '*' kernelpkg.remove 4.4.0-70-generic
func (m *module) removeRelease(ctx context.Context, a removeArgs) (any, error) {
	name, err := m.dropped(ctx, a.Release)
	if err != nil {
		return nil, err
	}
	return data.NewMap("removed", []any{name}), nil
}

func (m *module) dropped(ctx context.Context, release string) (string, error) {
	all, err := m.releases(ctx)
	if err != nil {
		return "", err
	}
	active, err := running(ctx, m.env)
	switch {
	case err != nil:
		return "", err
	case !slices.Contains(all, release):
		return "", loader.Execution("Kernel release '%s' is not installed", release)
	case release == active:
		return "", loader.Execution("Active kernel cannot be removed")
	}
	name := m.pkg(release)
	if err := process.PlainOperands(name); err != nil {
		return "", loader.Execution("%w", err)
	}
	return name, m.remove(ctx, name)
}

type cleanupArgs struct {
	KeepLatest any `name:"keep_latest" default:"True"`
}

// cleanup removes all kernels but the running one, and returns the names of their packages as
// removed.
//
// keep_latest
//
//	True: also keep the latest.
//
// CLI Example:
//
//	salt '*' kernelpkg.cleanup
func (m *module) cleanup(ctx context.Context, a cleanupArgs) (any, error) {
	all, err := m.releases(ctx)
	if err != nil {
		return nil, err
	}
	active, err := running(ctx, m.env)
	if err != nil {
		return nil, err
	}
	removed := []any{}
	for i, release := range all {
		if release == active || data.Truth(a.KeepLatest) && i == len(all)-1 {
			continue
		}
		name, err := m.dropped(ctx, release)
		if err != nil {
			return nil, err
		}
		removed = append(removed, name)
	}
	return data.NewMap("removed", removed), nil
}
