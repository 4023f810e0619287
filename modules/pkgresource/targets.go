package pkgresource

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

type packArgs struct {
	Sources   any
	Normalize bool `default:"True"`
}

// packSources merges a list of dictionaries, each with one package name and the location of its
// file, into one dictionary.
//
// normalize : True
//
//	Remove the architecture from a name if it is that of the host.
//
// CLI Example:
//
//	salt '*' pkg_resource.pack_sources '[{"foo": "salt://foo.rpm"}, {"bar": "salt://bar.rpm"}]'
func (m *module) packSources(ctx context.Context, a packArgs) (any, error) {
	return m.sources(ctx, a.Sources, a.Normalize)
}

func (m *module) sources(ctx context.Context, given any, normalize bool) (*data.Map, error) {
	if text, ok := given.(string); ok {
		read, err := yaml.Load([]byte(text), yaml.Options{})
		if err != nil {
			m.env.Log.Error(err.Error())
			return &data.Map{}, nil
		}
		given = read
	}
	list, ok := given.([]any)
	packed := &data.Map{}
	for _, v := range list {
		one, _ := v.(*data.Map)
		if one.Len() != 1 {
			ok = false
			break
		}
		name, source := one.At(0)
		normal, err := packages.Normal(ctx, m.env, data.Str(name), normalize)
		if err != nil {
			return nil, err
		}
		packed.Set(normal, source)
	}
	if !ok {
		m.env.Log.Errorf("Invalid input: %s", data.Repr(given))
		m.env.Log.Error("Input must be a list of 1-element dicts")
		return &data.Map{}, nil
	}
	return packed, nil
}

type targetsArgs struct {
	Name      any       `default:"None"`
	Pkgs      any       `default:"None"`
	Sources   any       `default:"None"`
	Saltenv   any       `default:"'base'"`
	Normalize bool      `default:"True"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// parseTargets parses the arguments of pkg.install. It returns what to install and its kind: for
// repository a dictionary of names and versions, for file a list of paths, for advisory a list of
// patches.
//
// CLI Example:
//
//	salt '*' pkg_resource.parse_targets foo,bar
func (m *module) parseTargets(ctx context.Context, a targetsArgs) (any, error) {
	mac := m.env.GrainsNow().Value("os") == "MacOS"
	if mac && data.Truth(a.Sources) {
		m.env.Log.Warn(`Parameter "sources" ignored on MacOS hosts.`)
	}
	switch {
	case data.Truth(a.Pkgs) && data.Truth(a.Sources):
		return m.none(`Only one of "pkgs" and "sources" can be used.`)
	case a.Kwargs.Has("advisory_ids"):
		return m.advisories(a)
	case data.Truth(a.Pkgs):
		m.warnOfVersion(a)
		return m.fromPkgs(ctx, a)
	case data.Truth(a.Sources) && !mac:
		m.warnOfVersion(a)
		return m.fromSources(ctx, a)
	case data.Truth(a.Name):
		return m.fromName(ctx, a)
	}
	return m.none("No package sources provided")
}

// none logs an error and returns the result for "nothing to install".
func (m *module) none(text string) (any, error) {
	if text != "" {
		m.env.Log.Error(text)
	}
	return data.Tuple{nil, nil}, nil
}

func (m *module) warnOfVersion(a targetsArgs) {
	if a.Kwargs.Value("version") != nil {
		m.env.Log.Warn("'version' argument will be ignored for multiple package targets")
	}
}

func (m *module) advisories(a targetsArgs) (any, error) {
	if data.Truth(a.Pkgs) {
		return m.none(`Cannot use "advisory_ids" and "pkgs" at the same time`)
	}
	if ids := a.Kwargs.Value("advisory_ids"); data.Truth(ids) {
		return data.Tuple{ids, "advisory"}, nil
	}
	return data.Tuple{[]any{a.Name}, "advisory"}, nil
}

func (m *module) fromPkgs(ctx context.Context, a targetsArgs) (any, error) {
	packed, wrong, err := packages.Packed(a.Pkgs, func(name string) (string, error) {
		if err := packages.Names(name); err != nil {
			return "", err
		}
		return packages.Normal(ctx, m.env, name, a.Normalize)
	})
	switch {
	case err != nil:
		return nil, err
	case wrong != "":
		return m.none(wrong)
	}
	if packed.Len() == 0 {
		return m.none("")
	}
	return data.Tuple{packed, "repository"}, nil
}

func (m *module) fromSources(ctx context.Context, a targetsArgs) (any, error) {
	sources, err := m.sources(ctx, a.Sources, a.Normalize)
	if err != nil {
		return nil, err
	}
	if sources.Len() == 0 {
		return m.none("")
	}
	var paths []any
	for name, source := range sources.All() {
		path, err := m.local(ctx, data.Str(name), source, a.Saltenv)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return data.Tuple{paths, "file"}, nil
}

// local returns the path of a package file on this host. It fetches files from elsewhere.
func (m *module) local(ctx context.Context, name string, source, saltenv any) (any, error) {
	remote, err := loader.CallAs[bool](ctx, m.env, "config.valid_fileproto", []any{source}, nil)
	switch {
	case err != nil:
		return nil, err
	case remote:
		return m.fetched(ctx, source, saltenv)
	case !filepath.IsAbs(data.Str(source)):
		return nil, loader.Invocation("Path %s for package %s is either not absolute or an invalid protocol", data.Str(source), name)
	}
	return source, nil
}

// fetched fetches a file and returns its local path. A missing file is an error; Salt passes False
// to the program.
func (m *module) fetched(ctx context.Context, source, saltenv any) (any, error) {
	path, err := packages.Fetched(ctx, m.env, source, saltenv)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, loader.Execution("Unable to cache %s: file not found", data.Str(source))
	}
	return path, nil
}

func (m *module) fromName(ctx context.Context, a targetsArgs) (any, error) {
	packed := &data.Map{}
	for name := range strings.SplitSeq(data.Str(a.Name), ",") {
		if err := packages.Names(name); err != nil {
			return nil, err
		}
		normal, err := packages.Normal(ctx, m.env, name, a.Normalize)
		if err != nil {
			return nil, err
		}
		packed.Set(normal, a.Kwargs.Value("version"))
	}
	return data.Tuple{packed, "repository"}, nil
}
