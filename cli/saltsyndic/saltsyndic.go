// Package saltsyndic is the program salt-syndic: it connects the master of this host to the masters
// above it (salt/cli/daemons.py, Syndic).
//
// It reads the configurations of the master and of the minion of the host. To the masters above it is
// that minion, and to the master below it is a user of the host, as the program salt is. Package
// syndic does the work.
package saltsyndic

import (
	"context"
	"io"

	"github.com/brineproject/brine/cli"
)

// Run runs the program until ctx or a signal ends it, and returns its exit code.
func Run(ctx context.Context, in cli.Invocation, stdout, stderr io.Writer) int {
	o, err := cli.ParseSyndic(in)
	if err != nil {
		return cli.PrintError(err, stdout, stderr)
	}
	cli.Preface(o.Line, stderr)
	p, err := newProgram(in, o)
	if err != nil {
		return cli.Refuse("salt-syndic", o.Line, err, stderr)
	}
	return p.daemon.Serve(ctx, in, stdout, stderr)
}
