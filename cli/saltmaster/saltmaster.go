// Package saltmaster is the program salt-master. It is separate from package cli so that other
// programs need not link the master's code.
package saltmaster

import (
	"context"
	"io"

	"github.com/brineproject/brine/cli"
)

// Run runs the program and returns its exit code.
func Run(ctx context.Context, in cli.Invocation, stdout, stderr io.Writer) int {
	o, err := cli.ParseMaster(in)
	if err != nil {
		return cli.PrintError(err, stdout, stderr)
	}
	cli.Preface(o.Line, stderr)
	p, err := newProgram(in, o)
	if err != nil {
		return cli.Refuse("salt-master", o.Line, err, stderr)
	}
	return p.daemon.Serve(ctx, in, stdout, stderr)
}
