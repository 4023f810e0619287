package runners

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
)

// A Run is one call under way, as its function sees it. The zero Run fires and prints nothing.
type Run struct {
	ID   job.ID
	User string // who called
	Tag  string // salt/run/JID or salt/wheel/JID

	veil  *Veil // nil until the arguments are known
	fire  func(ctx context.Context, tag string, body *data.Map) error
	show  func(suffix string, body *data.Map)
	print func(text string)
}

type runKey struct{}

// RunOf returns the call that ctx belongs to, or a zero Run.
func RunOf(ctx context.Context) *Run {
	if r, ok := ctx.Value(runKey{}).(*Run); ok {
		return r
	}
	return &Run{}
}

// Fire tells of progress: an event under the run's own tag, which whoever called sees too. "progress" is the usual suffix.
func (r *Run) Fire(ctx context.Context, suffix string, body *data.Map) error {
	var err error
	if r.fire != nil {
		err = r.fire(ctx, eventbus.JoinTag(r.Tag, suffix), r.veil.progress(body))
	}
	if r.show != nil {
		r.show(suffix, body)
	}
	return err
}

// Progress fires a message as progress. That nobody could be told is no fault.
func (r *Run) Progress(ctx context.Context, format string, args ...any) {
	_ = r.Fire(ctx, "progress", data.NewMap("message", fmt.Sprintf(format, args...)))
}

// Printf prints on the terminal of the program salt-run, and nowhere else.
func (r *Run) Printf(format string, args ...any) {
	if r.print != nil {
		r.print(fmt.Sprintf(format, args...))
	}
}
