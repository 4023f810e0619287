package packages

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Run runs a program without a shell and returns its return code and output. Its output is only
// logged at level trace. r holds the other arguments of [calls.RunAll].
func Run(ctx context.Context, env *loader.Env, r calls.Run, command ...any) (calls.Ran, error) {
	r.Argv, r.Log = data.Texts(command), "trace"
	return calls.RunAll(ctx, env, r)
}

// Quietly returns arguments of Run for a program whose failure does not fail the job.
func Quietly() calls.Run { return calls.Run{IgnoreRetcode: true} }
