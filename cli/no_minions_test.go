package cli

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// TestReasonForJobWithoutMinions checks the message for a job without minions: that none matched if
// that is so, or else the error.
func TestReasonForJobWithoutMinions(t *testing.T) {
	const noMinions = "No minions matched the target. No command was sent, no jid was assigned.\n"
	const full = "The job was not published since it cannot be recorded: database or disk is full"
	for _, tt := range []struct {
		name, target, kind, text string
		async                    bool
		stdout, stderr           string
		code                     int
	}{
		{"nobody", "zz*", "glob", unresolved + "zz*", false, noMinions,
			"ERROR: No return received\n", exitNoReturn},
		{"not recorded", "*", "glob", full, false, "", "ERROR: " + full + "\n", exitNoReturn},
		{"not recorded, without waiting", "*", "glob", full, true, "", "ERROR: " + full + "\n", exitOK},
		{"a circle", "a", "nodegroup", unresolved + "or: malformed target", false, noMinions,
			"circular node groups: a names b names a: malformed target\nERROR: No return received\n", exitNoReturn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, err bytes.Buffer
			opts := data.NewMap("color", false, "output", nil)
			in := Invocation{Env: func(string) string { return "" }}
			s := &saltRun{o: &SaltOptions{Target: tt.target, TargetKind: tt.kind, Async: tt.async},
				opts: opts, in: in,
				cfg: &config.Master{MasterAccess: config.MasterAccess{Nodegroups: data.NewMap("a",
					"N@b or x", "b", "N@a")}}}
			s.out = &Printer{stdout: bufio.NewWriter(&out), stderr: &err}
			r := client.Request{Target: "or", Kind: "compound"}
			if tt.kind == "glob" {
				r = client.Request{Target: tt.target, Kind: tt.kind}
			}
			code := s.noMinions(&client.NoMinionsError{Text: tt.text}, r)
			if e := s.out.Flush(); e != nil {
				t.Fatal(e)
			}
			if out.String() != tt.stdout || err.String() != tt.stderr || code != tt.code {
				t.Errorf("code %d\n%s%swant %d\n%s%s", code, out.String(), err.String(), tt.code,
					tt.stdout, tt.stderr)
			}
		})
	}
}
