// Package rpm handles RPM's versions, architectures and names of packages, for the modules of
// RPM-based package managers (salt/utils/pkg/rpm.py; rpmvercmp of RPM).
package rpm

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
)

// Format is the query format of a line for Parse, without the line end. Installed packages have no
// repository.
const Format = "%{NAME}_|-%{EPOCH}_|-%{VERSION}_|-%{RELEASE}_|-%{ARCH}_|-(none)_|-%{INSTALLTIME}"

// Info describes one version of a package.
type Info struct {
	Name    string // includes the architecture if it is not the host's
	Version string // EPOCH:VERSION-RELEASE
	Arch    string
	RepoID  string
	Date    any // when it was installed, in UTC; nil if it is not
	Time    any // the same in seconds since 1970
}

// Parse parses a line of Format. ok is false if it is invalid.
func Parse(line, osArch string) (i Info, ok bool) {
	f := strings.Split(line, "_|-")
	if len(f) != 7 {
		return Info{}, false
	}
	i = Info{Name: Resolve(f[0], f[4], osArch), Version: f[2], Arch: f[4], RepoID: f[5]}
	if f[3] != "" {
		i.Version += "-" + f[3]
	}
	if f[1] != "(none)" && f[1] != "0" {
		i.Version = f[1] + ":" + i.Version
	}
	if n, err := strconv.ParseInt(strings.TrimSpace(f[6]), 10, 64); err == nil && n != 0 {
		i.Date, i.Time = time.Unix(n, 0).UTC().Format("2006-01-02T15:04:05")+"Z", n
	}
	return i, true
}

// Resolve returns Salt's name of a package: the architecture is appended if it is not the host's.
func Resolve(name, arch, osArch string) string {
	if Both32(arch, osArch) || arch == osArch || arch == "noarch" {
		return name
	}
	return name + "." + arch
}

// Arches returns all architectures except noarch.
func Arches() []string {
	return strings.Fields("x86_64 athlon amd64 ia32e ia64 geode i386 i486 i586 i686 ppc ppc64 ppc64le ppc64iseries ppc64pseries s390 s390x " +
		"alpha alphaev4 alphaev45 alphaev5 alphaev56 alphapca56 alphaev6 alphaev67 alphaev68 alphaev7 " +
		"armv5tel armv5tejl armv6l armv6hl armv7l armv7hl armv7hnl aarch64 sh3 sh4 sh4a")
}

// Both32 reports whether two architectures are 32-bit and of one family.
func Both32(a, b string) bool {
	x86 := strings.Fields("i386 i486 i586 i686")
	arm := strings.Fields("armv5tel armv5tejl armv6l armv6hl armv7l armv7hl armv7hnl")
	return slices.Contains(x86, a) && slices.Contains(x86, b) || slices.Contains(arm, a) &&
		slices.Contains(arm, b)
}

// SplitArch splits the architecture off a name; it is "" if there is none. noarch says whether
// noarch counts as one.
func SplitArch(name string, noarch bool) (bare, arch string) {
	i := strings.LastIndex(name, ".")
	if i < 0 {
		return name, ""
	}
	arch = name[i+1:]
	if slices.Contains(Arches(), arch) || noarch && arch == "noarch" {
		return name[:i], arch
	}
	return name, ""
}

// Normalize removes the architecture from a name if it is the host's.
func Normalize(name, osArch string) string {
	bare, arch := SplitArch(name, true)
	if arch != "" && (arch == osArch || arch == "noarch" || Both32(arch, osArch)) {
		return bare
	}
	return name
}

// ParseInstalled parses lines of Format. Each name has a list of dictionaries with epoch, version,
// release, arch, install_date and install_date_time_t, sorted by version.
func ParseInstalled(text, osArch string) *data.Map {
	all := &data.Map{}
	for line := range strings.SplitSeq(text, "\n") {
		i, ok := Parse(line, osArch)
		if !ok {
			continue
		}
		var epoch, release any
		version := i.Version
		if e, v, ok := strings.Cut(version, ":"); ok {
			epoch, version = e, v
		}
		if v, r, ok := strings.Cut(version, "-"); ok {
			version, release = v, r
		}
		list, _ := all.Value(i.Name).([]any)
		all.Set(i.Name, append(list, data.NewMap("epoch", epoch, "version", version,
			"release", release, "arch", i.Arch, "install_date", i.Date,
			"install_date_time_t", i.Time)))
	}
	for _, v := range all.All() {
		slices.SortStableFunc(v.([]any), func(a, b any) int {
			return strings.Compare(a.(*data.Map).Text("version"), b.(*data.Map).Text("version"))
		})
	}
	return all
}
