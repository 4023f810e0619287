package cli_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltcall"
)

// TestScripts runs commands of operators without a master, including mistakes. The command
//
//	exits CODE PROGRAM ARGUMENT...
//
// runs a program in this process.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/scripts",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exits CODE PROGRAM ARGUMENT...")
				}
				want, err := strconv.Atoi(args[0])
				ts.Check(err)
				if code := runProgram(ts, args[1], args[2:]); code != want {
					ts.Fatalf("exit code %d, want %d", code, want)
				}
			},
		},
	})
}

func runProgram(ts *testscript.TestScript, name string, args []string) int {
	in := cli.Invocation{Args: args, Env: ts.Getenv, Dir: ts.MkAbs("."), Stdin: strings.NewReader("")}
	switch name {
	case "salt":
		return cli.Salt(context.Background(), in, ts.Stdout(), ts.Stderr())
	case "salt-call":
		return saltcall.Run(context.Background(), in, ts.Stdout(), ts.Stderr())
	}
	ts.Fatalf("program %s", name)
	return 0
}
