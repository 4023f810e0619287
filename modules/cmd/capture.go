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

// errTooMuch is the cause of the end of a program that writes more than a return can hold.
var errTooMuch = errors.New("too much output")

// mostOutput returns how many bytes of output, both streams together, fit in a return: the largest message less a mebibyte for
// all else that is in it.
func mostOutput() int { return payload.WireLimits().Size - 1<<20 }

// A capture holds what a program writes, up to mostOutput. What goes beyond that ends the program.
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

// newCapture returns a capture and the context that the program has to run with. release is to be called in the end.
func newCapture(ctx context.Context) (k *capture, kept context.Context, release func()) {
	k = &capture{}
	k.out.of, k.errs.of = k, k
	k.left.Store(int64(mostOutput()))
	kept, k.stop = context.WithCancelCause(ctx)
	return k, kept, func() { k.stop(nil) }
}

// take makes the capture that of the output of c.
func (k *capture) take(c *exec.Cmd) { c.Stdout, c.Stderr = &k.out, &k.errs }

// over reports whether the program wrote too much.
func (k *capture) over() bool { return k.left.Load() < 0 }

// Write holds p, or refuses it and ends the program.
func (s *captured) Write(p []byte) (int, error) {
	if s.of.left.Add(-int64(len(p))) < 0 {
		s.of.stop(errTooMuch)
		return 0, errTooMuch
	}
	return s.text.Write(p)
}

// tooMuch is the error of a command that wrote too much.
func (j *job) tooMuch() error {
	return loader.Execution("The output of command '%s' is larger than %d bytes, the most that a return can hold; the command was ended",
		j.secret(data.Str(j.cmd)), mostOutput())
}
