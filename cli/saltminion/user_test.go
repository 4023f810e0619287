package saltminion

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli"
)

// TestUnknownUserIsReported starts a minion as a user that does not exist, with a log level that
// hides errors.
func TestUnknownUserIsReported(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "minion"),
		[]byte("id: m\nuser: no such user\nroot_dir: "+dir+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{"critical", "quiet"} {
		var stdout, stderr bytes.Buffer
		in := cli.Invocation{Args: []string{"-c", dir, "--log-level=" + level},
			Env: func(string) string { return "" }, Dir: dir}
		code := Run(t.Context(), in, &stdout, &stderr)
		if want := "The user is not available.\n"; code != 67 ||
			!strings.HasSuffix(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("--log-level=%s: code %d, standard error %q, standard output %q", level, code,
				stderr.String(), stdout.String())
		}
	}
}
