package apkpkg

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/modules/calls"
)

type installArgs struct {
	Name    any       `default:"None"`
	Refresh any       `default:"False"`
	Pkgs    any       `default:"None"`
	Sources any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// install installs packages, and returns the changes by package: old and new versions.
//
// name
//
//	The package, or several separated by commas.
//
// version
//
//	The version, if only one package is named.
//
// pkgs
//
//	A list of packages, each a name or a dictionary of name and version.
//
// refresh
//
//	True: update the repository indexes first.
//
// CLI Example:
//
//	salt '*' pkg.install bash refresh=True
func (m *module) install(ctx context.Context, a installArgs) (any, error) {
	var wanted []want
	if data.Truth(a.Name) && !data.Truth(a.Pkgs) && !data.Truth(a.Sources) {
		wanted = named(a.Name, a.Kwargs.Text("version"))
	}
	wanted = append(wanted, listed(a.Pkgs)...)
	if len(wanted) == 0 {
		return &data.Map{}, nil
	}
	if packages.True(a.Refresh) {
		if _, err := m.refreshDB(ctx, kwargsArgs{}); err != nil {
			return nil, err
		}
	}
	if err := plain(wanted); err != nil {
		return nil, err
	}
	return packages.Changed(ctx, "Problem encountered installing package(s)", m.texts(ctx),
		func() ([]any, error) {
			installed, err := m.texts(ctx)()
			if err != nil {
				return nil, err
			}
			return m.act(ctx, append([]any{"add"}, addWords(wanted, installed)...)...)
		})
}

// addWords returns the arguments of apk add. They ask for newer versions if any of the packages is
// installed.
func addWords(wanted []want, installed *data.Map) []any {
	var words []any
	for _, w := range wanted {
		if installed.Has(w.name) && len(words) == 0 {
			words = append(words, "-u")
		}
	}
	for _, w := range wanted {
		words = append(words, w.word())
	}
	return words
}

// act runs apk and returns its error output if it fails.
func (m *module) act(ctx context.Context, args ...any) ([]any, error) {
	out, err := m.apk(ctx, args...)
	if err == nil && out.Retcode != 0 && out.Stderr != "" {
		return []any{out.Stderr}, nil
	}
	return nil, err
}

// A want is a requested package, with its version or "".
type want struct{ name, version string }

func (w want) word() string {
	switch {
	case w.version == "":
		return w.name
	case strings.ContainsAny(w.version[:1], "<>=~"):
		return w.name + w.version
	}
	return w.name + "=" + w.version
}

// plain rejects packages that apk would parse as options.
func plain(wanted []want) error {
	for _, w := range wanted {
		if err := packages.Names(w.name); err != nil {
			return err
		}
	}
	return nil
}

func named(name any, version string) []want {
	var all []want
	for n := range strings.SplitSeq(data.Str(name), ",") {
		all = append(all, want{n, version})
	}
	if len(all) > 1 {
		for i := range all {
			all[i].version = ""
		}
	}
	return all
}

// listed converts a list of names and of dictionaries of names and versions.
func listed(pkgs any) []want {
	list, _ := pkgs.([]any)
	var all []want
	for _, p := range list {
		one, ok := p.(*data.Map)
		if !ok {
			all = append(all, want{data.Str(p), ""})
			continue
		}
		for name, v := range one.All() {
			w := want{name: data.Str(name)}
			if data.Truth(v) {
				w.version = data.Str(v)
			}
			all = append(all, w)
		}
	}
	return all
}

type purgeArgs struct {
	Name   any       `default:"None"`
	Pkgs   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

type removeArgs struct {
	Name   any       `default:"None"`
	Pkgs   any       `default:"None"`
	Purge  any       `default:"False"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// remove removes packages, and returns the changes by package.
//
// purge
//
//	True: also remove their configuration files.
//
// CLI Example:
//
//	salt '*' pkg.remove bash,zsh
func (m *module) remove(ctx context.Context, a removeArgs) (any, error) {
	var wanted []want
	if data.Truth(a.Name) {
		wanted = named(a.Name, "")
	}
	wanted = append(wanted, listed(a.Pkgs)...)
	if len(wanted) == 0 {
		return &data.Map{}, nil
	}
	if err := plain(wanted); err != nil {
		return nil, err
	}
	words := []any{"del"}
	if data.Truth(a.Purge) {
		words = append(words, "--purge")
	}
	for _, w := range wanted {
		words = append(words, w.name)
	}
	return packages.Changed(ctx, "Problem encountered removing package(s)", m.texts(ctx),
		func() ([]any, error) { return m.act(ctx, words...) })
}

// purge removes packages with their configuration files, and returns the changes by package.
//
// CLI Example:
//
//	salt '*' pkg.purge bash,zsh
func (m *module) purge(ctx context.Context, a purgeArgs) (any, error) {
	return m.remove(ctx, removeArgs{Name: a.Name, Pkgs: a.Pkgs, Purge: true})
}

type upgradeArgs struct {
	Name    any       `default:"None"`
	Pkgs    any       `default:"None"`
	Refresh any       `default:"True"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// upgrade upgrades the given packages, or all. It returns a dictionary of changes, result and
// comment.
//
// refresh : True
//
//	Update the repository indexes first.
//
// CLI Example:
//
//	salt '*' pkg.upgrade
func (m *module) upgrade(ctx context.Context, a upgradeArgs) (any, error) {
	if packages.True(a.Refresh) {
		if _, err := m.refreshDB(ctx, kwargsArgs{}); err != nil {
			return nil, err
		}
	}
	wanted := listed(a.Pkgs)
	if data.Truth(a.Name) && len(wanted) == 0 {
		wanted = named(a.Name, "")
	}
	if err := plain(wanted); err != nil {
		return nil, err
	}
	words := []any{"apk", "upgrade"}
	if len(wanted) > 0 {
		words = []any{"apk", "add", "-u"}
		for _, w := range wanted {
			words = append(words, w.word())
		}
	}
	var out calls.Ran
	changes, err := packages.Changed(ctx, "", m.texts(ctx), func() (wrong []any, err error) {
		out, err = packages.Run(ctx, m.env, calls.Run{MergeStderr: true}, words...)
		return nil, err
	})
	comment := ""
	if out.Retcode != 0 {
		comment = out.Stdout
	}
	return data.NewMap("changes", changes, "result", out.Retcode == 0, "comment", comment), err
}

type packagesArgs struct {
	Packages []any     `args:"packages"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// fileDict returns a dictionary of packages and their files.
//
// CLI Example:
//
//	salt '*' pkg.file_dict bash
func (m *module) fileDict(ctx context.Context, a packagesArgs) (any, error) {
	if len(a.Packages) == 0 {
		return "Package name should be provided", nil
	}
	all := &data.Map{}
	for _, name := range a.Packages {
		if err := packages.Names(name); err != nil {
			return nil, err
		}
		out, err := m.apk(ctx, "info", "-L", name)
		if err != nil {
			return nil, err
		}
		var files []any
		for line := range strings.SplitSeq(out.Stdout, "\n") {
			if line != "" && !strings.HasSuffix(line, "contains:") {
				files = append(files, line)
			}
		}
		if len(files) > 0 {
			all.Set(name, files)
		}
	}
	return data.NewMap("errors", []any{}, "packages", all), nil
}

type pathsArgs struct {
	Paths  []any     `args:"paths"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// owner returns a dictionary of files and the packages that own them.
//
// CLI Example:
//
//	salt '*' pkg.owner /usr/bin/apachectl /usr/bin/basename
func (m *module) owner(ctx context.Context, a pathsArgs) (any, error) {
	if len(a.Paths) == 0 {
		return "You must provide a path", nil
	}
	owners := &data.Map{}
	for _, path := range a.Paths {
		if err := packages.Names(path); err != nil {
			return nil, err
		}
		out, err := m.apk(ctx, "info", "-W", path)
		if err != nil {
			return nil, err
		}
		_, name, ok := strings.Cut(out.Stdout, "by ")
		switch {
		case out.Stdout == "":
			name = "Error running " + data.Repr([]any{"apk", "info", "-W", path})
		case !ok || strings.Contains(out.Stdout, "ERROR:"):
			name = "Could not find owner package"
		}
		owners.Set(path, strings.TrimSpace(name))
	}
	return owners, nil
}
