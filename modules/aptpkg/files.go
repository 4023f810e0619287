package aptpkg

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type packagesArgs struct {
	Packages []any     `args:"packages"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// fileList returns the files of packages. Without names it returns those of all packages.
//
// CLI Example:
//
//	salt '*' pkg.file_list httpd
//	salt '*' pkg.file_list httpd postfix
//	salt '*' pkg.file_list
func (m *module) fileList(ctx context.Context, a packagesArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.file_list", a.Packages, nil)
}

// fileDict returns a dictionary of packages and their files. Without names it covers all packages.
//
// CLI Example:
//
//	salt '*' pkg.file_dict httpd
//	salt '*' pkg.file_dict httpd postfix
//	salt '*' pkg.file_dict
func (m *module) fileDict(ctx context.Context, a packagesArgs) (any, error) {
	return m.env.Call(ctx, "lowpkg.file_dict", a.Packages, nil)
}

type pathsArgs struct {
	Paths  []any     `args:"paths"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// owner returns the package that owns a file, or "" if there is none. For several files it returns
// a dictionary.
//
// CLI Example:
//
//	salt '*' pkg.owner /usr/bin/apachectl
//	salt '*' pkg.owner /usr/bin/apachectl /usr/bin/basename
func (m *module) owner(ctx context.Context, a pathsArgs) (any, error) {
	if len(a.Paths) == 0 {
		return "", nil
	}
	owners := &data.Map{}
	if err := packages.Names(a.Paths...); err != nil {
		return nil, err
	}
	for _, path := range a.Paths {
		o, err := packages.Run(ctx, m.env, calls.Run{}, "dpkg", "-S", path)
		if err != nil {
			return nil, err
		}
		owners.Set(path, parseOwner(o.Stdout))
	}
	return packages.Alone(owners), nil
}

// parseOwner parses lines of packages and a path.
func parseOwner(text string) string {
	for line := range strings.Lines(text) {
		if owner, _, ok := strings.Cut(line, ":"); ok &&
			!strings.HasPrefix(line, "diversion by ") &&
			!strings.HasPrefix(line, "local diversion ") {
			return owner
		}
	}
	return ""
}

type namesArgs struct {
	Names  []any     `args:"names"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// show returns what apt-cache knows about packages, by name and version.
//
// filter
//
//	Only these fields, separated by commas.
//
// refresh : False
//
//	Refresh the package lists first.
//
// CLI Example:
//
//	salt myminion pkg.show gawk
//	salt myminion pkg.show 'nginx-*'
//	salt myminion pkg.show 'nginx-*' filter=description,provides
func (m *module) show(ctx context.Context, a namesArgs) (any, error) {
	kwargs := packages.Own(a.Kwargs)
	refresh, fields := packages.Take(kwargs, "refresh", false),
		fieldNames(packages.Take(kwargs, "filter", nil))
	if err := loader.Unknown(kwargs); err != nil {
		return nil, err
	}
	if data.Truth(refresh) {
		if _, err := m.refresh(ctx, nil, false); err != nil {
			return nil, err
		}
	}
	if len(a.Names) == 0 {
		return &data.Map{}, nil
	}
	if err := packages.Names(a.Names...); err != nil {
		return nil, err
	}
	o, err := m.apt(ctx, calls.Run{}, append([]any{"apt-cache", "show"}, a.Names...)...)
	if err != nil {
		return nil, err
	}
	return parseShow(o.Stdout, fields), nil
}

func fieldNames(v any) []string {
	var fields []string
	switch v := v.(type) {
	case string:
		fields = loader.SplitInput(v)
	case []any:
		fields = data.Texts(v)
	}
	for i, f := range fields {
		fields[i] = strings.ToLower(f)
	}
	return fields
}

// parseShow parses the output of apt-cache show. Continuation lines of a field are left out, as in
// Salt.
func parseShow(text string, fields []string) *data.Map {
	found, one := &data.Map{}, &data.Map{}
	add := func() {
		name, version := packages.Take(one, "Package", nil), packages.Take(one, "Version", nil)
		if name != nil && version != nil {
			versions, _ := found.Value(name).(*data.Map)
			if versions == nil {
				versions = &data.Map{}
			}
			if known, ok := versions.Value(version).(*data.Map); ok {
				known.Update(one)
			} else {
				versions.Set(version, one)
			}
			found.Set(name, versions)
		}
		one = &data.Map{}
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			add()
			continue
		}
		if key, value, ok := strings.Cut(line, ":"); ok && shown(strings.TrimSpace(key), fields) {
			one.Set(strings.TrimSpace(key), strings.TrimSpace(value))
		}
	}
	add()
	return found
}

func shown(key string, fields []string) bool {
	key = strings.ToLower(key)
	return len(fields) == 0 || key == "package" || key == "version" || slices.Contains(fields, key)
}

// infoInstalled returns information on installed packages.
//
// failhard : True
//
//	Fail if one of them is not installed.
//
// CLI Example:
//
//	salt '*' pkg.info_installed <package1>
//	salt '*' pkg.info_installed <package1> <package2> <package3> ...
//	salt '*' pkg.info_installed <package1> failhard=false
func (m *module) infoInstalled(ctx context.Context, a namesArgs) (any, error) {
	kwargs := packages.Own(a.Kwargs)
	failhard := packages.Take(kwargs, "failhard", true)
	if err := loader.Unknown(kwargs); err != nil {
		return nil, err
	}
	all, err := calls.PackageInfo(ctx, m.env, a.Names, data.NewMap("failhard", failhard))
	if err != nil {
		return nil, err
	}
	out := &data.Map{}
	for name, info := range all.All() {
		if one, ok := info.(*data.Map); ok && there(one) {
			out.Set(name, common(one))
		}
	}
	return out, nil
}

func there(info *data.Map) bool {
	status, ok := info.Value("status").(string)
	return !ok || len(status) > 1 && status[1] == 'i'
}

// common returns dpkg's information on a package under the names that all package managers share.
func common(info *data.Map) *data.Map {
	names := map[any]any{"package": "name", "origin": "vendor", "section": "group",
		"maintainer": "packager", "homepage": "url"}
	out := &data.Map{}
	for key, v := range info.All() {
		if name, ok := names[key]; ok {
			key = name
		}
		if key != "status" {
			out.Set(key, v)
		}
	}
	return out
}

type rootArgs struct {
	Root   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// listDownloaded returns the package files that apt has downloaded: path, size and time by name and
// version.
//
// root
//
//	An alternative root directory.
//
// CLI Example:
//
//	salt '*' pkg.list_downloaded
func (m *module) listDownloaded(ctx context.Context, a rootArgs) (any, error) {
	dir := m.path("/var/cache/apt")
	if data.Truth(a.Root) {
		dir = filepath.Join(data.Str(a.Root), "var/cache/apt")
	}
	found := &data.Map{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".deb" ||
			filepath.Base(filepath.Dir(path)) == "partial" {
			return nil //nolint:nilerr // an unreadable directory counts as empty
		}
		return m.downloaded(ctx, found, path, entry)
	})
	return found, err
}

// downloaded adds one file to the downloaded packages.
func (m *module) downloaded(
	ctx context.Context, found *data.Map, path string, entry fs.DirEntry,
) error {
	info, err := entry.Info()
	if err != nil {
		return loader.OSError(err)
	}
	about, ok, err := calls.BinPkgInfo(ctx, m.env, path)
	if err != nil || !ok {
		return err
	}
	packages.AddDownloaded(found, about, path, info.Size(), changed(info).UTC())
	return nil
}

type noArgs struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}

// servicesNeedRestart returns the services that still run with replaced files. It needs the program
// checkrestart of the package debian-goodies.
//
// CLI Example:
//
//	salt '*' pkg.services_need_restart
func (m *module) servicesNeedRestart(ctx context.Context, _ noArgs) (any, error) {
	there, err := loader.CallAs[bool](ctx, m.env, "cmd.which", []any{"checkrestart"}, nil)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, loader.NotFound("'checkrestart' is needed. It is part of the 'debian-goodies' package which can be installed from official repositories.")
	}
	o, err := packages.Run(ctx, m.env, calls.Run{}, "checkrestart", "--machine", "--package")
	return data.Values(parseRestarts(o.Stdout)), err
}

// parseRestarts parses lines such as SERVICE:rsyslog,385,/usr/sbin/rsyslogd.
func parseRestarts(text string) []string {
	var services []string
	for line := range strings.Lines(text) {
		if line, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "SERVICE:"); ok {
			name, _, _ := strings.Cut(line, ",")
			services = append(services, name)
		}
	}
	slices.Sort(services)
	return slices.Compact(services)
}
