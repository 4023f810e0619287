package change

import (
	"context"

	"github.com/brineproject/brine/data"
)

// A Call is what a state function may know of the run that it is called in. None of it may be changed.
type Call struct {
	Test          bool      // nothing may be written: __opts__["test"], and the look ahead of prereq
	Low           *data.Map // the low chunk: __low__; with __reqs__ where a watch fired
	SaltEnv       string    // environment of the SLS: __env__
	Run           string    // names the run; the same for all of its states: __instance_id__
	Umask         string    // octal mask for new files, "" for that of the process
	Orchestration string    // job of the orchestration, or "": __orchestration_jid__

	Ran    func(tag string) *data.Map // result of a state that ran before, nil for none: __running__
	Chunks func() []*data.Map         // all chunks of the run: __lowstate__
}

type callKey struct{}

// WithCall returns a context for a state function that is called so.
func WithCall(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// CallOf returns how the state function with this context is called. Outside of runs it is a call of the environment base, not in
// test mode, with nothing before it.
func CallOf(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	return &Call{Low: &data.Map{}, SaltEnv: "base", Ran: func(string) *data.Map { return nil }, Chunks: func() []*data.Map { return nil }}
}

// Test reports whether nothing may be written.
func Test(ctx context.Context) bool { return CallOf(ctx).Test }
