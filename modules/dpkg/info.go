package dpkg

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// end terminates each package in the output of dpkg-query. It does not end in white space, which
// cmd would strip.
const end = "\x1e."

// format makes dpkg-query print all fields that info returns.
const format = "package:${Package}\nrevision:${binary:Revision}\narchitecture:${Architecture}\nmaintainer:${Maintainer}\n" +
	"summary:${Summary}\nsource:${source:Package}\nversion:${Version}\nsection:${Section}\nsize:${Size}\nMD5:${MD5sum}\n" +
	"SHA1:${SHA1}\nSHA256:${SHA256}\norigin:${Origin}\nhomepage:${Homepage}\nstatus:${db:Status-Abbrev}\n" +
	"description:${Description}\n\n" + end

// info returns information on packages. Without names it covers all packages that dpkg knows.
//
// failhard : True
//
//	Fail if dpkg does not know one of them; with False the result is empty then.
//
// CLI Example:
//
//	salt '*' lowpkg.info
//	salt '*' lowpkg.info apache2 bash
//	salt '*' lowpkg.info 'php5*' failhard=false
func (m *module) info(ctx context.Context, a kwPackagesArgs) (any, error) {
	kwargs := packages.Own(a.Kwargs)
	failhard := data.Truth(packages.Take(kwargs, "failhard", true))
	if err := loader.Unknown(kwargs); err != nil {
		return nil, err
	}
	if err := packages.Names(a.Packages...); err != nil {
		return nil, err
	}
	o, err := packages.Run(ctx, m.env, calls.Run{},
		append([]any{"dpkg-query", "-W", "-f=" + format}, a.Packages...)...)
	switch {
	case err != nil:
		return nil, err
	case o.Retcode != 0 && failhard:
		return nil, loader.Execution("Error getting packages information: %s", o.Stderr)
	case o.Retcode != 0:
		return &data.Map{}, nil
	}
	all := &data.Map{}
	for _, one := range parseInfo(o.Stdout) {
		m.complete(one)
		all.Set(one.Text("package"), one)
	}
	return all, nil
}

// parseInfo parses packages in the form of format.
func parseInfo(text string) []*data.Map {
	var all []*data.Map
	for part := range strings.SplitSeq(text, end) {
		head, description, _ := strings.Cut(part, "\ndescription:")
		one := &data.Map{}
		for line := range strings.Lines(head) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && value != "" {
				one.Set(key, value)
			}
		}
		if one.Has("package") {
			one.Set("description", strings.TrimSuffix(description, "\n"))
			all = append(all, one)
		}
	}
	return all
}

// complete adds the installation time of a package, and its license.
func (m *module) complete(one *data.Map) {
	name := one.Text("package")
	if at := m.installedAt(name, one.Text("architecture")); at != "" {
		one.Set("install_date", at)
	}
	if licence := m.licence(name); licence != "" {
		one.Set("license", licence)
	}
}

// installedAt returns when the file list of a package was written. For a package that may be
// installed for several architectures, the name of that file has the architecture.
func (m *module) installedAt(name, arch string) string {
	for _, file := range []string{name, name + ":" + arch} {
		if info, err := os.Stat(m.path("/var/lib/dpkg/info/" + file + ".list")); err == nil {
			return info.ModTime().UTC().Format("2006-01-02T15:04:05") + "Z"
		}
	}
	return ""
}

// licence returns the licenses named in the copyright file of a package.
func (m *module) licence(name string) string {
	text, err := os.ReadFile(m.path("/usr/share/doc/" + name + "/copyright"))
	if err != nil {
		return ""
	}
	var all []string
	for line := range strings.Lines(strings.ToValidUTF8(string(text), "")) {
		if licence, ok := strings.CutPrefix(line, "License:"); ok {
			all = append(all, strings.TrimSpace(licence))
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}
