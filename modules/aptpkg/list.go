package aptpkg

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
)

// cached is the key of the installed packages in a job's context.
const cached = "pkg.list_pkgs"

// A listing is the packages that dpkg knows by name, each with the list of its versions. It must
// not be modified.
type listing struct {
	installed, removed, purge *data.Map
	of                        database
}

// A database is the state of dpkg's database when it was read.
type database struct {
	status, updates time.Time
	size            int64
}

func (m *module) database() database {
	var d database
	if info, err := os.Stat(m.path("/var/lib/dpkg/status")); err == nil {
		d.status, d.size = info.ModTime(), info.Size()
	}
	if info, err := os.Stat(m.path("/var/lib/dpkg/updates")); err == nil {
		d.updates = info.ModTime()
	}
	return d
}

// list returns the packages that dpkg knows. It uses the list cached in the job unless use_context
// is false.
func (m *module) list(ctx context.Context, kwargs *data.Map) (*listing, error) {
	c, now := loader.ContextOf(ctx), m.database()
	useContext, given := kwargs.Get("use_context")
	if v, ok := c.Get(cached); ok && (!given || data.Truth(useContext)) {
		if l, ok := v.(*listing); ok && l.of == now {
			return l, nil
		}
	}
	l, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	l.of = now
	c.Set(cached, l)
	return l, nil
}

// forget drops the cached list, so that the next call asks dpkg again.
func forget(ctx context.Context) { loader.ContextOf(ctx).Delete(cached) }

func (m *module) read(ctx context.Context) (*listing, error) {
	o, err := packages.Run(ctx, m.env, packages.Quietly(), "dpkg-query", "--showformat",
		"${Status} ${Package} ${Version} ${Architecture}\n", "-W")
	if err != nil {
		return nil, err
	}
	if o.Retcode != 0 && !strings.Contains(o.Stderr, "no packages found") {
		return nil, loader.Execution("Unable to list the packages of dpkg: %s", failure(o))
	}
	return parseListing(o.Stdout, m.nativeArch()), nil
}

// nativeArch returns the architecture whose packages have names without a suffix, or "" if that is
// true of all.
func (m *module) nativeArch() string {
	grains := m.env.GrainsNow()
	if grains.Value("cpuarch") == "x86_64" && grains.Value("osarch") == "amd64" {
		return "amd64"
	}
	return ""
}

// parseListing parses lines of selection, flag, state, name, version and architecture.
func parseListing(text, native string) *listing {
	l := &listing{installed: &data.Map{}, removed: &data.Map{}, purge: &data.Map{}}
	l.installed.Grow(strings.Count(text, "\n") + 1)
	for line := range strings.Lines(text) {
		cols := strings.Fields(line)
		if len(cols) < 6 {
			continue
		}
		selection, state, name, version, arch := cols[0], cols[2], cols[3], cols[4], cols[5]
		if native != "" && arch != "all" && arch != native {
			name += ":" + arch
		}
		there := state == "installed" || strings.HasPrefix(state, "triggers-")
		switch {
		case there && selection == "purge":
			packages.Add(l.purge, name, version)
		case there && (strings.Contains(selection, "install") || selection == "hold"):
			packages.Add(l.installed, name, version)
		case selection == "deinstall":
			packages.Add(l.removed, name, version)
		}
	}
	packages.Sort(l.installed)
	packages.Sort(l.removed)
	packages.Sort(l.purge)
	return l
}

// pick returns the packages that were removed but not purged, those that wait to be purged, or all
// installed ones.
func (l *listing) pick(removed, purge bool) *data.Map {
	switch {
	case removed:
		return l.removed
	case purge:
		return l.purge
	case l.purge.Len() == 0:
		return l.installed
	}
	all := l.purge.Clone()
	all.Update(l.installed)
	return all
}

type listArgs struct {
	VersionsAsList any       `default:"False"`
	Removed        any       `default:"False"`
	PurgeDesired   any       `default:"False"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// listPkgs returns the installed packages with their versions.
//
// versions_as_list : False
//
//	A list of versions for each package instead of a string with commas.
//
// removed : False
//
//	Packages that were removed but not purged.
//
// purge_desired : False
//
//	Packages that are marked to be purged but are still there because others need them.
//
// CLI Example:
//
//	salt '*' pkg.list_pkgs
//	salt '*' pkg.list_pkgs versions_as_list=True
func (m *module) listPkgs(ctx context.Context, a listArgs) (any, error) {
	l, err := m.list(ctx, a.Kwargs)
	if err != nil {
		return nil, err
	}
	all := l.pick(packages.True(a.Removed), packages.True(a.PurgeDesired))
	if packages.True(a.VersionsAsList) {
		return data.Clone(all), nil
	}
	return stringified(all), nil
}

// stringified returns packages with their versions as strings.
func stringified(all *data.Map) *data.Map {
	out := all.Clone()
	packages.Stringify(out)
	return out
}

// now returns the versions of the installed packages, or of the removed ones, as strings.
func (m *module) now(ctx context.Context, removed bool) (*data.Map, error) {
	l, err := m.list(ctx, nil)
	if err != nil {
		return nil, err
	}
	return stringified(l.pick(removed, false)), nil
}
