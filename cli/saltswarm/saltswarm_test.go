package saltswarm

import (
	"bytes"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli"
)

// TestWrongCommandLines checks that a wrong command line ends with 64, as in Salt's programs, and is told; a crowd that cannot be made ends
// with 1.
func TestWrongCommandLines(t *testing.T) {
	for _, tt := range []struct {
		line, want string
		code       int
	}{
		{"junk", `no argument "junk"`, 64},
		{"--nosuch", "-nosuch", 64},
		{"--count many", `"many"`, 64},
		{"--transport ipc", `"ipc" is none of tcp, zeromq`, 64},
		{"--like 2015.8", "--like: ", 64},
		{"--count 1 --master nohost", "nohost", 1},
	} {
		var out, errs bytes.Buffer
		in := cli.Invocation{Args: strings.Fields(tt.line), Dir: t.TempDir(), Env: func(string) string { return "" }}
		if code := Run(t.Context(), in, &out, &errs); code != tt.code || !strings.Contains(errs.String(), tt.want) {
			t.Errorf("salt-swarm %s: code %d, want %d; standard error %q lacks %q", tt.line, code, tt.code, errs.String(), tt.want)
		}
	}
}
