package rpm

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// An attribute is a value that lowpkg.info returns, and its format in rpm's query.
type attribute struct{ name, format string }

// attributes returns all attributes in query order. The description comes last because it has
// several lines.
func attributes(sizeTag string) []attribute {
	installed := `%|INSTALLTIME?{%{INSTALLTIME}}:{(not installed)}|\n`
	return []attribute{
		{"name", `name: %{NAME}\n`},
		{"relocations", `relocations: %|PREFIXES?{[%{PREFIXES} ]}:{(not relocatable)}|\n`},
		{"version", `version: %{VERSION}\n`},
		{"vendor", `vendor: %{VENDOR}\n`},
		{"release", `release: %{RELEASE}\n`},
		{"epoch", `%|EPOCH?{epoch: %{EPOCH}\n}|`},
		{"build_date_time_t", `build_date_time_t: %{BUILDTIME}\n`},
		{"build_date", `build_date: %{BUILDTIME}\n`},
		{"install_date_time_t", `install_date_time_t: ` + installed},
		{"install_date", `install_date: ` + installed},
		{"build_host", `build_host: %{BUILDHOST}\n`},
		{"group", `group: %{GROUP}\n`},
		{"source_rpm", `source_rpm: %{SOURCERPM}\n`},
		{"size", `size: %{` + sizeTag + `}\n`},
		{"arch", `arch: %{ARCH}\n`},
		{"license", `%|LICENSE?{license: %{LICENSE}\n}|`},
		{"signature", `signature: %|DSAHEADER?{%{DSAHEADER:pgpsig}}:{%|RSAHEADER?{%{RSAHEADER:pgpsig}}:{%|SIGGPG?{%{SIGGPG:pgpsig}}:` +
			`{%|SIGPGP?{%{SIGPGP:pgpsig}}:{(none)}|}|}|}|\n`},
		{"packager", `%|PACKAGER?{packager: %{PACKAGER}\n}|`},
		{"url", `%|URL?{url: %{URL}\n}|`},
		{"summary", `summary: %{SUMMARY}\n`},
		{"edition", `edition: %|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\n`},
		{"description", `description:\n%{DESCRIPTION}\n`},
	}
}

// info returns the details of the given packages, or of all installed packages, by name.
//
// attr
//
//	The attributes to return, separated by commas: version, vendor, release, build_date,
//	build_date_time_t, install_date, install_date_time_t, build_host, group, source_rpm, arch,
//	epoch, size, license, signature, packager, url, summary, description, relocations, edition.
//	Default: all.
//
// all_versions
//
//	True: a list of all installed versions instead of only the newest.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' lowpkg.info apache2 bash attr=version,build_date_time_t
func (m *module) info(ctx context.Context, a packagesArgs) (any, error) {
	tags, err := packages.Run(ctx, m.env, calls.Run{}, "rpm", "--querytags")
	if err != nil {
		return nil, err
	}
	size := "SIZE"
	if slices.Contains(lines(tags.Stdout), "LONGSIZE") {
		size = "LONGSIZE"
	}
	format, err := query(attributes(size), a.Kwargs.Text("attr"))
	if err != nil {
		return nil, err
	}
	if err := packages.Names(a.Packages...); err != nil {
		return nil, err
	}
	args := []any{"-qa"}
	if len(a.Packages) > 0 {
		args = append([]any{"-q"}, a.Packages...)
	}
	utc := calls.Run{IgnoreRetcode: true, Env: data.NewMap("TZ", "UTC")}
	out, err := m.rpm(ctx, a.Kwargs, utc, append(args, "--queryformat", format+`-----\n`)...)
	if err != nil {
		return nil, err
	}
	return m.packages(out.Stdout, data.Truth(a.Kwargs.Value("all_versions"))), nil
}

// query returns the query for the named attributes, or for all. Name and edition are always
// included.
func query(all []attribute, attr string) (string, error) {
	if attr == "" {
		return join(all), nil
	}
	names := strings.Split(attr, ",")
	wanted := slices.DeleteFunc(slices.Clone(all),
		func(a attribute) bool { return !slices.Contains(names, a.name) })
	if !slices.ContainsFunc(wanted, func(a attribute) bool { return a.name != "description" }) {
		return "", loader.Execution("No valid attributes found.")
	}
	names = append(names, "name", "edition")
	return join(slices.DeleteFunc(slices.Clone(all),
		func(a attribute) bool { return !slices.Contains(names, a.name) })), nil
}

func join(attributes []attribute) string {
	var b strings.Builder
	for _, a := range attributes {
		b.WriteString(a.format)
	}
	return b.String()
}

// packages parses rpm's output into packages by name: the newest edition of each, or all.
func (m *module) packages(text string, all bool) *data.Map {
	var list []*data.Map
	for _, part := range parts(text) {
		if p := m.parsePackage(part); p.Has("name") {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b *data.Map) int { return packages.Loose(b.Text("edition"), a.Text("edition")) })
	ret := &data.Map{}
	for _, p := range list {
		name := p.Text("name")
		p.Delete("name")
		if !all {
			p.Delete("edition")
		}
		known, _ := ret.Value(name).([]any)
		switch {
		case strings.HasPrefix(name, "gpg-pubkey"):
		case all:
			ret.Set(name, append(known, p))
		case !ret.Has(name):
			ret.Set(name, p)
		}
	}
	return ret
}

// parts splits a text at lines of minus signs and drops empty parts.
func parts(text string) [][]string {
	var all [][]string
	var part []string
	for _, line := range append(lines(text), "-----") {
		if line != "-----" {
			part = append(part, line)
			continue
		}
		if strings.TrimSpace(strings.Join(part, "")) != "" {
			all = append(all, part)
		}
		part = nil
	}
	return all
}

// parsePackage parses rpm's output for one package.
func (m *module) parsePackage(part []string) *data.Map {
	p := &data.Map{}
	for i, line := range part {
		key, value, ok := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !ok:
		case key == "description":
			p.Set(key, strings.TrimRight(strings.Join(part[i+1:], "\n"), "\n"))
			return p
		case strings.HasSuffix(key, "_date") || strings.HasSuffix(key, "_date_time_t"):
			m.setTime(p, key, value)
		case value != "":
			p.Set(key, value)
		}
	}
	return p
}

func (m *module) setTime(p *data.Map, key, value string) {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil:
		m.env.Log.Warnf("Could not convert \"%s\" into Unix time", value)
	case strings.HasSuffix(key, "_t"):
		p.Set(key, n)
	default:
		p.Set(key, time.Unix(n, 0).UTC().Format("2006-01-02T15:04:05")+"Z")
	}
}
