package packaging

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/sources"
)

// TestPackageVersionsSort checks that package versions sort in the order of git's descriptions of
// the commits.
func TestPackageVersionsSort(t *testing.T) {
	for system, newer := range map[string]func(t *testing.T, a, b string) bool{"dpkg": newerDeb, "rpm": newerRPM} {
		t.Run(system, func(t *testing.T) {
			requires(t, false, system)
			older := ""
			for _, described := range []string{
				"1234567", "v0.9.0-rc1", "v0.9.0-rc1-3-gabcdef0", "v0.9.0-rc2", "v0.9.0",
				"v0.9.0-2-gfedcba9", "v0.9.0-10-gabcdef0", "v0.9.0-10-gabcdef0-dirty",
				"v0.10.0-rc1", "v0.10.0",
			} {
				version := strings.TrimSpace(in(t, sources.Root(t), "sh", "scripts/version.sh", described))
				if older != "" && !newer(t, version, older) {
					t.Errorf("%s (%s) is not newer than %s", version, described, older)
				}
				older = version
			}
		})
	}
}

func newerDeb(t *testing.T, a, b string) bool {
	out := in(t, ".", "sh", "-c", fmt.Sprintf("dpkg --compare-versions '%s' gt '%s' && echo yes || echo no", a, b))
	return out == "yes\n"
}

func newerRPM(t *testing.T, a, b string) bool {
	return in(t, ".", "rpm", "--eval", fmt.Sprintf("%%{lua: print(rpm.vercmp('%s', '%s'))}", a, b)) == "1\n"
}

// TestVersionOutsideGit checks that sources from an archive know their version.
func TestVersionOutsideGit(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "VERSION"), []byte("v1.2.3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	if got := in(t, dir, "sh", filepath.Join(sources.Root(t), "scripts/version.sh")); got != "v1.2.3\n" {
		t.Errorf("version.sh says %q", got)
	}
}
