package cmd

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/process"
)

// runVT runs the program for use_vt. The original gives it a terminal; here it has pipes, so its
// lines end without carriage returns and it may buffer more. The rest is the same: always a shell,
// separate outputs, not stripped, and a timeout keeps the output so far.
func (m runner) runVT(ctx context.Context, j *job) (*outcome, error) {
	if j.level != quiet {
		logAt(m.env.Log, levelDebug, "Running %s in VT, without a terminal", j.first())
	}
	vt := *j
	vtRequest := *j.request
	vt.request = &vtRequest
	vt.useShell, vt.shell = true, "/bin/sh"
	c, err := command(&vt)
	if err != nil {
		return nil, vt.notStarted(err)
	}
	k, kept, release := newCapture(ctx)
	defer release()
	k.take(c)
	runErr := m.start(kept, c, j)
	if k.over() {
		return nil, vt.tooMuch()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o := &outcome{pid: pid(c), keys: []string{"pid", "stdout", "stderr", "retcode"}}
	late := errors.Is(runErr, process.ErrTimeout)
	if !late {
		if o.retcode, err = exitCode(runErr); err != nil {
			return nil, vt.notStarted(err)
		}
	}
	vt.rstrip = false
	if err := m.collect(&vt, o, k); err != nil {
		return nil, err
	}
	if late {
		o.stderr, o.retcode = "SALT: Timeout after "+data.Str(j.timeout)+"s\n"+o.stderr, nil
	}
	return o, nil
}

// first returns the first word of the command, or "" if it has none.
func (j *job) first() string {
	word, err := firstWord(j.cmd)
	if err != nil {
		return ""
	}
	return word
}
