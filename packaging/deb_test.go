package packaging

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/internal/sources"
	"github.com/brineproject/brine/internal/test/need"
)

// TestDebLifecycle tests installation, upgrade and removal of the packages of two versions in a
// Debian system: scripts/deb-test.sh.
func TestDebLifecycle(t *testing.T) {
	need.Time(t, "it builds the packages of two versions")
	requires(t, true, "debootstrap", "dpkg-deb", "ip", "make", "unshare")
	dir := t.TempDir()
	for _, version := range []string{"v0.1.0", "v0.2.0"} {
		out := filepath.Join(dir, version)
		in(t, sources.Root(t), "make", "-s", "deb", "DIST="+out, "VERSION="+version)
		if err := os.RemoveAll(files(t, out, "linux-*")[0]); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(out, "VERSION"), []byte(version+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Log(in(t, sources.Root(t), "sh", "scripts/deb-test.sh", filepath.Join(dir, "v0.1.0"),
		filepath.Join(dir, "v0.2.0")))
}
