//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

// A user who may not open the bus is shown the owner of the socket, not the option, which defaults
// to the running user.
func TestNoEntryNamesTheUserOfTheSocket(t *testing.T) {
	file := filepath.Join(t.TempDir(), "master_event_pub.ipc")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := userName()
	if os.Getuid() == 0 {
		if err := os.Chown(file, 54321, 0); err != nil {
			t.Fatal(err)
		}
		want = "54321"
	}
	for _, path := range []string{file, filepath.Join(file, "behind")} {
		var stdout, stderr bytes.Buffer
		opts := data.NewMap("user", "somebody")
		out, err := (&Line{}).NewPrinter(opts, "", &stdout, &stderr)
		if err != nil {
			t.Fatal(err)
		}
		HostProgram{Opts: opts, Out: out}.ReportDeniedBus(fmt.Errorf("dial: %w",
			&fs.PathError{Op: "dial", Path: path, Err: fs.ErrPermission}))
		if !strings.Contains(stderr.String(), "Only the user of the master ("+want+") and") {
			t.Errorf("%s: %q, want the user %s", path, stderr.String(), want)
		}
	}
}
