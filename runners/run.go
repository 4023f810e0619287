package runners

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
)

// A Run is one call in progress, as its function sees it. The zero Run fires and prints nothing.
type Run struct {
	ID   job.ID
	User string // the caller
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

// Fire reports progress: it fires an event under the run's own tag, which the caller also sees.
// "progress" is the usual suffix.
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

// Progress fires a message as progress, and ignores errors.
func (r *Run) Progress(ctx context.Context, format string, args ...any) {
	_ = r.Fire(ctx, "progress", data.NewMap("message", fmt.Sprintf(format, args...)))
}

// Printf prints on the terminal of the program salt-run, and nowhere else.
func (r *Run) Printf(format string, args ...any) {
	if r.print != nil {
		r.print(fmt.Sprintf(format, args...))
	}
}

// Words returns the keyword arguments that a caller gave, without those that describe the call, such
// as __pub_user.
func Words(kwargs *data.Map) *data.Map {
	words := data.NewMap()
	for k, v := range kwargs.All() {
		if !strings.HasPrefix(data.Str(k), "__") {
			words.Set(k, v)
		}
	}
	return words
}
