package testsalt_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/testsalt"
)

// TestMinionsKeepBelowTheirFolder checks that no option of a test's minion leads into the caches of
// this host.
func TestMinionsKeepBelowTheirFolder(t *testing.T) {
	dir := t.TempDir()
	opts := testsalt.MinionConfig(dir, "web1", "127.0.0.1:4506").Map()
	for _, name := range []string{"cachedir", "extension_modules", "pki_dir", "sock_dir", "conf_file"} {
		if got := opts.Text(name); !strings.HasPrefix(got, dir) {
			t.Errorf("%s is %s, not below %s", name, got, dir)
		}
	}
}
