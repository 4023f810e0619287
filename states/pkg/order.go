package pkg

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// An order is a call of the package manager by a state. The changes are those that the call
// reports; only the state itself reads anything again.
type order struct {
	wanted  *data.Map    // planned changes
	changes *data.Map    // actual changes
	texts   change.Texts // the comments
	silent  bool         // no changes in test mode
}

// run runs a state: find determines what to change, and do changes it.
func (o *order) run(
	ctx context.Context, name any, find, do func(context.Context) error,
) (change.Result, error) {
	return change.Thing[*order]{
		Name:    name,
		Look:    func(ctx context.Context) (*order, error) { return o, find(ctx) },
		Wants:   func(o *order) *data.Map { return o.wanted },
		Apply:   func(ctx context.Context, _ *order) error { return do(ctx) },
		Changed: func(_, o *order) *data.Map { return o.changes },
		Say: func(done change.Outcome[*order]) any {
			switch done.Stage {
			case change.StageSame:
				return o.texts.Same
			case change.StageWould:
				return o.texts.Would
			case change.StageDone:
				return o.texts.Done
			}
			return nil
		},
		Silent: o.silent,
		Trust:  true,
	}.Ensure(ctx)
}

// failure returns the error of a function as that of the state, with the changes made before it.
// what describes the action that failed.
func (o *order) failure(what string, err error) error {
	if !caught(err) {
		return change.Raise(err)
	}
	changes, text, ok := loader.Changed(err)
	o.changes = changes
	if !ok {
		text = what + ": " + err.Error()
	}
	return change.Reason(text)
}
