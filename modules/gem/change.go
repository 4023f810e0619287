package gem

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type installArgs struct {
	Gems        any
	Ruby        any  `default:"None"`
	GemBin      any  `default:"None"`
	Runas       any  `default:"None"`
	Version     any  `default:"None"`
	Rdoc        bool `default:"False"`
	Ri          bool `default:"False"`
	PreReleases bool `default:"False"`
	Proxy       any  `default:"None"`
	Source      any  `default:"None"`
}

// install installs gems and returns the program's output.
//
// gems
//
//	Names, as a list or separated by blanks.
//
// ruby
//
//	The version of Ruby, for rvm and rbenv. It is ignored with gem_bin.
//
// gem_bin
//
//	The path of the program gem.
//
// runas
//
//	The user to run it as.
//
// version
//
//	The version to install, for a single gem.
//
// rdoc, ri
//
//	Generate this documentation. Versions of gem from 3 on generate both or none.
//
// pre_releases
//
//	Install versions that are not final releases too.
//
// proxy, source
//
//	The URLs of a proxy and of a server of gems.
//
// CLI Example:
//
//	salt '*' gem.install vagrant
//	salt '*' gem.install redphone gem_bin=/opt/sensu/embedded/bin/gem
func (m *module) install(ctx context.Context, a installArgs) (any, error) {
	names, err := words(a.Gems)
	version, proxy, source := calls.Text(a.Version), calls.Text(a.Proxy), calls.Text(a.Source)
	if err == nil {
		err = process.PlainOperands(version, proxy, source)
	}
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	p := place{Ruby: a.Ruby, Runas: a.Runas, GemBin: a.GemBin}
	three, err := m.isThree(ctx, p)
	if err != nil {
		return nil, err
	}
	argv := append([]string{"install"}, names...)
	add := func(needed bool, words ...string) {
		if needed {
			argv = append(argv, words...)
		}
	}
	add(version != "", "--version", version)
	add(three && (!a.Rdoc || !a.Ri), "--no-document")
	add(three && a.PreReleases, "--prerelease")
	add(!three && !a.Rdoc, "--no-rdoc")
	add(!three && !a.Ri, "--no-ri")
	add(!three && a.PreReleases, "--pre")
	add(proxy != "", "-p", proxy)
	add(source != "", "--source", source)
	return m.run(ctx, p, argv...)
}

// isThree reports whether the version of the program gem is 3.
func (m *module) isThree(ctx context.Context, p place) (bool, error) {
	version, err := m.version(ctx, versionArgs{p})
	if _, none := version.(*data.Map); none {
		err = loader.TypeError("expected string or bytes-like object, got 'dict'")
	}
	return strings.HasPrefix(data.Str(version), "3."), err
}

type gemsArgs struct {
	Gems any
	place
}

// uninstall removes all versions of gems and their programs, and returns the program's output.
//
// CLI Example:
//
//	salt '*' gem.uninstall vagrant
func (m *module) uninstall(ctx context.Context, a gemsArgs) (any, error) {
	names, err := words(a.Gems)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	return m.run(ctx, a.place, append(append([]string{"uninstall"}, names...), "-a", "-x")...)
}

// update updates gems and returns the program's output.
//
// CLI Example:
//
//	salt '*' gem.update vagrant
func (m *module) update(ctx context.Context, a gemsArgs) (any, error) {
	names, err := words(a.Gems)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	return m.run(ctx, a.place, append([]string{"update"}, names...)...)
}

type systemArgs struct {
	Version any `default:"''"`
	place
}

// updateSystem updates the program gem itself, to the given version or to the newest, and returns
// its output.
//
// CLI Example:
//
//	salt '*' gem.update_system
func (m *module) updateSystem(ctx context.Context, a systemArgs) (any, error) {
	version := calls.Text(a.Version)
	if err := process.PlainOperands(version); err != nil {
		return nil, loader.Execution("%w", err)
	}
	return m.run(ctx, a.place, "update", "--system", version)
}

type sourceArgs struct {
	SourceURI string `name:"source_uri"`
	place
}

// sourcesAdd adds a server of gems by its URL, and returns the program's output.
//
// CLI Example:
//
//	salt '*' gem.sources_add http://rubygems.org/
func (m *module) sourcesAdd(ctx context.Context, a sourceArgs) (any, error) {
	return m.source(ctx, "--add", a)
}

// sourcesRemove removes a server of gems by its URL, and returns the program's output.
//
// CLI Example:
//
//	salt '*' gem.sources_remove http://rubygems.org/
func (m *module) sourcesRemove(ctx context.Context, a sourceArgs) (any, error) {
	return m.source(ctx, "--remove", a)
}

func (m *module) source(ctx context.Context, option string, a sourceArgs) (any, error) {
	if err := process.PlainOperands(a.SourceURI); err != nil {
		return nil, loader.Execution("%w", err)
	}
	return m.run(ctx, a.place, "sources", option, a.SourceURI)
}

type sourcesArgs struct{ place }

// sourcesList returns the URLs of the servers of gems.
//
// CLI Example:
//
//	salt '*' gem.sources_list
func (m *module) sourcesList(ctx context.Context, a sourcesArgs) (any, error) {
	text, err := m.run(ctx, a.place, "sources")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return data.Values(lines[min(2, len(lines)):]), nil
}
