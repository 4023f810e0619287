// Package saltmaster is the program salt-master. It is not in package cli so that other programs do without what a
// master needs.
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
		return cli.Leave(err, stdout, stderr)
	}
	cli.Preface(o.Line, stderr)
	p, err := newProgram(in, o)
	if err != nil {
		return cli.Refuse("salt-master", o.Line, err, stderr)
	}
	return p.daemon.Serve(ctx, in, stdout, stderr)
}
