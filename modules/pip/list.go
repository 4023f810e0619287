package pip

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pep440"
	"github.com/brineproject/brine/loader"
)

type freezeArgs struct {
	BinEnv  any       `default:"None"`
	User    any       `default:"None"`
	Cwd     any       `default:"None"`
	UseVT   bool      `name:"use_vt" default:"False"`
	EnvVars any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// freeze returns the installed packages as requirements.
//
// CLI Example:
//
//	salt '*' pip.freeze bin_env=/home/code/path/to/virtualenv
func (m *module) freeze(ctx context.Context, a freezeArgs) (any, error) {
	said, err := output(m.run(ctx, place{a.BinEnv, a.User, a.Cwd, a.EnvVars, a.Kwargs},
		"freeze", "--all"))
	if err != nil {
		return nil, err
	}
	out := []any{}
	for line := range strings.Lines(said) {
		out = append(out, strings.TrimRight(line, "\r\n"))
	}
	return out, nil
}

type listArgs struct {
	Prefix  any       `default:"None"`
	BinEnv  any       `default:"None"`
	User    any       `default:"None"`
	Cwd     any       `default:"None"`
	EnvVars any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// listFreezeParse returns the installed packages and their versions as listed by pip.freeze. With
// prefix, it returns only those whose name begins with it.
//
// CLI Example:
//
//	salt '*' pip.list_freeze_parse salt
func (m *module) listFreezeParse(ctx context.Context, a listArgs) (any, error) {
	ret := data.NewMap()
	if prefix := data.Str(a.Prefix); a.Prefix == nil || strings.HasPrefix("pip", prefix) {
		v, err := m.version(ctx, versionArgs{BinEnv: a.BinEnv, Cwd: a.Cwd})
		if err != nil {
			return nil, err
		}
		ret.Set("pip", v)
	}
	v, err := m.freeze(ctx, freezeArgs{BinEnv: a.BinEnv, User: a.User, Cwd: a.Cwd,
		EnvVars: a.EnvVars, Kwargs: a.Kwargs})
	if err != nil {
		return nil, err
	}
	for _, line := range v.([]any) {
		if name, version, ok := requirement(data.Str(line)); ok && begins(name, a.Prefix) {
			ret.Set(name, version)
		}
	}
	return ret, nil
}

func begins(name string, prefix any) bool {
	return !data.Truth(prefix) || strings.HasPrefix(strings.ToLower(name),
		strings.ToLower(data.Str(prefix)))
}

// requirement parses a line of pip freeze.
func requirement(line string) (name, version string, ok bool) {
	if strings.HasPrefix(line, "-f") || strings.HasPrefix(line, "#") {
		return "", "", false
	}
	if rest, editable := strings.CutPrefix(line, "-e "); editable {
		line = rest
		if where, egg, found := strings.Cut(line, "#egg="); found {
			return egg, where, true
		}
	}
	for _, separator := range []string{"===", "=="} {
		if name, version, ok := strings.Cut(line, separator); ok {
			return name, version, true
		}
	}
	return "", "", false
}

// A pack is an entry of pip list --format=json.
type pack struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Latest   string `json:"latest_version"`
	FileType string `json:"latest_filetype"`
}

func (m *module) packs(ctx context.Context, p place, args ...any) ([]pack, error) {
	ran, err := m.run(ctx, p, append([]any{"list"}, args...)...)
	said, err := output(ran, err)
	if err != nil {
		return nil, err
	}
	var list []pack
	if json.Unmarshal([]byte(said), &list) != nil {
		return nil, loader.ExecutionInfo("Invalid JSON", ran.Map)
	}
	return list, nil
}

// list returns the installed packages and their versions. With prefix, it returns only those whose
// name begins with it.
//
// CLI Example:
//
//	salt '*' pip.list salt
func (m *module) list(ctx context.Context, a listArgs) (any, error) {
	list, err := m.packs(ctx, place{a.BinEnv, a.User, a.Cwd, a.EnvVars, a.Kwargs}, "--format=json")
	if err != nil {
		return nil, err
	}
	ret := data.NewMap()
	for _, p := range list {
		if begins(p.Name, a.Prefix) {
			ret.Set(p.Name, p.Version)
		}
	}
	return ret, nil
}

type whereArgs struct {
	BinEnv any `default:"None"`
	User   any `default:"None"`
	Cwd    any `default:"None"`
}

// listUpgrades returns the outdated packages with the newest version and the type of its file.
//
// CLI Example:
//
//	salt '*' pip.list_upgrades
func (m *module) listUpgrades(ctx context.Context, a whereArgs) (any, error) {
	list, err := m.packs(ctx, place{binEnv: a.BinEnv, user: a.User, cwd: a.Cwd}, "--outdated",
		"--format=json")
	if err != nil {
		return nil, err
	}
	ret := data.NewMap()
	for _, p := range list {
		ret.Set(p.Name, p.Latest+" ["+p.FileType+"]")
	}
	return ret, nil
}

type isInstalledArgs struct {
	Pkgname any
	BinEnv  any `default:"None"`
	User    any `default:"None"`
	Cwd     any `default:"None"`
}

// isInstalled reports whether a package is installed.
//
// CLI Example:
//
//	salt '*' pip.is_installed salt
func (m *module) isInstalled(ctx context.Context, a isInstalledArgs) (any, error) {
	v, err := m.list(ctx, listArgs{Prefix: a.Pkgname, BinEnv: a.BinEnv, User: a.User, Cwd: a.Cwd})
	if err != nil {
		return nil, err
	}
	for name := range v.(*data.Map).All() {
		if strings.EqualFold(data.Str(name), data.Str(a.Pkgname)) {
			return true, nil
		}
	}
	return false, nil
}

type availableArgs struct {
	Pkg    any
	BinEnv any `default:"None"`
	User   any `default:"None"`
	Cwd    any `default:"None"`
}

// upgradeAvailable reports whether a newer version of a package is available.
//
// CLI Example:
//
//	salt '*' pip.upgrade_available salt
func (m *module) upgradeAvailable(ctx context.Context, a availableArgs) (any, error) {
	v, err := m.listUpgrades(ctx, whereArgs{a.BinEnv, a.User, a.Cwd})
	if err != nil {
		return nil, err
	}
	return v.(*data.Map).Has(data.Str(a.Pkg)), nil
}

type allVersionsArgs struct {
	Pkg           any
	BinEnv        any  `default:"None"`
	IncludeAlpha  bool `default:"False"`
	IncludeBeta   bool `default:"False"`
	IncludeRc     bool `default:"False"`
	User          any  `default:"None"`
	Cwd           any  `default:"None"`
	IndexURL      any  `name:"index_url" default:"None"`
	ExtraIndexURL any  `name:"extra_index_url" default:"None"`
}

// listAllVersions returns the versions of a package in an index, the oldest first. Pre-releases are
// left out unless they are requested. It returns None if there are no versions.
//
// CLI Example:
//
//	salt '*' pip.list_all_versions salt
func (m *module) listAllVersions(ctx context.Context, a allVersionsArgs) (any, error) {
	args := []any{}
	for _, one := range []struct {
		option string
		url    any
	}{{"--index-url", a.IndexURL}, {"--extra-index-url", a.ExtraIndexURL}} {
		if data.Truth(one.url) {
			if !isURL(data.Str(one.url)) {
				return nil, loader.Execution("'%s' is not a valid URL", data.Str(one.url))
			}
			args = append(args, one.option, data.Str(one.url))
		}
	}
	v, err := m.version(ctx, versionArgs{a.BinEnv, a.Cwd, a.User})
	if err != nil {
		return nil, err
	}
	pattern := `\s*Available versions: (.*)`
	if version := data.Str(v); pep440.Compare(version, "21.2") >= 0 {
		args = append(args, "index", "versions", data.Str(a.Pkg))
	} else {
		pattern = `\s*Could not find a version.* \(from versions: (.*)\)`
		if pep440.Compare(version, "20.3") >= 0 {
			args = append(args, "--use-deprecated=legacy-resolver")
		}
		args = append(args, "install", data.Str(a.Pkg)+"==versions")
	}
	more := data.NewMap("output_loglevel", "quiet", "redirect_stderr", true)
	ran, err := m.run(ctx, place{binEnv: a.BinEnv, user: a.User, cwd: a.Cwd, more: more}, args...)
	if err != nil {
		return nil, err
	}
	found := regexp.MustCompile(pattern).FindStringSubmatch(ran.Stdout)
	if found == nil {
		return nil, nil
	}
	return a.choose(found[1]), nil
}

// choose returns the requested versions of a list, nil if there are none.
func (a allVersionsArgs) choose(list string) any {
	var versions []string
	for version := range strings.SplitSeq(list, ", ") {
		early := !a.IncludeAlpha && strings.Contains(version, "a") || !a.IncludeBeta &&
			strings.Contains(version, "b") || !a.IncludeRc && strings.Contains(version, "rc")
		if version != "" && !early {
			versions = append(versions, version)
		}
	}
	if versions == nil {
		return nil
	}
	slices.SortStableFunc(versions, pep440.Compare)
	out := make([]any, len(versions))
	for i, version := range versions {
		out[i] = version
	}
	return out
}

// isURL reports whether a text is the URL of an index.
func isURL(s string) bool {
	scheme, rest, ok := strings.Cut(s, "://")
	return ok && rest != "" && slices.Contains([]string{"http", "https", "ftp", "file"},
		strings.ToLower(scheme))
}
