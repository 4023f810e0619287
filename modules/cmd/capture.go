package cmd

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync/atomic"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

// errTooMuch is the cause that ends a program that writes more than a return can hold.
var errTooMuch = errors.New("too much output")

// mostOutput returns the maximum size of the output, both streams together, in bytes: the largest
// message less a mebibyte for the rest of the return.
func mostOutput() int { return payload.WireLimits().Size - 1<<20 }

// A capture holds the output of a program, up to mostOutput. More output ends the program.
type capture struct {
	out, errs captured
	left      atomic.Int64
	stop      context.CancelCauseFunc
}

// captured is one stream of a capture.
type captured struct {
	text strings.Builder
	of   *capture
}

// newCapture returns a capture and the context to run the program with. The caller must call
// release.
func newCapture(ctx context.Context) (k *capture, kept context.Context, release func()) {
	k = &capture{}
	k.out.of, k.errs.of = k, k
	k.left.Store(int64(mostOutput()))
	kept, k.stop = context.WithCancelCause(ctx)
	return k, kept, func() { k.stop(nil) }
}

// take captures the output of c.
func (k *capture) take(c *exec.Cmd) { c.Stdout, c.Stderr = &k.out, &k.errs }

// over reports whether the program wrote too much.
func (k *capture) over() bool { return k.left.Load() < 0 }

// Write stores p, or returns errTooMuch and ends the program.
func (s *captured) Write(p []byte) (int, error) {
	if s.of.left.Add(-int64(len(p))) < 0 {
		s.of.stop(errTooMuch)
		return 0, errTooMuch
	}
	return s.text.Write(p)
}

// tooMuch returns the error of a command that wrote too much.
func (j *job) tooMuch() error {
	return loader.Execution("The output of command '%s' is larger than %d bytes, the most that a return can hold; the command was ended",
		j.secret(data.Str(j.cmd)), mostOutput())
}
