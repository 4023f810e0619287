package pkg

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// An order is what a state has the package manager do. That reports what has changed, and nothing is
// read again but what the state itself asks for.
type order struct {
	wanted  *data.Map    // what is to change
	changes *data.Map    // what has changed
	texts   change.Texts // the comments
	silent  bool         // test mode shows no changes
}

// give runs a state: find finds out what is to change, and do has it done.
func (o *order) give(
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

// failure returns the error of a function as that of the state, and takes over what had changed. what
// says what was being done.
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
