package saltswarm

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/cli"
)

// TestWrongCommandLines checks that an invalid command line is reported and ends with 64, as in
// Salt's programs; a swarm that cannot be created ends with 1.
func TestWrongCommandLines(t *testing.T) {
	for _, tt := range []struct {
		line, want string
		code       int
	}{
		{"junk", `no argument "junk"`, 64},
		{"--nosuch", "-nosuch", 64},
		{"--count many", `"many"`, 64},
		{"--transport ipc", `invalid value "ipc"; use tcp or zeromq`, 64},
		{"--count 0", "at least one minion", 64},
		{"--like 2015.8", "--like: ", 64},
		{"--sources 127.0.0.2-127.0.0.1", "--sources: ", 64},
		{"--protocol2 101", "--protocol2: ", 64},
		{"--count 1 --master nohost", "nohost", 1},
		{"--count 1 --masters 127.0.0.1:1,nohost", "nohost", 1},
	} {
		var out, errs bytes.Buffer
		in := cli.Invocation{Args: strings.Fields(tt.line), Dir: t.TempDir(),
			Env: func(string) string { return "" }}
		if code := Run(t.Context(), in, &out, &errs); code != tt.code ||
			!strings.Contains(errs.String(), tt.want) {
			t.Errorf("salt-swarm %s: code %d, want %d; standard error %q lacks %q", tt.line, code,
				tt.code, errs.String(), tt.want)
		}
	}
}

// TestSwarmWithoutMaster runs a swarm without a master: the report asks for one once.
func TestSwarmWithoutMaster(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &reports{stop: cancel, after: 4}
	var errs bytes.Buffer
	in := cli.Invocation{
		Args: strings.Fields("--count 1 --master 127.0.0.1:1 --for 1m --report 10ms"),
		Dir:  t.TempDir(), Env: func(string) string { return "" },
	}
	Run(ctx, in, out, &errs)
	if n := strings.Count(out.String(), "does a master listen on 127.0.0.1:1,"); n != 1 {
		t.Errorf("it asks %d times for a master: %q, %q", n, out.String(), errs.String())
	}
}

// reports keeps the reports of a swarm, and stops it after some.
type reports struct {
	bytes.Buffer
	stop  func()
	after int
}

func (r *reports) Write(b []byte) (int, error) {
	n, err := r.Buffer.Write(b)
	if strings.Count(r.String(), "signed in") > r.after {
		r.stop()
	}
	return n, err
}
