package rpm

import (
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
)

// VersionCmp implements version_cmp of pkg and lowpkg: -1, 0 or 1. If ignoreEpoch is true it
// compares the parts after the first colon of each version.
func VersionCmp(a, b, ignoreEpoch any) int64 {
	x, y := data.Str(a), data.Str(b)
	if data.Truth(ignoreEpoch) {
		x, y = packages.WithoutEpoch(x), packages.WithoutEpoch(y)
	}
	return int64(CompareEVR(x, y))
}

// ParseArch implements pkg.parse_arch: a dictionary of name and arch, which is None if the name has
// none.
func ParseArch(name string) *data.Map {
	bare, arch := SplitArch(name, true)
	if arch == "" {
		return data.NewMap("name", bare, "arch", nil)
	}
	return data.NewMap("name", bare, "arch", arch)
}
