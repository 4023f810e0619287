package change

import (
	"context"

	"github.com/brineproject/brine/data"
)

// A Call describes the call of a state function and the run around it. It is read-only.
type Call struct {
	Test          bool      // nothing may be written: __opts__["test"], or the dry run for a prereq
	Low           *data.Map // the low chunk: __low__; it has __reqs__ if a watch fired
	SaltEnv       string    // environment of the SLS: __env__
	Run           string    // ID of the run, the same for all of its states: __instance_id__
	Umask         string    // octal mask for new files, "" for the mask of the process
	Orchestration string    // job ID of the orchestration, or "": __orchestration_jid__

	// result of a state that already ran, nil if it did not run: __running__
	Ran    func(tag string) *data.Map
	Chunks func() []*data.Map // all chunks of the run: __lowstate__
}

type callKey struct{}

// WithCall returns a context that carries the Call for a state function.
func WithCall(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// CallOf returns the Call that the context carries. Outside of a run it returns a call in the
// environment base without test mode and without earlier results.
func CallOf(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	return &Call{Low: &data.Map{}, SaltEnv: "base", Ran: func(string) *data.Map { return nil },
		Chunks: func() []*data.Map { return nil }}
}

// Test reports whether the context is in test mode, in which nothing may be written.
func Test(ctx context.Context) bool { return CallOf(ctx).Test }
