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
		{"--count 0", "one minion at least", 64},
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

// TestNobodySignsIn lets a crowd come where no master listens: the report asks for one, once.
func TestNobodySignsIn(t *testing.T) {
	var out, errs bytes.Buffer
	in := cli.Invocation{
		Args: strings.Fields("--count 1 --master 127.0.0.1:1 --for 300ms --report 50ms"), Dir: t.TempDir(), Env: func(string) string { return "" },
	}
	Run(t.Context(), in, &out, &errs)
	if n := strings.Count(out.String(), "does a master listen on 127.0.0.1:1,"); n != 1 {
		t.Errorf("it asks %d times for a master: %q, %q", n, out.String(), errs.String())
	}
}
