package redis

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/brineproject/brine/data"
)

// openNothing is the environment variable that makes the test open a server that does not exist, in
// a process of its own.
const openNothing = "BRINE_TEST_OPEN_NOTHING"

// TestLibraryDoesNotBypassTheLog opens a server that does not exist: the error says so, and the
// client library writes nothing.
func TestLibraryDoesNotBypassTheLog(t *testing.T) {
	if os.Getenv(openNothing) != "" {
		if _, err := Open(t.Context(),
			data.NewMap("redis.host", "127.0.0.1", "redis.port", int64(1)), Options{}); err == nil {
			t.Error("a server listens on port 1")
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), openNothing+"=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		t.Errorf("%v, standard error has %q", err, errs.String())
	}
}
